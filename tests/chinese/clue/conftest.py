"""What the tests of the tasks share: a tokenizer without TensorFlow, oracles, files."""

import json
import re

import numpy as np
import pytest

from chinese.clue.encoding import Tokens
from chinese.clue.features import SpanCandidates
from chinese.vocab import SPECIAL_TOKENS, Vocabulary


class ToyTokenizer:
    """Words of ASCII letters and digits are one token, everything else is one a character."""

    def __init__(self, tokens: str) -> None:
        self.vocabulary = Vocabulary((*SPECIAL_TOKENS, *dict.fromkeys(tokens.split())))

    def encode(self, texts):
        ids, unknown = self.vocabulary.ids, self.vocabulary.unk_id
        lines = []
        for text in texts:
            found = list(re.finditer(r"[a-z0-9]+|\S", text.lower()))
            lines.append(
                Tokens(
                    np.array([ids.get(m.group(), unknown) for m in found], dtype=np.int32),
                    np.array([m.span() for m in found], dtype=np.int32).reshape(-1, 2),
                )
            )
        return lines


@pytest.fixture(scope="session")
def toy_tokenizer():
    return ToyTokenizer(
        "一 二 三 四 五 六 七 八 九 十 甲 乙 丙 丁 是 不 。 ， ？ [ ] _ ' \" ab 1998"
    )


@pytest.fixture
def write(tmp_path):
    """Writes a file: text as it is, objects as JSON lines, anything else as one JSON value."""

    def write_file(name, content):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, list) and content and isinstance(content[0], dict):
            content = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in content)
        elif not isinstance(content, str):
            content = json.dumps(content, ensure_ascii=False, indent=1)
        path.write_bytes(content.encode("utf-8"))
        return path

    return write_file


def _outputs(task, examples, features):
    """What a head would give that knows the labels: what it can say of each feature."""
    if task.family.head == "span":
        return [
            SpanCandidates(
                np.array([feature.start]), np.array([feature.end]), np.array([float(feature.end)])
            )
            for feature in features
        ]
    if task.family.head == "tagging":
        return [np.maximum(feature.tags, 0) for feature in features]
    sizes = {
        "classification": lambda feature: len(task.labels),
        "choice": lambda feature: len(feature.sequences),
    }
    return np.stack(
        [np.eye(sizes[task.family.head](f), dtype=np.float32)[max(f.label, 0)] for f in features]
    )


@pytest.fixture(scope="session")
def oracle_outputs():
    return _outputs
