"""Leaves out of the doctests what imports a package of an extra that is not installed."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("apache_beam") else ["electra_tf/workflows/beam_records.py"]
