"""Tensors out of a `pytorch_model.bin`, without PyTorch and without running what is in it.

Such a file is a pickle, a small program. Here the pickle may build dictionaries, lists, tuples,
numbers and texts, and name the few things of `_ALLOWED`, which all are inert stand-ins of ours;
any other name stops the reading before anything is done with it.

Two layouts: since PyTorch 1.6 a zip archive with `…/data.pkl` and one file a storage under
`…/data/`; before that, five pickles in a row followed by the storages.
"""

from __future__ import annotations

import io
import math
import pickle
import sys
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

# Storage class → NumPy type of its items; bfloat16 is read as the upper half of a float32.
_ITEMS = {
    "FloatStorage": "<f4",
    "DoubleStorage": "<f8",
    "HalfStorage": "<f2",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "<i8",
    "IntStorage": "<i4",
    "ShortStorage": "<i2",
    "CharStorage": "<i1",
    "ByteStorage": "<u1",
    "BoolStorage": "|b1",
}
_LEGACY_MAGIC = 0x1950A86A20F9469CFC6C
_LEGACY_PROTOCOL = 1001


class _Storage(NamedTuple):
    """A run of items somewhere in the file."""

    items: str
    key: str
    size: int


class _Tensor(NamedTuple):
    """A view of a storage; offset and strides in items."""

    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class _RebuildTensor:
    """Stands for torch._utils._rebuild_tensor. Without slots: no pickle can change it."""

    __slots__ = ()

    def __call__(self, storage: Any, offset: Any, shape: Any, strides: Any, *_: Any) -> _Tensor:
        numbers = (offset, *shape, *strides)
        is_whole = all(isinstance(number, int) and number >= 0 for number in numbers)
        if not isinstance(storage, _Storage) or not is_whole or len(shape) != len(strides):
            raise pickle.UnpicklingError("a tensor without a storage or with a senseless shape")
        return _Tensor(storage, offset, tuple(shape), tuple(strides))


class _RebuildParameter:
    """Stands for torch._utils._rebuild_parameter: the tensor itself."""

    __slots__ = ()

    def __call__(self, tensor: Any, *_: Any) -> Any:
        return tensor


class _StorageType(NamedTuple):
    """Stands for a class such as torch.FloatStorage; there is no calling it."""

    items: str


_ALLOWED: Mapping[tuple[str, str], Any] = {
    ("collections", "OrderedDict"): OrderedDict,
    ("torch._utils", "_rebuild_tensor"): _RebuildTensor(),
    ("torch._utils", "_rebuild_tensor_v2"): _RebuildTensor(),
    ("torch._utils", "_rebuild_parameter"): _RebuildParameter(),
    **{("torch", name): _StorageType(items) for name, items in _ITEMS.items()},
}


