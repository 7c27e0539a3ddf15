"""The import law: which room may import which, held against the real imports."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

GROUND = {
    "electra_tf.config",
    "electra_tf.batches",
    "electra_tf.encoder_folder",
    "electra_tf.page",
    "electra_tf.whole_folder",
}
TRADES = {"electra_tf.network", "electra_tf.training", "electra_tf.data"}
EXCHANGE = {
    "electra_tf.exchange",
    "electra_tf.exchange.name_rules",
    "electra_tf.exchange.moments",
    "electra_tf.exchange.google_tf1",
    "electra_tf.exchange.model_garden",
    "electra_tf.exchange.keras_hub",
}
TENSORFLOW = {"tensorflow", "keras", "numpy"}

# room → (rooms of ours it may import besides itself, third parties)
LAW = {
    "electra_tf.config": (set(), {"pydantic", "yaml"}),
    "electra_tf.whole_folder": (set(), set()),
    "electra_tf.encoder_folder": (
        {"electra_tf.config", "electra_tf.whole_folder"},
        {"numpy", "safetensors", "pydantic"},
    ),
    "electra_tf.batches": (set(), {"tensorflow"}),
    "electra_tf.page": (set(), set()),
    "electra_tf.network": ({"electra_tf.config"}, TENSORFLOW),
    "electra_tf.training": (GROUND, {*TENSORFLOW, "orbit"}),
    "electra_tf.data": (GROUND, TENSORFLOW),
    # Orbit's controller drives the run; its trainers live in training/.
    "electra_tf.pretrain": (GROUND | TRADES, {*TENSORFLOW, "orbit"}),
    # Without TensorFlow, so that most conversions and `info` start at once.
    "electra_tf.exchange": (GROUND, {"numpy", "safetensors"}),
    "electra_tf.exchange.model_garden": (GROUND | EXCHANGE, {*TENSORFLOW, "yaml", "official"}),
    "electra_tf.exchange.keras_hub": (GROUND | EXCHANGE, {"h5py"}),
    "electra_tf.exchange.moments": (GROUND | EXCHANGE, TENSORFLOW),
    "electra_tf.exchange.google_tf1": (GROUND | EXCHANGE, TENSORFLOW),
    "electra_tf.exchange.name_rules": (set(), set()),
    # Its tokenizer is handed in by a workflow.
    "electra_tf.serving": (GROUND | TRADES, TENSORFLOW),
    "electra_tf.workflows": (
        GROUND | TRADES | EXCHANGE | {"electra_tf.pretrain", "electra_tf.serving", "chinese"},
        {"numpy"},
    ),
    # The one file that describes a cluster's work.
    "electra_tf.workflows.beam_records": (
        GROUND | TRADES | {"electra_tf.workflows", "chinese"},
        {"numpy", "apache_beam"},
    ),
    "electra_tf.cli": (
        {"electra_tf.config", "electra_tf.workflows", "electra_tf.workflows.beam_records"},
        {"typer", "rich", "plotext"},
    ),
    "electra_tf.__main__": ({"electra_tf.cli"}, set()),
    "chinese": (set(), {"numpy"}),
    "chinese.segmentation": ({"chinese"}, {"numpy", "jieba", "rjieba"}),
    "chinese.vocab": ({"chinese"}, {"numpy", "sentencepiece"}),
    "chinese.tokenizer": ({"chinese"}, {"numpy", "tensorflow", "tensorflow_text"}),
    "chinese.model_inputs": ({"chinese"}, {"tensorflow"}),
    "chinese.demo_corpus": ({"chinese"}, {"numpy"}),
    "chinese.clue": ({"chinese"}, {"numpy"}),
    "chinese.clue.cloze": ({"chinese", "chinese.clue"}, {"numpy", "scipy"}),
    "chinese.clue.simplified": ({"chinese", "chinese.clue"}, {"numpy", "opencc"}),
}

# Within the Chinese tower imports point down this list only.
CHINESE_FLOORS = [
    "spans",
    "characters",
    "normalize",
    "task_files",
    "documents",
    "sentences",
    "segmentation",
    "vocab",
    "vocab_changes",
    "tokenizer",
    "model_inputs",
    "units",
    "corpus",
    "examples",
    "demo_corpus",
    "overlap",
]

# So do those within its room of tasks, which sees nothing of pre-training either.
CLUE_FLOORS = [
    "examples",
    "features",
    "files",
    "ids",
    "conll",
    "labels",
    "latin_words",
    "encoding",
    "metrics",
    "reading_metrics",
    "simplified",
    "classification",
    "choice",
    "cloze",
    "reading",
    "tagging",
    "tasks",
    "clue_tasks",
    "fewclue_tasks",
    "hfl_tasks",
    "table",
    "own_tasks",
    "published",
    "submission",
    "submission_check",
]
HIDDEN_FROM_CLUE = {
    "chinese.corpus",
    "chinese.examples",
    "chinese.model_inputs",
    "chinese.units",
    "chinese.tokenizer",
}


def python_files():
    return sorted([*ROOT.glob("electra_tf/**/*.py"), *ROOT.glob("chinese/**/*.py")])


def module_of(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module):
    """The longest entry of the law that the module lies in."""
    rooms = [room for room in LAW if module == room or module.startswith(room + ".")]
    return max(rooms, key=len, default=None)


def imports_of(path):
    """Modules imported anywhere in a file, those under `if TYPE_CHECKING` left out."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in ast.walk(block)
    }
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide where a thing lives"
            yield node.module


@pytest.mark.parametrize("path", python_files(), ids=module_of)
def test_a_file_imports_only_what_its_room_may(path):
    module = module_of(path)
    if module == "electra_tf":
        assert not list(imports_of(path))
        return
    room = room_of(module)
    assert room, f"{module} lies in no room of the law"
    ours, third_parties = LAW[room]
    for name in imports_of(path):
        top = name.split(".")[0]
        if top in sys.stdlib_module_names:
            continue
        if top in ("electra_tf", "chinese"):
            target = room_of(name)
            own = target == room or name.startswith(room + ".") or target == room.split(".")[0]
            allowed = own or target in ours or (top == "chinese" and "chinese" in ours)
            assert allowed, f"{module} must not import {name}"
        else:
            assert top in third_parties, f"{module} must not import {name}"


def test_imports_of_the_chinese_tower_point_down():
    for path in ROOT.glob("chinese/*.py"):
        floor = CHINESE_FLOORS.index(path.stem) if path.stem in CHINESE_FLOORS else None
        for name in imports_of(path):
            if name.startswith("chinese."):
                assert floor is not None
                assert CHINESE_FLOORS.index(name.split(".")[1]) < floor, f"{path.name} → {name}"


def test_imports_of_the_room_of_tasks_point_down():
    for path in ROOT.glob("chinese/clue/*.py"):
        for name in imports_of(path):
            assert name not in HIDDEN_FROM_CLUE, f"{path.name} → {name}"
            if name.startswith("chinese.clue."):
                target = CLUE_FLOORS.index(name.split(".")[2])
                assert target < CLUE_FLOORS.index(path.stem), f"{path.name} → {name}"


def test_every_file_says_what_it_is_for():
    for path in python_files():
        assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), path


def test_tests_are_no_packages():
    # A tests/chinese/__init__.py would shadow the package it tests.
    assert not list(ROOT.glob("tests/**/__init__.py"))
