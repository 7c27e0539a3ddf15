"""YAML into configs and back; every mistake as a sentence for people."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pydantic import ValidationError

from electra_tf.config.section import Section


class _Loader(yaml.SafeLoader):
    """YAML as people write it: `2e-4` is a number (YAML 1.1 wants `2.0e-4`)."""


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(?:\d+(?:\.\d*)?|\.\d+)[eE][-+]?\d+$"),
    list("-+.0123456789"),
)

SectionT = TypeVar("SectionT", bound=Section)


def load_config(kind: type[SectionT], path: str | Path, overrides: Sequence[str] = ()) -> SectionT:
    """Reads a YAML file, then applies `a.b=value` overrides in their order.

    Args:
      kind: the config class that the file describes.
      path: a YAML file.
      overrides: texts such as `optimizer.learning_rate=2e-4`; values are YAML.

    Returns:
      The frozen config.

    Raises:
      ValueError: a missing file, broken YAML, an unknown key (the nearest right name is
        proposed), a value of another type, or sizes that do not fit. Names file and key.
    """
    path = Path(path)
    try:
        tree = yaml.load(path.read_text(encoding="utf-8"), _Loader)
    except FileNotFoundError:
        raise ValueError(f"{path}: no such config file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: cannot be read ({error})") from None
    except yaml.YAMLError as error:
        raise ValueError(f"{path}: not valid YAML: {error}") from None
    if not isinstance(tree, dict):
        raise ValueError(f"{path}: a config is a mapping of sections, found {tree!r}")
    for override in overrides:
        _apply_override(tree, override)
    return parse_config(kind, tree, str(path))


def parse_config(kind: type[SectionT], tree: dict[str, Any], origin: str) -> SectionT:
    """Turns nested dictionaries into a config. `origin` names their source in errors."""
    try:
        return kind.model_validate(tree)
    except ValidationError as error:
        lines = [_explain(kind, detail) for detail in error.errors()]
        raise ValueError("\n".join(f"{origin}: {line}" for line in lines)) from None


def dump_config(config: Section) -> str:
    """The config as YAML text, every key present, in the order of its fields."""
    return yaml.safe_dump(config.model_dump(), sort_keys=False, allow_unicode=True)


def _apply_override(tree: dict[str, Any], override: str) -> None:
    key, separator, text = override.partition("=")
    if not separator or not key:
        raise ValueError(
            f"--set {override}: write section.key=value, as optimizer.learning_rate=2e-4"
        )
    try:
        value = yaml.load(text, _Loader)
    except yaml.YAMLError as error:
        raise ValueError(f"--set {override}: the value is not valid YAML: {error}") from None
    *sections, name = key.split(".")
    for section in sections:
        tree = tree.setdefault(section, {})
        if not isinstance(tree, dict):
            raise ValueError(f"--set {override}: {section} is not a section")
    tree[name] = value


def _explain(kind: type[Section], detail: dict[str, Any]) -> str:
    """One pydantic error as a sentence for people."""
    section, location = _locate(kind, [str(part) for part in detail["loc"]])
    key = ".".join(location)
    if detail["type"] == "extra_forbidden":
        return f"unknown key {key}{_propose(section, location[-1])}"
    if detail["type"] == "missing":
        return f"{key} is missing"
    if detail["type"] == "union_tag_not_found":
        return f"{key}.name is missing"
    if detail["type"] == "union_tag_invalid":
        found, known = detail["ctx"]["tag"], detail["ctx"]["expected_tags"].replace("'", "")
        return f"{key}.name is {found!r}; choose one of {known}"
    if detail["type"] == "value_error":
        return str(detail["ctx"]["error"])
    message = detail["msg"][0].lower() + detail["msg"][1:]
    return f"{key} is {detail['input']!r}: {message}"


def _locate(section: Any, location: list[str]) -> tuple[Any, list[str]]:
    """The section that a place lies in, and the place as people write it.

    Where a section is one of several kinds, pydantic puts the kind's name behind the section's.
    """
    written = []
    while location:
        part, *location = location
        written.append(part)
        field = getattr(section, "model_fields", {}).get(part)
        if field is None or not location:
            break
        section = field.annotation
        if field.discriminator is not None:
            name, *location = location
            section = _kind_of(section, field.discriminator, name)
    return section, [*written, *location]


def _kind_of(union: Any, discriminator: str, name: str) -> type[Section]:
    """The member of a union whose discriminator may have this value."""
    kinds = get_args(union)
    return next(k for k in kinds if name in get_args(k.model_fields[discriminator].annotation))


def _propose(section: Any, name: str) -> str:
    """`; did you mean …?` for a misspelt key, or the list of right names."""
    names = list(section.model_fields)
    near = difflib.get_close_matches(name, names, n=1)
    return f"; did you mean {near[0]}?" if near else f"; known here: {', '.join(names)}"
