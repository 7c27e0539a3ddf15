"""Tensors come out of PyTorch's pickles, and nothing else does."""

from __future__ import annotations

import collections
import os
import pickle
import pickletools
import struct
import zipfile
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st

from electra_tf.exchange.torch_files import open_torch_file, widen_bfloat16

GOLDEN = Path(__file__).parents[2] / "golden" / "exchange"
LAYOUTS = {
    "before 1.6": GOLDEN / "discriminator_before_1.6" / "pytorch_model.bin",
    "zip": GOLDEN / "discriminator_float16" / "pytorch_model.bin",
}


def read_all(path):
    with ExitStack() as stack:
        file = open_torch_file(path, stack)
        return {name: file.read(name) for name in file.shapes}, file.types


def refuse(path, message):
    with ExitStack() as stack, pytest.raises(ValueError, match=message):
        open_torch_file(path, stack)


# --- the two layouts, as torch wrote them ----------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
def test_tensors_are_those_that_torch_saved(layout):
    arrays, types = read_all(LAYOUTS[layout])
    expected = safetensors.numpy.load_file(GOLDEN / "discriminator" / "model.safetensors")
    half = layout == "zip"
    assert set(types.values()) == ({"<f2"} if half else {"<f4", "<i8"})
    positions = arrays.pop("electra.embeddings.position_ids")
    np.testing.assert_array_equal(positions, np.arange(10.0)[None])
    assert arrays.keys() == expected.keys()
    for name, array in expected.items():
        assert arrays[name].dtype == np.float32
        rounded = array.astype(np.float16).astype(np.float32) if half else array
        np.testing.assert_array_equal(arrays[name], rounded)


def test_bfloat16_is_widened_without_loss():
    values = np.array([0.0, -0.0, 1.0, -2.5, np.inf, 2.0**-126, 3.0e38], np.float32)
    halves = (values.view(np.uint32) >> 16).astype(np.uint16)
    truncated = (values.view(np.uint32) & 0xFFFF0000).view(np.float32)
    assert widen_bfloat16(halves).tobytes() == truncated.tobytes()


# --- a writer of such files, to say what torch would not --------------------------------------


class Global:
    """Pickles as the name of a global, whether or not it exists."""

    def __init__(self, module, name):
        self.module, self.name = module, name


class Call:
    """Pickles as a call of a global."""

    def __init__(self, function, *arguments):
        self.function, self.arguments = function, arguments

    def __reduce__(self):
        return self.function, self.arguments


class Storage:
    def __init__(self, kind, key, size):
        self.kind, self.key, self.size = kind, key, size


class Pickler(pickle._Pickler):
    def persistent_id(self, thing):
        if isinstance(thing, Storage):
            return ("storage", Global("torch", thing.kind), thing.key, "cpu", thing.size)
        return None

    def save(self, thing, *arguments, **named):
        if isinstance(thing, Global):
            self.write(pickle.GLOBAL + f"{thing.module}\n{thing.name}\n".encode())
            return
        if isinstance(thing, Call):
            self.save(thing.function)
            self.save(thing.arguments)
            self.write(pickle.REDUCE)
            return
        super().save(thing, *arguments, **named)


def tensor(key, shape, strides, kind="FloatStorage", size=6, offset=0):
    rebuild = Global("torch._utils", "_rebuild_tensor_v2")
    storage = Storage(kind, key, size)
    return Call(rebuild, storage, offset, shape, strides, False, collections.OrderedDict())


def write_zip(path, state, storages=None, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        with archive.open("archive/data.pkl", "w") as file:
            Pickler(file, protocol=2).dump(state)
        for key, content in (storages or {}).items():
            archive.writestr(f"archive/data/{key}", content)
    return path


def write_legacy(path, state, storages):
    with path.open("wb") as file:
        for value in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}):
            pickle.dump(value, file, protocol=2)
        Pickler(file, protocol=2).dump(state)
        pickle.dump(sorted(storages), file, protocol=2)
        for key in sorted(storages):
            size, content = storages[key]
            file.write(struct.pack("<q", size) + content)
    return path


SIX = np.arange(6, dtype=np.float32)


