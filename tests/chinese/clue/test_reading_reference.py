"""Windows, taught positions and chosen answers against google-research/electra's SQuAD code.

Six self-written questions, 17 windows; their characters stand between blanks, since the reference
counts in words between blanks. Its maximum of context, its rules for candidates and its texts are
therefore those of characters here.
"""

import json

import numpy as np
import pytest

from chinese.clue.encoding import TextSettings
from chinese.clue.features import SpanCandidates
from chinese.clue.reading import Reading
from chinese.tokenizer import Tokenizer
from chinese.vocab import Vocabulary

pytestmark = pytest.mark.reference

SETTINGS = TextSettings(32, stride=8, max_query_length=8, max_answer_length=6)
FAMILY = Reading()


@pytest.fixture(scope="module")
def folder(reference_folder):
    return reference_folder / "e_question_answering"


@pytest.fixture(scope="module")
def known(folder):
    return json.loads((folder / "qa.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def arrays(folder):
    return np.load(folder / "qa.npz", allow_pickle=False)


@pytest.fixture(scope="module")
def encoded(known, tmp_path_factory):
    path = tmp_path_factory.mktemp("squad") / "dev.json"
    path.write_text(json.dumps(known["squad_json"]), encoding="utf-8")
    examples = FAMILY.read([path], has_labels=True)
    tokenizer = Tokenizer(Vocabulary(tuple(known["vocab"])))
    return examples, list(FAMILY.encode(examples, tokenizer, SETTINGS))


def test_windows_are_those_of_the_reference(encoded, known, arrays):
    _, features = encoded
    assert len(features) == known["n_windows"]
    for row, (feature, window) in enumerate(zip(features, known["windows"], strict=True)):
        size = len(window["tokens"])
        assert 1000 * feature.example + feature.window == window["eid"]
        assert (
            feature.sequence.input_ids.tolist() == arrays["in|eval|input_ids"][row, :size].tolist()
        )
        assert (
            feature.sequence.segment_ids.tolist()
            == arrays["in|eval|segment_ids"][row, :size].tolist()
        )
        assert np.flatnonzero(feature.is_max_context).tolist() == window["is_max_context"]
        context = [int(place) for place in window["token_to_word"]]
        assert np.flatnonzero(feature.is_context).tolist() == context


def test_taught_positions_are_those_of_the_reference(encoded, arrays):
    _, features = encoded
    order = np.argsort(arrays["in|train|squad_eid"])
    assert arrays["in|train|squad_eid"][order].tolist() == [
        1000 * feature.example + feature.window for feature in features
    ]
    for name, ours in (("start", [f.start for f in features]), ("end", [f.end for f in features])):
        assert arrays[f"in|train|squad_{name}_positions"][order].tolist() == ours


def _joint(arrays, case, row):
    """Beam times beam: an end for every start."""
    starts = arrays[f"{case}|start_top_index"][row]
    ends = arrays[f"{case}|end_top_index"][row]
    scores = arrays[f"{case}|start_top_log_probs"][row][:, None]
    scores = scores + arrays[f"{case}|end_top_log_probs"][row]
    return np.repeat(starts, ends.shape[1]), ends.reshape(-1), scores.reshape(-1)


def _independent(arrays, case, row, best=5):
    """The best starts with the best ends."""
    start_logits, end_logits = (arrays[f"{case}|{name}_logits"][row] for name in ("start", "end"))
    starts, ends = np.argsort(-start_logits)[:best], np.argsort(-end_logits)[:best]
    scores = start_logits[starts][:, None] + end_logits[ends]
    return np.repeat(starts, best), np.tile(ends, best), scores.reshape(-1)


@pytest.mark.parametrize(
    ("case", "candidates"),
    [("joint", _joint), ("answerable_without_start", _joint), ("independent", _independent)],
)
def test_answers_are_those_of_the_reference(case, candidates, encoded, known, arrays):
    examples, features = encoded
    rows = {eid: row for row, eid in enumerate(arrays[f"{case}|eid"].tolist())}
    outputs = [
        SpanCandidates(*candidates(arrays, case, rows[1000 * f.example + f.window]))
        for f in features
    ]
    found = FAMILY.decode(examples, features, outputs, SETTINGS)
    ours = {example.id: answer.text for example, answer in zip(examples, found, strict=True)}
    assert ours == known["cases"][case]["predictions"]


def test_a_question_without_an_answer_is_told_by_its_surest_window(encoded, known, arrays):
    examples, features = encoded
    rows = {eid: row for row, eid in enumerate(arrays["joint|eid"].tolist())}
    outputs = []
    for feature in features:
        row = rows[1000 * feature.example + feature.window]
        logit = float(arrays["joint|answerable_logit"][row])
        outputs.append(SpanCandidates(*_joint(arrays, "joint", row), logit))
    odds = known["cases"]["joint"]["null_odds"]
    # Between the third and the fourth question of the six, in order of their odds.
    threshold = sum(sorted(odds.values())[2:4]) / 2
    found = Reading(null_threshold=threshold).decode(examples, features, outputs, SETTINGS)
    silent = {e.id for e, answer in zip(examples, found, strict=True) if not answer.text}
    assert silent == {id_ for id_, value in odds.items() if value > threshold}
    assert len(silent) == 3
