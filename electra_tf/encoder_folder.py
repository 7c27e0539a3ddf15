"""The folder an encoder lives in: config, named arrays, vocabulary, provenance. No TensorFlow.

config.json        kind, the fields of EncoderConfig, and `tokenizer`: its settings
model.safetensors  float32 arrays, embeddings + encoder + the head of its kind
vocab.txt          or spiece.model
provenance.json    where the weights come from
vocabulary_ids.json  only where the vocabulary was changed: the new id of every old one
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import safetensors

from electra_tf.config import EncoderConfig, parse_config
from electra_tf.whole_folder import old_of, whole_folder

Kind = Literal["discriminator", "generator"]

KINDS = ("discriminator", "generator")
CONFIG_FILE = "config.json"
WEIGHTS_FILE = "model.safetensors"
PROVENANCE_FILE = "provenance.json"
VOCABULARY_FILES = ("vocab.txt", "spiece.model")
IDS_FILE = "vocabulary_ids.json"
OWN_FILES = (CONFIG_FILE, WEIGHTS_FILE, PROVENANCE_FILE, IDS_FILE, *VOCABULARY_FILES)

Shapes = dict[str, tuple[int, ...]]


@dataclass(frozen=True)
class EncoderFolder:
    """What an encoder folder holds.

    Fields:
      kind: which of the two networks; decides the head.
      config: sizes, `vocab_size` filled in.
      tokenizer_settings: how text becomes ids, JSON values only.
      weights: float32 arrays under the names of `expected_shapes`.
      vocabulary_file: `vocab.txt` or `spiece.model`.
      vocabulary: the bytes of that file.
      provenance: where the weights come from, JSON values only.
    """

    kind: Kind
    config: EncoderConfig
    tokenizer_settings: dict[str, Any]
    weights: dict[str, np.ndarray]
    vocabulary_file: str
    vocabulary: bytes
    provenance: dict[str, Any]


# --- names and sizes -------------------------------------------------------------------------


def expected_shapes(config: EncoderConfig, kind: Kind) -> Shapes:
    """Every array of an encoder folder: embeddings, encoder, and the head of its kind.

    Kernels are [inputs, outputs]. Source of the head sizes: google-research/electra at 8a46635,
    `run_pretraining.py`.
    """
    return embedding_shapes(config) | encoder_shapes(config) | head_shapes(config, kind)


def embedding_shapes(config: EncoderConfig) -> Shapes:
    """The block that generator and discriminator share."""
    if config.vocab_size is None:
        raise ValueError("vocab_size is null; an encoder folder needs a number")
    width = config.embedding_size
    return {
        "embeddings/word_embeddings": (config.vocab_size, width),
        "embeddings/position_embeddings": (config.max_position_embeddings, width),
        "embeddings/token_type_embeddings": (config.type_vocab_size, width),
        **_layer_norm("embeddings", width),
    }


def encoder_shapes(config: EncoderConfig) -> Shapes:
    """The projection, where there is one, and the layers."""
    shapes: Shapes = {}
    width, inner = config.hidden_size, config.intermediate_size
    if config.needs_projection:
        shapes |= _dense("embeddings_project", config.embedding_size, width)
    for index in range(config.num_hidden_layers):
        attention, feed_forward = f"layer_{index}/attention", f"layer_{index}/feed_forward"
        for part in ("query", "key", "value", "output"):
            shapes |= _dense(f"{attention}/{part}", width, width)
        shapes |= _layer_norm(attention, width)
        shapes |= _dense(f"{feed_forward}/intermediate", width, inner)
        shapes |= _dense(f"{feed_forward}/output", inner, width)
        shapes |= _layer_norm(feed_forward, width)
    return shapes


def head_shapes(config: EncoderConfig, kind: Kind) -> Shapes:
    """The head that a network of this kind was trained with."""
    width = config.hidden_size
    if kind == "discriminator":
        head = "replaced_token_head"
        return _dense(f"{head}/dense", width, width) | _dense(f"{head}/output", width, 1)
    head = "masked_lm_head"
    return {
        **_dense(f"{head}/dense", width, config.embedding_size),
        **_layer_norm(head, config.embedding_size),
        f"{head}/output_bias": (config.vocab_size,),
    }


class ParameterCount(NamedTuple):
    """Numbers of parameters, part by part."""

    embeddings: int
    encoder: int
    head: int

    @property
    def backbone(self) -> int:
        """Embeddings and encoder: what published tables call the size of a model."""
        return self.embeddings + self.encoder

    @property
    def total(self) -> int:
        """With the head."""
        return self.backbone + self.head

    @property
    def own(self) -> int:
        """Without the embeddings: what a second network that shares them adds."""
        return self.encoder + self.head


def parameter_count(config: EncoderConfig, kind: Kind) -> ParameterCount:
    """Counts parameters without building anything."""
    return ParameterCount(
        _size(embedding_shapes(config)),
        _size(encoder_shapes(config)),
        _size(head_shapes(config, kind)),
    )


def _dense(name: str, inputs: int, outputs: int) -> Shapes:
    return {f"{name}/kernel": (inputs, outputs), f"{name}/bias": (outputs,)}


def _layer_norm(owner: str, width: int) -> Shapes:
    return {f"{owner}/layer_norm/gamma": (width,), f"{owner}/layer_norm/beta": (width,)}


def _size(shapes: Shapes) -> int:
    return sum(int(np.prod(shape)) for shape in shapes.values())


# --- writing ---------------------------------------------------------------------------------


def write_encoder_folder(path: str | Path, folder: EncoderFolder, overwrite: bool = False) -> None:
    """Writes the folder whole or not at all; see `whole_folder`.

    Args:
      path: the folder; its parent is made if need be.
      folder: what to write.
      overwrite: replace an encoder folder that stands there.

    Raises:
      ValueError: the path exists and may not be replaced, or the contents do not fit together.
    """
    _check_contents(folder)
    with whole_folder(path, overwrite, OWN_FILES, "an encoder folder") as new:
        write_files(new, folder)


def _check_contents(folder: EncoderFolder) -> None:
    """Refuses to write what could not be read again."""
    if folder.kind not in KINDS:
        raise ValueError(f"kind is {folder.kind!r}; choose one of {', '.join(KINDS)}")
    if folder.vocabulary_file not in VOCABULARY_FILES:
        raise ValueError(
            f"vocabulary_file is {folder.vocabulary_file!r}; "
            f"choose one of {', '.join(VOCABULARY_FILES)}"
        )
    found = {name: (array.dtype.name, array.shape) for name, array in folder.weights.items()}
    _check_arrays("weights", found, folder.config, folder.kind)


def write_files(path: Path, folder: EncoderFolder) -> None:
    """Writes the files of an encoder folder into a folder that is there, as part of a larger one.

    Raises:
      ValueError: the contents do not fit together.
    """
    _check_contents(folder)
    config = {
        "kind": folder.kind,
        **folder.config.model_dump(),
        "tokenizer": folder.tokenizer_settings,
    }
    (path / CONFIG_FILE).write_bytes(to_json(config))
    (path / PROVENANCE_FILE).write_bytes(to_json(folder.provenance))
    (path / folder.vocabulary_file).write_bytes(folder.vocabulary)
    write_arrays(path / WEIGHTS_FILE, folder.weights)


def write_arrays(
    path: Path, arrays: Mapping[str, np.ndarray], metadata: Mapping[str, str] | None = None
) -> None:
    """Writes a safetensors file, byte for byte as the library does, one array after the other.

    The library wants every array contiguous at once, which for transposed kernels means a second
    model in memory; and it hides the system's errors and makes the file readable for its owner
    alone.
    Source: the format's description in huggingface/safetensors, README.md.

    Args:
      path: the file.
      arrays: name → float32 array.
      metadata: texts to put into the header.
    """
    names = sorted(arrays)
    header: dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    end = 0
    for name in names:
        array = arrays[name]
        assert array.dtype == np.float32, f"{name} is {array.dtype}"
        start, end = end, end + array.nbytes
        header[name] = {"dtype": "F32", "shape": array.shape, "data_offsets": (start, end)}
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name in names:
            file.write(np.ascontiguousarray(arrays[name]).data)


def to_json(value: Mapping[str, Any]) -> bytes:
    """JSON for people to read, as every file of ours."""
    text = json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False)
    return (text + "\n").encode()


# --- reading ---------------------------------------------------------------------------------


def read_encoder_folder(path: str | Path) -> EncoderFolder:
    """Reads and checks an encoder folder.

    Args:
      path: the folder.

    Returns:
      Its contents; every array of `expected_shapes` is there, no other.

    Raises:
      ValueError: a missing or damaged file, an unknown config key, a missing or unexpected
        array, an array of another type or shape. Names the file, what was found and expected.
    """
    path = Path(path)
    if not path.is_dir():
        raise ValueError(f"{path}: no such encoder folder{_propose_old(path)}")
    kind, config, tokenizer_settings = _read_config(path / CONFIG_FILE)
    vocabulary_file = _find_vocabulary(path)
    return EncoderFolder(
        kind=kind,
        config=config,
        tokenizer_settings=tokenizer_settings,
        weights=_read_weights(path / WEIGHTS_FILE, config, kind),
        vocabulary_file=vocabulary_file,
        vocabulary=(path / vocabulary_file).read_bytes(),
        provenance=_read_json(path / PROVENANCE_FILE),
    )


def _propose_old(path: Path) -> str:
    old = old_of(path.resolve())
    if not old.is_dir():
        return ""
    return f"; writing it was interrupted, the earlier one is complete in {old}: rename it back"


def _read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ValueError(f"{path}: missing; every encoder folder has this file") from None
    except ValueError as error:
        raise ValueError(f"{path}: not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise ValueError(f"{path}: must hold an object, found {type(value).__name__}")
    return value


def _read_config(path: Path) -> tuple[Kind, EncoderConfig, dict[str, Any]]:
    tree = _read_json(path)
    for key in ("kind", "tokenizer"):
        if key not in tree:
            raise ValueError(f"{path}: {key} is missing")
    kind, tokenizer_settings = tree.pop("kind"), tree.pop("tokenizer")
    if kind not in KINDS:
        raise ValueError(f"{path}: kind is {kind!r}; known are {', '.join(KINDS)}")
    if not isinstance(tokenizer_settings, dict):
        raise ValueError(f"{path}: tokenizer is {tokenizer_settings!r}, expected an object")
    config = parse_config(EncoderConfig, tree, str(path))
    if config.vocab_size is None:
        raise ValueError(f"{path}: vocab_size is null; an encoder folder needs a number")
    return kind, config, tokenizer_settings


def _find_vocabulary(path: Path) -> str:
    found = [name for name in VOCABULARY_FILES if (path / name).is_file()]
    if len(found) != 1:
        named = " and ".join(found) or "neither"
        raise ValueError(f"{path}: needs {' or '.join(VOCABULARY_FILES)}, found {named}")
    return found[0]


def _read_weights(path: Path, config: EncoderConfig, kind: Kind) -> dict[str, np.ndarray]:
    """Checks the header before the first array is read."""
    if not path.is_file():
        raise ValueError(f"{path}: missing; every encoder folder has this file")
    try:
        # Read, not mapped: pages of the file would count as memory beside the arrays.
        with safetensors.safe_open(path, "numpy", backend="pread") as file:
            found = {}
            for name in file.keys():  # noqa: SIM118 – not a dict
                array = file.get_slice(name)
                dtype = {"F32": "float32"}.get(array.get_dtype(), array.get_dtype())
                found[name] = (dtype, tuple(array.get_shape()))
            _check_arrays(str(path), found, config, kind)
            return {name: file.get_tensor(name) for name in found}
    except safetensors.SafetensorError as error:
        raise ValueError(f"{path}: truncated or damaged ({error}); fetch it again") from None


def _check_arrays(
    origin: str,
    found: Mapping[str, tuple[str, tuple[int, ...]]],
    config: EncoderConfig,
    kind: Kind,
) -> None:
    """Holds name → (dtype, shape) against the config, and tells everything that is wrong."""
    expected = expected_shapes(config, kind)
    problems = [f"missing {name} {expected[name]}" for name in expected if name not in found]
    problems += [f"unexpected {name} {found[name][1]}" for name in found if name not in expected]
    for name in expected.keys() & found.keys():
        dtype, shape = found[name]
        if shape != expected[name]:
            problems.append(f"{name} has shape {shape}, the config says {expected[name]}")
        elif dtype != "float32":
            problems.append(f"{name} is {dtype}, expected float32")
    if problems:
        shown = "\n  ".join(sorted(problems)[:20])
        more = f"\n  … and {len(problems) - 20} more" if len(problems) > 20 else ""
        raise ValueError(f"{origin}: does not fit the config of a {kind}:\n  {shown}{more}")