@pytest.mark.parametrize(
    ("kind", "items"),
    [
        ("FloatStorage", SIX),
        ("HalfStorage", SIX.astype(np.float16)),
        ("DoubleStorage", SIX.astype(np.float64)),
        ("LongStorage", SIX.astype(np.int64)),
        ("BFloat16Storage", (SIX.view(np.uint32) >> 16).astype(np.uint16)),
    ],
)
def test_every_type_and_both_layouts_are_read_as_float32(tmp_path, kind, items):
    state = {
        "a": tensor("0", (2, 3), (3, 1), kind),
        "part": tensor("0", (2,), (1,), kind, offset=4),
    }
    for path in (
        write_zip(tmp_path / "zip.bin", state, {"0": items.tobytes()}),
        write_legacy(tmp_path / "legacy.bin", state, {"0": (6, items.tobytes())}),
    ):
        arrays, _ = read_all(path)
        np.testing.assert_array_equal(arrays["a"], SIX.reshape(2, 3))
        np.testing.assert_array_equal(arrays["part"], SIX[4:])


def test_transposed_views_and_parameters_and_wrapped_dictionaries_are_read(tmp_path):
    parameter = Call(
        Global("torch._utils", "_rebuild_parameter"), tensor("0", (3, 2), (1, 3)), True, {}
    )
    path = write_zip(
        tmp_path / "x.bin", {"epoch": 3, "state_dict": {"a": parameter}}, {"0": SIX.tobytes()}
    )
    np.testing.assert_array_equal(read_all(path)[0]["a"], SIX.reshape(2, 3).T)


@pytest.mark.parametrize(
    ("view", "message"),
    [
        (tensor("0", (7,), (1,)), r"shape \(7,\) in a storage of 6"),
        (tensor("0", (2, 3), (4, 1)), r"shape \(2, 3\) in a storage of 6"),
        (tensor("0", (10**12,), (0,)), r"in a storage of 6"),
        (tensor("0", (1,), (1,), offset=6), r"in a storage of 6"),
        (tensor("1", (6,), (1,)), "a is cut or damaged"),
        (tensor("0", (5,), (1,), size=5), "24 bytes where 20 belong"),
    ],
)
def test_a_view_beyond_its_storage_is_not_read(tmp_path, view, message):
    path = write_zip(tmp_path / "x.bin", {"a": view}, {"0": SIX.tobytes()})
    with ExitStack() as stack:
        file = open_torch_file(path, stack)
        with pytest.raises(ValueError, match=message):
            file.read("a")


def test_a_storage_is_never_unpacked(tmp_path):
    """A few kilobytes could become gigabytes."""
    path = write_zip(
        tmp_path / "x.bin",
        {"a": tensor("0", (6,), (1,))},
        {"0": SIX.tobytes()},
        zipfile.ZIP_DEFLATED,
    )
    with ExitStack() as stack:
        file = open_torch_file(path, stack)
        with pytest.raises(ValueError, match="stored as they are"):
            file.read("a")


# --- pickles with code -----------------------------------------------------------------------

EXPLOITS = {
    "os.system": lambda p: Call(Global("posix", "system"), f"touch {p}"),
    "eval": lambda p: Call(Global("builtins", "eval"), f"open({str(p)!r}, 'w')"),
    "exec by getattr": lambda p: Call(
        Call(Global("builtins", "getattr"), Global("builtins", "__import__"), "__call__"), "os"
    ),
    "subprocess": lambda p: Call(Global("subprocess", "check_call"), ["touch", str(p)]),
    "a storage in a storage": lambda p: Call(Global("torch.storage", "_load_from_bytes"), b"x"),
    "numpy": lambda p: Call(Global("numpy.core.multiarray", "scalar"), 1),
    "a dotted name": lambda p: Call(Global("collections", "OrderedDict.fromkeys"), [1]),
    "our own reader": lambda p: Call(
        Global("electra_tf.exchange.torch_files", "open_torch_file"), "x"
    ),
}


@pytest.mark.parametrize("exploit", EXPLOITS)
@pytest.mark.parametrize("layout", ["zip", "legacy"])
def test_a_pickle_with_code_in_it_is_refused_and_nothing_runs(tmp_path, exploit, layout):
    touched = tmp_path / "touched"
    state = {"a": tensor("0", (6,), (1,)), "b": EXPLOITS[exploit](touched)}
    if layout == "zip":
        path = write_zip(tmp_path / "x.bin", state, {"0": SIX.tobytes()})
    else:
        path = write_legacy(tmp_path / "x.bin", state, {"0": (6, SIX.tobytes())})
    refuse(path, r"x\.bin: refused, nothing in it was run: it asks for ")
    assert not touched.exists()


def test_the_exploit_would_have_worked(tmp_path):
    """Else the test above would prove nothing."""
    touched = tmp_path / "touched"
    path = write_zip(tmp_path / "x.bin", EXPLOITS["os.system"](touched))
    with zipfile.ZipFile(path) as archive:
        pickle.loads(archive.read("archive/data.pkl"))
    assert touched.exists()


