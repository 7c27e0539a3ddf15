"""docs/configuration.md says what electra_tf/config accepts."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def load_script():
    path = ROOT / "scripts" / "write_config_reference.py"
    spec = importlib.util.spec_from_file_location("write_config_reference", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_configuration_reference_is_current():
    script = load_script()
    written = script.PAGE.read_text(encoding="utf-8")
    assert written == script.reference(), "run: python scripts/write_config_reference.py"


def test_every_key_of_a_recipe_stands_in_the_reference():
    text = load_script().reference()
    for line in (ROOT / "configs/pretrain/demo.yaml").read_text(encoding="utf-8").splitlines():
        key = line.strip().split(":")[0]
        if key and not key.startswith("#") and line.startswith(" "):
            assert f"| `{key}` |" in text, key
