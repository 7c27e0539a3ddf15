"""A zip of predictions, held against the form the boards want."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from chinese.clue.submission_check import CheckedFile, check_submission
from chinese.clue.table import CLUE_1_1


class CheckedSubmission(NamedTuple):
    """What was found in a zip.

    Fields:
      files: one entry a file.
      absent: tasks of CLUE 1.1 without predictions, where there are some of others.
      defects: all defects, each with the name of its file.
    """

    files: tuple[CheckedFile, ...]
    absent: tuple[str, ...]
    defects: tuple[str, ...]


def check_zip(path: str | Path, data: str | Path | None) -> CheckedSubmission:
    """Looks at names, order, label strings, ids and counts of every file in a zip.

    Args:
      path: the zip.
      data: a folder of data with the test files; None = ids and order are not compared.

    Raises:
      ValueError: no zip, no such folder, or a test file that cannot be read.
    """
    if data is not None and not Path(data).is_dir():
        raise ValueError(f"{data}: no such folder of data")
    files = check_submission(path, data)
    present = {file.task for file in files}
    absent = [name for name in CLUE_1_1 if name not in present] if present & {*CLUE_1_1} else []
    defects = [f"{file.name}: {defect}" for file in files for defect in file.defects]
    return CheckedSubmission(tuple(files), tuple(absent), tuple(defects))
