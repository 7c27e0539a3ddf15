"""What the tests of the text wing share: folders outside the repository, small vocabularies."""

import os
from pathlib import Path

import hypothesis
import pytest

from chinese.segmentation import Segmenter, make_segmenter
from chinese.vocab import SPECIAL_TOKENS, Vocabulary

# Dictionaries load within the first example, and a red build must be red again when it is rerun.
hypothesis.settings.register_profile("chinese", deadline=None, derandomize=True)
hypothesis.settings.load_profile("chinese")


def _folder(variable: str) -> Path:
    if not os.environ.get(variable):
        pytest.skip(f"needs {variable}")
    return Path(os.environ[variable])


@pytest.fixture(scope="session")
def data_folder() -> Path:
    return _folder("ELECTRA_TF_DATA")


@pytest.fixture(scope="session")
def reference_folder() -> Path:
    return _folder("ELECTRA_TF_REFERENCE")


@pytest.fixture(scope="session")
def jieba_segmenter() -> Segmenter:
    return make_segmenter("jieba")


@pytest.fixture(scope="session")
def rjieba_segmenter() -> Segmenter:
    return make_segmenter("rjieba")


@pytest.fixture(scope="session")
def small_vocabulary() -> Vocabulary:
    pieces = [*"中国人民的。，t恤ab1σ9-！１ー", "un", "##able", "##b", "##c", "##ας", "##9"]
    return Vocabulary((*SPECIAL_TOKENS, *pieces))
