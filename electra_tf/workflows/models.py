"""Any model people have, as encoder folders: arrays by `exchange`, vocabulary by `chinese`.

No TensorFlow unless the model is a TensorFlow 1 checkpoint.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from chinese.vocab import Vocabulary, load_vocabulary, parse_vocabulary
from electra_tf.encoder_folder import (
    KINDS,
    OWN_FILES,
    EncoderFolder,
    Kind,
    embedding_shapes,
    read_encoder_folder,
)
from electra_tf.exchange.huggingface import open_hugging_face
from electra_tf.exchange.recognise import Found, recognise
from electra_tf.exchange.tokenizer_files import read_tokenizer_files
from electra_tf.exchange.translate import (
    Plan,
    Source,
    held_networks,
    load,
    make_plan,
    same_numbers,
)

Component = Literal["discriminator", "generator", "both"]


class Account(NamedTuple):
    """What became of the arrays of one network.

    Fields:
      what: the format it was in.
      files: the files it was in.
      converted: how many arrays were.
      ignored, missing: reason → names.
      notes: sentences for the user.
    """

    what: str
    files: tuple[Path, ...]
    converted: int
    ignored: Mapping[str, tuple[str, ...]]
    missing: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...]


class Network(NamedTuple):
    """One network, and how it was read."""

    folder: EncoderFolder
    account: Account


def read_any(
    path: str | Path, component: Kind, vocabulary: str | Path | None = None
) -> EncoderFolder:
    """Reads one network from any format that is known.

    Args:
      path: as `read_networks`.
      component: which network.
      vocabulary: as `read_networks`.

    Raises:
      ValueError: as `read_networks`.
    """
    return read_networks(path, component, None, vocabulary)[component].folder


def read_networks(
    path: str | Path,
    component: Component | None = None,
    other: str | Path | None = None,
    vocabulary: str | Path | None = None,
) -> dict[Kind, Network]:
    """Reads one network or both from any format that is known.

    Args:
      path: an encoder folder, a run, a folder of Hugging Face, a TensorFlow 1 checkpoint, or a
        folder with a discriminator and a generator in two folders below it.
      component: which; None = those that are there.
      other: where the second network lies, if elsewhere.
      vocabulary: a `vocab.txt`; None = the one beside the model.

    Returns:
      Kind → network. Two networks share the arrays of their embeddings.

    Raises:
      ValueError: nothing known is there, a network asked for is not, an array is missing,
        damaged or of no known use, the vocabulary does not fit, or two networks do not share
        their embeddings.
    """
    with contextlib.ExitStack() as stack:
        opened = _open_all([path, *([other] if other else [])], stack)
        chosen = _choose(opened, component, path)
        networks = {kind: model.read(kind, vocabulary) for kind, model in chosen.items()}
    if len(networks) == 2:
        networks["generator"] = _share_embeddings(**networks)
    return networks


def split_component(given: str | Path) -> tuple[str, Component | None]:
    """A path, and the network that is named behind it.

    >>> split_component("bert-base-chinese:generator")
    ('bert-base-chinese', 'generator')
    >>> split_component("runs/base")
    ('runs/base', None)
    """
    path, _, component = str(given).rpartition(":")
    return (path, component) if component in get_args(Component) and path else (str(given), None)


# --- one model -------------------------------------------------------------------------------


class _Foreign(NamedTuple):
    """A model of another toolkit."""

    source: Source
    tokenizer_folder: Path

    @property
    def path(self) -> Path:
        return self.source.path

    @property
    def held(self) -> tuple[Kind, ...]:
        return held_networks(self.source)

    @property
    def possible(self) -> tuple[Kind, ...]:
        return tuple(self.source.tables)

    def read(self, kind: Kind, vocabulary: str | Path | None) -> Network:
        plan = make_plan(self.source, kind)
        words, settings, notes = _vocabulary_of(self.tokenizer_folder, plan, vocabulary)
        folder = EncoderFolder(
            kind=kind,
            config=plan.config,
            tokenizer_settings=settings,
            weights=load(self.source, plan),
            vocabulary_file="spiece.model" if words.sentencepiece_model else "vocab.txt",
            vocabulary=words.content,
            provenance={},
        )
        return Network(folder, account_of(self.source, plan, notes))


class _Ours(NamedTuple):
    """An encoder folder."""

    path: Path
    folder: EncoderFolder

    @property
    def held(self) -> tuple[Kind, ...]:
        return (self.folder.kind,)

    @property
    def possible(self) -> tuple[Kind, ...]:
        return (self.folder.kind,)

    def read(self, kind: Kind, vocabulary: str | Path | None) -> Network:
        if vocabulary is not None:
            raise ValueError(f"{self.path}: has its own vocabulary; leave out --vocab")
        files = tuple(p for name in OWN_FILES if (p := self.path / name).is_file())
        account = Account("encoder folder", files, len(self.folder.weights), {}, {}, ())
        return Network(self.folder, account)


def open_foreign(found: Found, stack: contextlib.ExitStack) -> Source:
    """Opens a model of another toolkit; TensorFlow is imported only where it is needed."""
    if found.format == "google_tf1":
        from electra_tf.exchange.google_tf1 import open_google_tf1

        return open_google_tf1(found.path)
    return open_hugging_face(found.path, stack)


def account_of(source: Source, plan: Plan, notes: tuple[str, ...] = ()) -> Account:
    """The account of a plan."""
    return Account(
        what=source.what,
        files=source.files,
        converted=len(plan.rules),
        ignored=_by_reason(
            plan.ignored | dict.fromkeys(plan.copies, "equal to an array that is converted")
        ),
        missing=_by_reason(plan.missing),
        notes=plan.notes + notes,
    )


def _by_reason(reasons: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    names: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        names.setdefault(reason, []).append(name)
    return {reason: tuple(sorted(those)) for reason, those in names.items()}


# --- several models --------------------------------------------------------------------------


def _open_all(paths: list[str | Path], stack: contextlib.ExitStack) -> list[_Foreign | _Ours]:
    opened: list[_Foreign | _Ours] = []
    for path in paths:
        for found in recognise(path):
            if found.format == "encoder":
                opened.append(_Ours(found.path, read_encoder_folder(found.path)))
            else:
                is_folder = found.format == "hugging_face"
                beside = found.path if is_folder else found.path.parent
                opened.append(_Foreign(open_foreign(found, stack), beside))
    return opened


def _choose(
    opened: list[_Foreign | _Ours], component: Component | None, path: str | Path
) -> dict[Kind, _Foreign | _Ours]:
    """Which model each network is read from."""
    if component is None:
        bert = next(
            (m for m in opened if isinstance(m, _Foreign) and "BERT" in m.source.what), None
        )
        if bert is not None:
            raise ValueError(
                f"{bert.path}: a BERT can start either network; say which (convert: --component "
                f"generator; elsewhere: {path}:generator; or discriminator, or both)"
            )
        wanted = {kind for model in opened for kind in model.held or model.possible[:1]}
    else:
        wanted = set(KINDS if component == "both" else (component,))
    chosen = {}
    for kind in KINDS:
        if kind not in wanted:
            continue
        able = [m for m in opened if kind in m.held] or [m for m in opened if kind in m.possible]
        if len(able) > 1:
            names = ", ".join(model.path.name for model in able)
            raise ValueError(f"{path}: holds several {kind}s ({names}); name one of them")
        if not able:
            raise ValueError(_nothing_to_read(opened, kind, component, path))
        chosen[kind] = able[0]
    return chosen


def _nothing_to_read(
    opened: list[_Foreign | _Ours], kind: Kind, component: Component | None, path: str | Path
) -> str:
    held = sorted({kind for model in opened for kind in model.held or model.possible})
    way_out = {
        "generator": "a discriminator cannot fill masks; give the generator's own folder or file",
        "discriminator": "a generator does not detect; give the discriminator's own folder or file",
    }[kind]
    if component == "both":
        way_out = f"give the {kind} with --pair, or ask for --component {held[0]} alone"
    return f"{path}: holds a {' and a '.join(held)}, no {kind}; {way_out}"


def _share_embeddings(discriminator: Network, generator: Network) -> Network:
    """The generator with the discriminator's embedding arrays, once they are seen to be equal."""
    ours, theirs = discriminator.folder, generator.folder
    if ours.vocabulary != theirs.vocabulary:
        raise ValueError("the two networks have different vocabularies; they are no pair")
    different = [
        name
        for name in embedding_shapes(ours.config)
        if not same_numbers(ours.weights[name], theirs.weights[name])
    ]
    if different:
        raise ValueError(
            f"the two networks do not share their embeddings ({', '.join(different)} differ), so "
            f"they were not trained together, or one of them was trained on alone; convert each "
            f"by itself with --component"
        )
    shared = {name: ours.weights[name] for name in embedding_shapes(ours.config)}
    return generator._replace(folder=replace(theirs, weights=theirs.weights | shared))


# --- vocabulary ------------------------------------------------------------------------------


def _vocabulary_of(
    folder: Path, plan: Plan, given: str | Path | None
) -> tuple[Vocabulary, dict[str, Any], tuple[str, ...]]:
    """The vocabulary, checked against the word table, and how text is folded."""
    files = read_tokenizer_files(folder)
    if given is not None:
        vocabulary = load_vocabulary(given)
    elif files.vocabulary is None:
        raise ValueError(
            f"{folder}: holds no vocab.txt; give the one it was trained with (--vocab)"
        )
    else:
        vocabulary = parse_vocabulary(files.vocabulary, files.origin)
    if vocabulary.size != plan.config.vocab_size:
        raise ValueError(
            f"{given or files.origin}: {vocabulary.size:,} tokens, but the word table of {folder} "
            f"has {plan.config.vocab_size:,} rows; give the one it was trained with (--vocab)"
        )
    settings = {
        "lower_case": files.lower_case,
        "strip_accents": files.strip_accents,
        "vocabulary_sha256": vocabulary.sha256,
    }
    return vocabulary, settings, (*vocabulary.warnings, *files.notes)