OPCODES = {
    # cos\nsystem\n(S'…'\ntR. in the old protocol; INST; a class made with NEWOBJ; an extension.
    "protocol 0": b"cposix\nsystem\n(S'true'\ntR.",
    "INST": b"(S'true'\niposix\nsystem\n.",
    "OBJ": b"(cposix\nsystem\nS'true'\no.",
    "STACK_GLOBAL": b"\x80\x04\x8c\x05posix\x8c\x06system\x93\x8c\x04true\x85R.",
    "EXT1": b"\x80\x02\x82\x01.",
    "NEWOBJ": b"\x80\x02csubprocess\nPopen\n)\x81.",
    "calling a storage type": b"\x80\x02ctorch\nFloatStorage\n)R.",
    "BUILD on a stand-in": b"\x80\x02ctorch._utils\n_rebuild_parameter\n}U\x01xK\x01sb.",
    "slots of a stand-in": (
        b"\x80\x02ctorch._utils\n_rebuild_parameter\nN}U\x08__call__K\x01s\x86b."
    ),
    "a tensor of nothing": b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(NNNNtR.",
}


@pytest.mark.parametrize("opcodes", OPCODES)
def test_no_opcode_leads_out(tmp_path, opcodes):
    path = tmp_path / "x.bin"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", OPCODES[opcodes])
    refuse(path, r"x\.bin: (refused|damaged|cut)")


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_changed_pickle_gives_tensors_or_an_error(tmp_path_factory, data):
    """Bytes of a real file replaced at random; names beside the allowed stay out of reach."""
    original = LAYOUTS["before 1.6"].read_bytes()[:3000]
    content = bytearray(original)
    for place in data.draw(st.lists(st.integers(0, len(content) - 1), max_size=6)):
        content[place] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("changed") / "x.bin"
    path.write_bytes(bytes(content))
    with ExitStack() as stack:
        try:
            file = open_torch_file(path, stack)
        except ValueError:
            return
        assert all(isinstance(shape, tuple) for shape in file.shapes.values())


# --- damage ----------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kept", [0, 3, 100, 3000, -1])
def test_a_cut_file_is_told(tmp_path, layout, kept):
    path = tmp_path / "x.bin"
    path.write_bytes(LAYOUTS[layout].read_bytes()[:kept])
    with pytest.raises(ValueError, match=r"x\.bin: "):
        read_all(path)


def test_a_legacy_file_cut_in_its_numbers_names_the_tensor(tmp_path):
    path = tmp_path / "x.bin"
    path.write_bytes(LAYOUTS["before 1.6"].read_bytes()[:-1])
    with pytest.raises(ValueError, match=r"x\.bin: .* is cut or damaged \(.* bytes are there\)"):
        read_all(path)


def test_a_flipped_bit_in_a_zip_is_told(tmp_path):
    content = bytearray(LAYOUTS["zip"].read_bytes())
    with zipfile.ZipFile(LAYOUTS["zip"]) as archive:
        entries = [e for e in archive.infolist() if "/data/" in e.filename]
        largest = archive.read(max(entries, key=lambda entry: entry.file_size))
    content[content.index(largest) + 50] ^= 1
    path = tmp_path / "x.bin"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"x\.bin: .* is cut or damaged"):
        read_all(path)


@pytest.mark.parametrize("state", [[1, 2], {"a": 3}, {}.keys().__class__.__name__])
def test_a_pickle_of_something_else_is_refused(tmp_path, state):
    refuse(
        write_zip(tmp_path / "x.bin", state), "refused, nothing in it was run: (it holds|no tens)"
    )


def test_a_zip_that_is_no_file_of_pytorch_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.bin", "w") as archive:
        archive.writestr("readme.txt", "hello")
    refuse(tmp_path / "x.bin", r"no data\.pkl|without data\.pkl")


def test_the_writer_of_this_test_writes_what_torch_writes():
    """The opcodes around a tensor are those of torch itself."""
    with zipfile.ZipFile(LAYOUTS["zip"]) as archive:
        name = next(n for n in archive.namelist() if n.endswith("data.pkl"))
        theirs = [op.name for op, *_ in pickletools.genops(archive.read(name))]
    assert {"GLOBAL", "REDUCE", "BINPERSID"} <= set(theirs)
    assert os.path.getsize(LAYOUTS["zip"]) < 20_000
