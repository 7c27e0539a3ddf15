"""A foreign model into the arrays and the config of an encoder folder, with nothing unexplained."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from electra_tf.config import EncoderConfig
from electra_tf.encoder_folder import Kind, Shapes, expected_shapes, head_shapes
from electra_tf.exchange.name_rules import NameTable, Reasons, Rule, reason_to_ignore
from electra_tf.exchange.sizes import sizes_of

HEADS: Mapping[Kind, str] = {
    "discriminator": "replaced_token_head/",
    "generator": "masked_lm_head/",
}


@dataclass(frozen=True)
class Source:
    """A foreign model, opened but not read.

    Fields:
      what: the format, in words.
      path: where it lies.
      files: the files it consists of, for provenance.
      shapes: their name → shape.
      read: their name → float32 array; numbers that are no weights may be integers.
      tables: the networks it holds → their names.
      ignored: names that are left behind, and why.
      configs: network → what a JSON beside it says.
      notes: what the reader of the format has to tell.
    """

    what: str
    path: Path
    files: tuple[Path, ...]
    shapes: Shapes
    read: Callable[[str], np.ndarray]
    tables: Mapping[Kind, NameTable]
    ignored: Reasons
    configs: Mapping[Kind, Mapping[str, Any]]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Plan:
    """How one network of a source becomes an encoder folder.

    Fields:
      kind, config: of the folder.
      rules: our name → rule, for every array that is converted.
      copies: their name → our name of the array it must equal.
      ignored: their name → why it is left behind.
      missing: our name → what is done instead.
      notes: sentences for the user.
    """

    kind: Kind
    config: EncoderConfig
    rules: Mapping[str, Rule]
    copies: Mapping[str, str]
    ignored: Mapping[str, str]
    missing: Mapping[str, str]
    notes: tuple[str, ...]


def held_networks(source: Source) -> tuple[Kind, ...]:
    """The networks that are there with their heads, so that nothing has to be made anew."""
    held = []
    for kind, table in source.tables.items():
        heads = {r.theirs for r in table.rules if r.ours.startswith(HEADS[kind])}
        if heads & source.shapes.keys():
            held.append(kind)
    return tuple(held)


def make_plan(source: Source, kind: Kind) -> Plan:
    """Decides what becomes of every array, without reading one.

    Raises:
      ValueError: the source holds no such network, an array is missing, of a wrong shape or of no
        known use. Lists them all.
    """
    if kind not in source.tables:
        held = " and a ".join(source.tables) or "no network that is known"
        raise ValueError(f"{source.path}: holds a {held}, no {kind}{_advice(kind)}")
    table = source.tables[kind]
    rules, copies, ignored, unknown = {}, {}, {}, []
    for name in source.shapes:
        if rule := table.to_ours(name):
            rules[rule.ours] = rule
        elif name in table.copies:
            copies[name] = table.copies[name]
        elif reason := _reason(source, name, kind):
            ignored[name] = reason
        else:
            unknown.append(name)
    if unknown:
        raise ValueError(
            f"{source.path}: nobody knows what these tensors are for, so nothing is converted:"
            + _listed(f"{name} {source.shapes[name]}" for name in unknown)
        )
    shapes = {name: _our_shape(source, rule) for name, rule in rules.items()}
    config, notes = sizes_of(shapes, source.configs.get(kind), str(source.path))
    if not config.needs_projection:
        for name in [name for name in rules if name.startswith("embeddings_project/")]:
            ignored[rules.pop(name).theirs] = (
                "a projection between equal widths, which is never computed"
            )
    missing = _missing(source, kind, config, shapes)
    return Plan(kind, config, rules, copies, ignored, missing, source.notes + notes)


def load(source: Source, plan: Plan) -> dict[str, np.ndarray]:
    """Reads the arrays of a plan, one after the other.

    Returns:
      Our name → float32, contiguous, all arrays of `expected_shapes`.

    Raises:
      ValueError: an array cannot be read, or a tied weight is not equal to its twin.
    """
    weights = {}
    for ours, rule in plan.rules.items():
        array = source.read(rule.theirs)
        weights[ours] = np.ascontiguousarray(array.T if rule.transposed else array)
    for theirs, ours in plan.copies.items():
        if not same_numbers(source.read(theirs), weights[ours]):
            raise ValueError(
                f"{source.path}: {theirs} differs from {plan.rules[ours].theirs}, with which it "
                f"is tied in this network; untied output tables cannot be converted"
            )
    weights.update(_made_anew(plan))
    return {name: weights[name] for name in expected_shapes(plan.config, plan.kind)}


def same_numbers(one: np.ndarray, other: np.ndarray) -> bool:
    """True if two float32 arrays hold the same bits, row by row so that little is copied."""
    if one.shape != other.shape:
        return False
    return all(a.tobytes() == b.tobytes() for a, b in zip(one, other, strict=True))


# --- helpers of make_plan --------------------------------------------------------------------


def _advice(kind: Kind) -> str:
    if kind == "generator":
        return (
            "; a discriminator cannot fill masks, look for the checkpoint or folder whose name "
            "ends with `generator`"
        )
    return "; a generator does not detect, look for the one whose name ends with `discriminator`"


def _reason(source: Source, name: str, kind: Kind) -> str | None:
    if reason := reason_to_ignore(name, source.ignored):
        return reason
    for other, table in source.tables.items():
        if other != kind and (table.to_ours(name) or name in table.copies):
            return f"of the {other}"
    return None


def _our_shape(source: Source, rule: Rule) -> tuple[int, ...]:
    shape = source.shapes[rule.theirs]
    return shape[::-1] if rule.transposed else shape


def _missing(source: Source, kind: Kind, config: EncoderConfig, shapes: Shapes) -> dict[str, str]:
    """What may be missing, and why; anything else that is, or has a wrong shape, is an error."""
    expected, head = expected_shapes(config, kind), head_shapes(config, kind)
    missing = [name for name in expected if name not in shapes]
    reasons: dict[str, str] = {}
    if kind == "discriminator" and head.keys() <= set(missing):
        reasons = dict.fromkeys(head, "the source has no such head; made anew, to be trained")
    table = source.tables[kind]
    problems = [
        f"missing {table.to_theirs(name).theirs} {expected[name]}"
        for name in missing
        if name not in reasons
    ]
    problems += [
        f"{table.to_theirs(name).theirs} has shape {shapes[name]}, expected {shape}"
        for name, shape in expected.items()
        if name in shapes and shapes[name] != shape
    ]
    if problems:
        raise ValueError(
            f"{source.path}: incomplete or damaged, fetch it again:" + _listed(problems)
        )
    return reasons


def _listed(lines) -> str:
    lines = list(lines)
    more = f"\n  … and {len(lines) - 20} more" if len(lines) > 20 else ""
    return "".join(f"\n  {line}" for line in lines[:20]) + more


def _made_anew(plan: Plan) -> dict[str, np.ndarray]:
    """First values of a head, as training from nothing starts it; always the same.

    Source: google-research/electra at 8a46635, `run_pretraining.py`: truncated normal, Glorot
    uniform where the code names no initializer, biases 0.
    """
    shapes = head_shapes(plan.config, plan.kind)
    chance = np.random.default_rng(0)
    arrays = {}
    for name in plan.missing:
        shape = shapes[name]
        if name.endswith("/bias"):
            arrays[name] = np.zeros(shape, np.float32)
        elif name.endswith("/output/kernel"):
            reach = (6 / sum(shape)) ** 0.5
            arrays[name] = chance.uniform(-reach, reach, shape).astype(np.float32)
        else:
            normal = chance.standard_normal(shape)
            while (outside := np.abs(normal) > 2).any():
                normal[outside] = chance.standard_normal(int(outside.sum()))
            arrays[name] = (plan.config.initializer_stddev * normal).astype(np.float32)
    return arrays