class _TensorUnpickler(pickle.Unpickler):
    """Knows the names of `_ALLOWED` and none beside."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}")
        return _ALLOWED[module, name]

    def persistent_load(self, reference: Any) -> _Storage:
        match reference:
            case ("storage", _StorageType(items), str(key), _, int(size), *_) if size >= 0:
                return _Storage(items, key, size)
        raise pickle.UnpicklingError(f"an unknown reference {reference!r:.80}")


class TorchFile(NamedTuple):
    """The tensors of a file, each read when asked for.

    Fields:
      shapes: name → shape.
      types: name → type of the items in the file, such as `<f2` or `bfloat16`.
      read: name → float32 array.
    """

    shapes: dict[str, tuple[int, ...]]
    types: dict[str, str]
    read: Callable[[str], np.ndarray]


def open_torch_file(path: Path, stack: ExitStack) -> TorchFile:
    """Opens a file that `torch.save` wrote of a dictionary name → tensor.

    Args:
      path: the file.
      stack: closes it in the end.

    Raises:
      ValueError: the pickle names anything but tensors, or the file is cut or of another format.
    """
    file = stack.enter_context(path.open("rb"))
    try:
        if file.read(4) == b"PK\x03\x04":
            state, fetch = _open_archive(file, stack)
        else:
            state, fetch = _open_legacy(file)
        tensors = _tensors_of(state)
    except pickle.UnpicklingError as error:
        raise ValueError(
            f"{path}: refused, nothing in it was run: {error}. A file of weights holds tensors "
            f"only; get model.safetensors instead, or a file saved with model.state_dict()"
        ) from None
    except (zipfile.BadZipFile, EOFError, KeyError, IndexError, OSError) as error:
        raise ValueError(f"{path}: cut, damaged or no file of PyTorch ({error!r})") from None
    except Exception as error:  # a damaged pickle may fail in any way, but only by an exception
        raise ValueError(f"{path}: damaged ({type(error).__name__}: {error})") from None

    def read(name: str) -> np.ndarray:
        tensor = tensors[name]
        try:
            return _view(tensor, fetch(tensor.storage))
        except (zipfile.BadZipFile, EOFError, KeyError, ValueError) as error:
            raise ValueError(
                f"{path}: {name} is cut or damaged ({error}); fetch it again"
            ) from None

    return TorchFile(
        {name: tensor.shape for name, tensor in tensors.items()},
        {name: tensor.storage.items for name, tensor in tensors.items()},
        read,
    )


def _tensors_of(state: Any) -> dict[str, _Tensor]:
    """The tensors of a state dictionary, or of the one wrapped as `state_dict` or `model`."""
    if not isinstance(state, Mapping):
        raise pickle.UnpicklingError(f"it holds a {type(state).__name__}, no tensors by name")
    for wrapper in ("state_dict", "model"):
        if isinstance(state.get(wrapper), Mapping):
            state = state[wrapper]
    others = [str(name) for name, value in state.items() if not isinstance(value, _Tensor)]
    if others:
        raise pickle.UnpicklingError(f"no tensors under {', '.join(others[:5])}")
    return {str(name): value for name, value in state.items()}


# --- the two layouts -------------------------------------------------------------------------

_Fetch = Callable[[_Storage], np.ndarray]


def _open_archive(file: BinaryIO, stack: ExitStack) -> tuple[Any, _Fetch]:
    archive = stack.enter_context(zipfile.ZipFile(file))
    names = [name for name in archive.namelist() if name.endswith("/data.pkl")]
    if len(names) != 1:
        raise pickle.UnpicklingError("a zip archive without data.pkl, no file of PyTorch")
    root = names[0].removesuffix("data.pkl")
    order = f"{root}byteorder"
    if order in archive.namelist() and archive.read(order) != b"little":
        raise pickle.UnpicklingError("its numbers are big-endian")

    def fetch(storage: _Storage) -> np.ndarray:
        entry = archive.getinfo(f"{root}data/{storage.key}")
        expected = storage.size * _width(storage.items)
        if entry.compress_type != zipfile.ZIP_STORED or entry.file_size != expected:
            raise EOFError(f"{entry.file_size} bytes where {expected} belong, stored as they are")
        return _items(storage, archive.read(entry))

    return _TensorUnpickler(io.BytesIO(archive.read(names[0]))).load(), fetch


def _open_legacy(file: BinaryIO) -> tuple[Any, _Fetch]:
    file.seek(0)
    magic, protocol, system = (_TensorUnpickler(file).load() for _ in range(3))
    if magic != _LEGACY_MAGIC or protocol != _LEGACY_PROTOCOL:
        raise pickle.UnpicklingError("no file of PyTorch, or one of before 2017")
    if isinstance(system, Mapping) and not system.get("little_endian", True):
        raise pickle.UnpicklingError("its numbers are big-endian")
    state, keys = _TensorUnpickler(file).load(), _TensorUnpickler(file).load()
    places: dict[str, tuple[int, int]] = {}
    storages = {tensor.storage.key: tensor.storage for tensor in _tensors_of(state).values()}
    for key in keys:
        size = int.from_bytes(_exactly(file, 8), "little")
        places[key] = (file.tell(), size)
        width = _width(storages[key].items) if key in storages else None
        if width is None:
            raise pickle.UnpicklingError(f"storage {key!r} belongs to no tensor")
        file.seek(size * width, io.SEEK_CUR)

    def fetch(storage: _Storage) -> np.ndarray:
        place, size = places[storage.key]
        file.seek(place)
        return _items(storage, _exactly(file, size * _width(storage.items)))

    return state, fetch


def _exactly(file: BinaryIO, size: int) -> bytes:
    content = file.read(size)
    if len(content) != size:
        raise EOFError(f"{len(content)} of {size} bytes are there")
    return content


def _width(items: str) -> int:
    return 2 if items == "bfloat16" else np.dtype(items).itemsize


def _items(storage: _Storage, content: bytes) -> np.ndarray:
    if storage.items == "bfloat16":
        return np.frombuffer(content, "<u2")
    return np.frombuffer(content, storage.items)


def _view(tensor: _Tensor, items: np.ndarray) -> np.ndarray:
    """The tensor's part of a storage as float32, checked to lie within it."""
    last = tensor.offset + sum(
        (size - 1) * stride for size, stride in zip(tensor.shape, tensor.strides, strict=True)
    )
    if 0 in tensor.shape:
        return np.zeros(tensor.shape, np.float32)
    if last >= len(items) or math.prod(tensor.shape) > len(items):
        raise ValueError(f"shape {tensor.shape} in a storage of {len(items)} numbers")
    byte_strides = tuple(stride * items.itemsize for stride in tensor.strides)
    view = np.lib.stride_tricks.as_strided(
        items[tensor.offset :], tensor.shape, byte_strides, writeable=False
    )
    if tensor.storage.items == "bfloat16":
        return widen_bfloat16(view)
    return view.astype(np.float32)


def widen_bfloat16(halves: np.ndarray) -> np.ndarray:
    """uint16 with the bits of bfloat16 → float32 of the same value."""
    return (halves.astype(np.uint32) << np.uint32(16)).view(np.float32)


assert sys.byteorder == "little", "weights are read and written as they lie in memory"
