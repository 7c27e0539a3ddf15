"""Leaves out of the doctests what imports a package of an extra that is not installed."""

from importlib.util import find_spec

_NEEDS = {
    "apache_beam": "electra_tf/workflows/beam_records.py",
    "opencc": "chinese/clue/simplified.py",
}
collect_ignore = [file for package, file in _NEEDS.items() if not find_spec(package)]
