"""On running text, from characters to masks: the rates come true, no word is cut or starved.

The same on sentences that stand here and, where ELECTRA_TF_DATA names a folder with them, on
200,000 characters of essays, of laws and of encyclopedia.
"""

from __future__ import annotations

import os
import random
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import tensorflow as tf

from chinese.corpus import encode_documents
from chinese.documents import read_documents
from chinese.examples import build_examples
from chinese.segmentation import make_segmenter
from chinese.tokenizer import Tokenizer
from chinese.vocab import build_vocabulary
from electra_tf.batches import TokenBatch
from electra_tf.data.manifest import VocabularyFacts
from electra_tf.pretrain.masking import mask
from electra_tf.pretrain.reference_draw import num_reference_slots

DATA = os.environ.get("ELECTRA_TF_DATA")
MODES = ["token", "whole_word", "ngram", "span"]
LENGTH = 128
SENTENCES = (
    "市图书馆新馆昨天上午正式向读者开放。",
    "记者从有关部门了解到，今年前三个季度全市粮食总产量比去年同期增长百分之四点六。",
    "他说：“只要大家一起努力，困难总会过去的。”",
    "经过两年多的建设，连接南北两岸的大桥终于通车了！",
    "会议强调，要进一步改善农村地区的医疗卫生条件，让群众看病更方便。",
    "下雪了。",
    "这家工厂生产的自行车远销三十多个国家和地区，去年出口额达到1.2亿美元。",
    "专家认为，保护野生动物离不开当地居民的支持和参与。",
    "孩子们在老师的带领下参观了科学技术博物馆，还亲手做了几个小实验。",
    "比赛进行到第八十分钟，主队前锋一脚远射，皮球应声入网。",
    "气象台预计，未来三天长江中下游有大到暴雨，请注意防范。",
    "你看过那部关于海洋的纪录片吗？",
    "新开通的地铁5号线全长三十二公里，设二十四个车站。",
    "为了写好这篇报道，她先后五次深入山区采访，走访了六十多户人家。",
    "据统计，超过一半的受访者每天使用手机上网的时间不少于三小时。",
    "老人把珍藏了四十年的邮票全部捐给了学校，校长亲自到门口迎接。",
    "公司计划明年在西部建立新的研究中心，主要从事人工智能和新能源汽车的开发。",
    "春天来了，公园里的樱花开得正好，游人络绎不绝。",
    "双方就扩大贸易、加强文化交流等问题交换了意见。",
    "没有人知道那艘船后来去了哪里。",
)


class Text(NamedTuple):
    """Rows of running text, and the vocabulary of their ids."""

    batch: TokenBatch
    facts: VocabularyFacts


def own_documents() -> list[list[str]]:
    rng = random.Random(1)
    return [rng.sample(SENTENCES, rng.randint(3, len(SENTENCES))) for _ in range(60)]


def data_documents() -> list[list[str]]:
    corpus = Path(DATA or ".") / "corpus"
    documents = []
    for name in ("luxun", "laws_prc", "wikipedia_paragraphs"):
        size = 0
        for document in read_documents([corpus / f"{name}.txt"]):
            documents.append(document)
            size += sum(map(len, document))
            if size > 200_000:
                break
    return documents


@pytest.fixture(
    scope="module",
    params=[
        own_documents,
        pytest.param(
            data_documents,
            marks=[
                pytest.mark.real_data,
                pytest.mark.skipif(DATA is None, reason="needs ELECTRA_TF_DATA"),
            ],
        ),
    ],
)
def text(request) -> Text:
    documents = request.param()
    vocabulary = build_vocabulary([line for document in documents for line in document], 8000)
    encoded = encode_documents(documents, Tokenizer(vocabulary), make_segmenter("auto"))
    rng = random.Random(2)
    examples = [e for document in encoded for e in build_examples(document, LENGTH, rng, 2, 3)]
    examples = list(islice(examples, 3000))
    columns = [
        tf.constant([np.pad(column, (0, LENGTH - len(column))) for column in columns], tf.int32)
        for columns in zip(*examples, strict=True)
    ]
    facts = VocabularyFacts(
        file="", size=vocabulary.size, sha256="", unk_id=1, cls_id=2, sep_id=3, mask_id=4
    )
    return Text(TokenBatch(*columns), facts)


