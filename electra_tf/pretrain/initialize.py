"""A run that starts from networks trained before, instead of from weights drawn at random.

Only weights are taken over: the optimizer's moments, the step and the schedule begin anew.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from electra_tf.config import SHARED_EMBEDDING_KEYS, EncoderConfig, PretrainConfig
from electra_tf.data.manifest import VocabularyFacts
from electra_tf.encoder_folder import (
    EncoderFolder,
    embedding_shapes,
    encoder_shapes,
    expected_shapes,
)
from electra_tf.network.weights import (
    AssignmentReport,
    assign_weights,
    match_shapes,
    named_weights,
)
from electra_tf.pretrain.objectives.electra import Electra

# What an encoder computes depends on these, though no array changes its shape with them.
_UNSEEN_IN_SHAPES = ("num_attention_heads", "layer_norm_epsilon")
# May be chosen anew; vocab_size follows the records, whose vocabulary is compared as a whole.
_FREE = ("vocab_size", "hidden_dropout_rate", "attention_dropout_rate", "initializer_stddev")


class InitialNetwork(NamedTuple):
    """A network to start from.

    Fields:
      origin: where it lies, as people gave it.
      folder: its contents, from any format; arrays may be missing.
      notes: sentences about how it was read.
    """

    origin: str
    folder: EncoderFolder
    notes: tuple[str, ...] = ()


def describe(network: InitialNetwork) -> dict[str, str]:
    """What a run folder keeps of a network it started from; equal weights, equal digest."""
    digest = hashlib.sha256()
    for name, array in sorted(network.folder.weights.items()):
        digest.update(f"{name} {array.shape} {array.dtype.name}\n".encode())
        digest.update(np.ascontiguousarray(array).data)
    return {
        "path": network.origin,
        "kind": network.folder.kind,
        "weights_sha256": digest.hexdigest(),
    }


# --- before the run is claimed ---------------------------------------------------------------


def check_fit(
    networks: Sequence[InitialNetwork], config: PretrainConfig, vocabulary: VocabularyFacts
) -> None:
    """Refuses networks that cannot start this run.

    Args:
      networks: at most one of a kind.
      config: the run, `vocab_size` filled in.
      vocabulary: of its records.

    Raises:
      ValueError: two networks of a kind, another vocabulary than the records', embeddings or
        layers of the run that a network does not cover, other attention heads, or two networks
        that do not share their embeddings. Names the network and the way out.
    """
    kinds = [network.folder.kind for network in networks]
    for kind in set(kinds):
        if kinds.count(kind) > 1:
            origins = " and ".join(n.origin for n in networks if n.folder.kind == kind)
            raise ValueError(f"{origins}: a run has one {kind}; give one --init-from of them")
    for network in networks:
        _check_vocabulary(network, vocabulary)
        _check_covers(network, getattr(config, network.folder.kind))
    if len(networks) == 2:
        _check_shared(*networks)


def _check_vocabulary(network: InitialNetwork, ours: VocabularyFacts) -> None:
    folder = network.folder
    theirs = folder.tokenizer_settings.get("vocabulary_sha256")
    if theirs != ours.sha256:
        raise ValueError(
            f"{network.origin}: was trained with another vocabulary "
            f"({folder.config.vocab_size:,} tokens, sha256 {str(theirs)[:12]}) than the records "
            f"were built with ({ours.size:,} tokens, sha256 {ours.sha256[:12]}); build the records "
            f"with its own (--vocab …/{folder.vocabulary_file})"
        )


def _check_covers(network: InitialNetwork, ours: EncoderConfig) -> None:
    folder, kind = network.folder, network.folder.kind
    report = match_shapes(expected_shapes(ours, kind), folder.weights)
    backbone = embedding_shapes(ours) | encoder_shapes(ours)
    problems = [f"missing {name}" for name in report.missing if name in backbone]
    problems += report.mismatched
    for key in _UNSEEN_IN_SHAPES:
        found, expected = getattr(folder.config, key), getattr(ours, key)
        if found != expected:
            problems.append(f"{key} is {found}, the run has {expected}")
    if problems:
        shown = "".join(f"\n  {problem}" for problem in problems[:20])
        more = f"\n  … and {len(problems) - 20} more" if len(problems) > 20 else ""
        raise ValueError(
            f"{network.origin}: does not cover the {kind} of this run:{shown}{more}\n"
            f"{len(report.loaded)} tensors fit, {len(report.missing)} missing, "
            f"{len(report.unexpected)} unexpected, {len(report.mismatched)} mismatched"
            f"{_propose_sizes(folder, ours)}"
        )


def _propose_sizes(folder: EncoderFolder, ours: EncoderConfig) -> str:
    """The options that give the run the sizes of the network."""
    options = []
    for key, value in folder.config.model_dump().items():
        if key not in _FREE and value != getattr(ours, key):
            is_shared = key in SHARED_EMBEDDING_KEYS
            kinds = ("discriminator", "generator") if is_shared else (folder.kind,)
            options += [f"--set {kind}.{key}={value}" for kind in kinds]
    return f"; give the run its sizes:\n  {' '.join(options)}" if options else ""


def _check_shared(one: InitialNetwork, other: InitialNetwork) -> None:
    different = [
        name
        for name in embedding_shapes(one.folder.config)
        if not np.array_equal(one.folder.weights[name], other.folder.weights[name])
    ]
    if different:
        raise ValueError(
            f"{one.origin} and {other.origin}: their embeddings differ ({', '.join(different)}), "
            f"but both networks of a run share one block; give two that were trained together, or "
            f"one of them"
        )


# --- once its variables exist ----------------------------------------------------------------


def initialize(
    objective: Electra, networks: Sequence[InitialNetwork], tokenizer: Mapping[str, Any]
) -> Iterator[str]:
    """Puts the weights in, under the scope of the strategy, and says what became of each.

    Args:
      objective: the networks of the run.
      networks: those that `check_fit` let pass.
      tokenizer: settings with which the records were built.

    Yields:
      Lines for people.
    """
    given = {network.folder.kind: network for network in networks}
    for kind, (encoder, head) in objective.networks.items():
        if kind not in given:
            yield f"{kind}: starts at random, but for the embeddings it shares"
            continue
        network = given[kind]
        variables = named_weights(encoder) | named_weights(head)
        yield from _tell(network, assign_weights(variables, network.folder.weights))
        yield from _tell_tokenizer(network, tokenizer)


def _tell(network: InitialNetwork, report: AssignmentReport) -> Iterator[str]:
    yield (
        f"{network.folder.kind}: starts from {network.origin}, {len(report.loaded)} tensors "
        f"loaded, {len(report.missing)} missing, {len(report.unexpected)} unexpected, "
        f"{len(report.mismatched)} mismatched"
    )
    if report.missing:
        yield f"  missing, so at random: {_some(report.missing)}"
    if report.unexpected:
        yield f"  unexpected, so left out: {_some(report.unexpected)}"
    for note in network.notes:
        yield f"  {note}"


def _tell_tokenizer(network: InitialNetwork, ours: Mapping[str, Any]) -> Iterator[str]:
    for key, theirs in network.folder.tokenizer_settings.items():
        if key in ours and theirs != ours[key]:
            yield (
                f"  note: it was trained with {key} {theirs}, the records were built with "
                f"{ours[key]}"
            )


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - 6} more" if len(names) > 6 else ""
    return ", ".join(names[:6]) + more
