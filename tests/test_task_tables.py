"""docs/clue.md says what the table of tasks says."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_the_tables_of_tasks_are_current():
    path = ROOT / "scripts" / "write_task_tables.py"
    spec = importlib.util.spec_from_file_location("write_task_tables", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    written = script.PAGE.read_text(encoding="utf-8")
    assert written == script.page(), "run: python scripts/write_task_tables.py"
    assert "| `tnews` | topics of news titles | classification | 15 | 128 | accuracy |" in written