def hide_many(text: Text, config, rows: int = 6000) -> tuple[np.ndarray, np.ndarray]:
    """bool [N, L], hidden, and int32 [N, L], units, of the same rows under many masks."""
    times = -(-rows // len(text.batch.input_ids))
    batch = TokenBatch(*[tf.tile(column, [times, 1]) for column in text.batch[:3]])
    masked = mask(batch, config, text.facts, tf.constant([6, 7]), 0)
    np.testing.assert_array_equal(
        masked.labels, np.take_along_axis(batch.input_ids.numpy(), masked.positions.numpy(), 1)
    )
    hidden = np.zeros(batch.input_ids.shape, bool)
    rows_, slots = np.nonzero(masked.weights.numpy())
    hidden[rows_, masked.positions.numpy()[rows_, slots]] = True
    return hidden, batch.unit_ids.numpy()


def firsts_and_lengths(units: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """bool [N, L]: where words begin; int [N, L]: how many tokens the word there has."""
    firsts = (np.diff(units, axis=1, prepend=0) != 0) & (units > 0)
    lengths = np.zeros_like(units)
    for row, (own, first) in enumerate(zip(units, firsts, strict=True)):
        lengths[row, first] = np.bincount(own)[own[first]]
    return firsts, lengths


@pytest.mark.parametrize("mask_rate", [0.15, 0.25])
@pytest.mark.parametrize("mode", MODES)
def test_the_realised_rate_is_within_three_tenths_of_a_point(text, make_masking, mode, mask_rate):
    hidden, units = hide_many(text, make_masking(mode=mode, mask_rate=mask_rate))
    assert not np.any(hidden & (units == 0))
    assert hidden.sum() / (units > 0).sum() == pytest.approx(mask_rate, abs=0.003)


@pytest.mark.parametrize("mode", MODES[1:])
def test_no_half_word_is_hidden(text, make_masking, mode):
    hidden, units = hide_many(text, make_masking(mode=mode), rows=1000)
    inner = (units[:, 1:] == units[:, :-1]) & (units[:, 1:] > 0)
    assert inner.mean() > 0.1, "there are words of several tokens"
    assert np.all(hidden[:, 1:][inner] == hidden[:, :-1][inner])


@pytest.mark.parametrize("mode", MODES)
def test_words_of_every_length_are_hidden_as_often(text, make_masking, mode):
    """By their first token. Words of one row depend on each other, so rows are the sample."""
    hidden, units = hide_many(text, make_masking(mode=mode))
    firsts, lengths = firsts_and_lengths(units)
    n = (units > 0).sum(axis=1, keepdims=True)
    chances = np.array([max(1, round(0.15 * count)) / max(count, 1) for count in range(LENGTH)])[n]
    counted = 0
    for length in range(1, 5):
        of_length = firsts & (lengths == length)
        excess = np.where(of_length, hidden - chances, 0.0).sum(axis=1)
        sigma = np.sqrt((excess**2).sum())
        assert abs(excess.sum()) <= 4.5 * sigma, f"words of {length}"
        assert sigma < 0.004 * of_length.sum(), "too few words to see a starved length"
        counted += of_length.sum()
    assert counted == firsts.sum()


def test_the_reference_mode_hides_13_8_percent_of_full_rows(text, make_masking):
    hidden, units = hide_many(text, make_masking(mode="reference"))
    full = units[:, LENGTH - 2] > 0  # no padding
    assert full.sum() > 1000
    assert hidden[full].mean() == pytest.approx(0.138, abs=0.003)
    assert num_reference_slots(0.15, LENGTH) / LENGTH == pytest.approx(0.148, abs=0.001)
