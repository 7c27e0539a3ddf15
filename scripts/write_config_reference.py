"""Writes docs/configuration.md from `electra_tf/config/`; a test holds the two together.

python scripts/write_config_reference.py
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from electra_tf import config as knobs

PAGE = Path(__file__).resolve().parents[1] / "docs" / "configuration.md"

_HEAD = """\
# Configuration

Written by `python scripts/write_config_reference.py` from `electra_tf/config/`; do not edit.

One YAML file is one run, whole: there is no inheritance, and every key without a default must be
given. Unknown keys are refused with the nearest right name; values of another type are refused.
`--set section.key=value` changes a key on the command line, later ones win. The recipes in
`configs/` say at their head where their numbers come from. A run writes the config as it was used
into its folder, before the first step.
"""

_FILES = {
    "PretrainConfig": "One pre-training run: `configs/pretrain/*.yaml`, `pretrain --config`",
    "RecordsConfig": "Text into records: `configs/corpus/*.yaml`, `--records-config`",
    "OwnTaskConfig": "A task of one's own: see [clue.md](clue.md)",
}

_SIGNS = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}
_KINDS = {int: "integer", float: "number", bool: "true or false", str: "text", type(None): "null"}


def reference() -> str:
    """The page."""
    parts = [_HEAD]
    for name, title in _FILES.items():
        parts.append(f"## {title}\n")
        parts += _sections(getattr(knobs, name), [])
    return "\n".join(parts)


def _sections(section: type[knobs.Section], titles: list[str]) -> Iterator[str]:
    """A section, then the sections within it; those of one kind are told once."""
    inner: dict[type[knobs.Section], list[str]] = {}
    rows = []
    for name, field in section.model_fields.items():
        nested = _nested(field.annotation)
        for kind in nested:
            inner.setdefault(kind, []).append(_title(name, kind, len(nested) > 1))
        if nested:
            continue
        annotation = (
            Annotated[(field.annotation, *field.metadata)] if field.metadata else (field.annotation)
        )
        default = "" if field.is_required() else f"`{_yaml(field.default)}`"
        rows.append(f"| `{name}` | {_kind(annotation)} | {default} | {field.description or ''} |")
    if titles:
        yield f"### {', '.join(titles)}\n"
    yield _about(section)
    if rows:
        yield "\n".join(["| key | value | default | meaning |", "| --- | --- | --- | --- |", *rows])
        yield ""
    for kind, names in inner.items():
        yield from _sections(kind, names)


def _title(name: str, kind: type[knobs.Section], is_choice: bool) -> str:
    if not is_choice:
        return f"`{name}`"
    (chosen,) = get_args(kind.model_fields["name"].annotation)
    return f"`{name}` with `name: {chosen}`"


def _nested(annotation: Any) -> list[type[knobs.Section]]:
    """The sections that a field may hold; several where a `name` chooses among them."""
    if inspect.isclass(annotation) and issubclass(annotation, knobs.Section):
        return [annotation]
    if get_origin(annotation) in (Annotated, Union, types.UnionType):
        return [kind for part in get_args(annotation) for kind in _nested(part)]
    return []


def _about(section: type[knobs.Section]) -> str:
    return f"{inspect.getdoc(section)}\n"


def _kind(annotation: Any) -> str:
    """What may be written, in a few words."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in parts)
    if origin is Annotated:
        bounds = [bound for part in parts[1:] for bound in _bounds(part)]
        return " ".join([_kind(parts[0]), " and ".join(bounds)]).strip()
    if origin in (Union, types.UnionType):
        return " or ".join(map(_kind, parts))
    if origin in (list, tuple):
        return f"list of {_kind(parts[0])}"
    if origin is dict:
        return f"mapping from {_kind(parts[0])} to {_kind(parts[1])}"
    if inspect.isclass(annotation):
        return _KINDS[annotation]
    raise TypeError(f"{annotation}: say here how it is written")


def _bounds(part: Any) -> list[str]:
    constraints = getattr(part, "metadata", [part])
    return [
        f"{sign} {_bound(getattr(constraint, name))}"
        for constraint in constraints
        for name, sign in _SIGNS.items()
        if getattr(constraint, name, None) is not None
    ]


def _bound(value: float) -> str:
    """
    >>> _bound(2147483648), _bound(1.0), _bound(0.5)
    ('2,147,483,648', '1', '0.5')
    """
    return f"{int(value):,}" if value == int(value) else f"{value:g}"


def _yaml(value: Any) -> str:
    return {None: "null", True: "true", False: "false"}.get(value, str(value))


if __name__ == "__main__":
    PAGE.write_text(reference(), encoding="utf-8")
    print(PAGE)
