"""`electra-tf records verify`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from electra_tf.cli.display import Display, show_columns


def verify(folder: Annotated[Path, typer.Argument(help="A folder of records.")]) -> None:
    """Read records whole and compare them with their manifest.

    Sizes, SHA-256, checksums, counts, the vocabulary; ids, segments and
    units of every record. Any defect is named and gives exit code 1.

    Example:

      electra-tf records verify runs/demo/records
    """
    from electra_tf.workflows.verify_records import verify_records

    with Display() as display:
        found = verify_records(folder, display.examples)
    show_columns(
        str(folder),
        ("shard", "examples", "tokens", ""),
        [(s.file, s.examples, s.tokens, "defect" if s.defects else "sound") for s in found.shards],
    )
    if found.defects:
        count = len(found.defects)
        lines = "\n".join(f"  {line}" for line in found.defects)
        raise ValueError(f"{folder}: {count} defect{'s' if count > 1 else ''}:\n{lines}")
