"""Every task whose files are at hand: counts, features that give their text back, oracles.

Not at hand, and tested with hand-written lines alone: the files of ChID (one record is there), C3's
test 1.1, TNEWS's test files, the diagnostics, LCQMC, BQ, XNLI; and the training files of CMNLI,
CMRC 2018, PAWS-X.
"""

import dataclasses
import unicodedata
from collections import defaultdict

import pytest

from chinese.characters import is_control, is_space
from chinese.clue.examples import SpanPrediction
from chinese.clue.simplified import Simplifier
from chinese.clue.submission import write_predictions, write_zip
from chinese.clue.submission_check import check_submission
from chinese.clue.table import find_task
from chinese.clue.tasks import find_files, find_folder, read_split
from chinese.tokenizer import Tokenizer
from chinese.vocab import build_vocabulary

pytestmark = pytest.mark.real_data

# task → split → (examples, examples with labels), as the SOURCE.md beside the files counts them.
COUNTS = {
    "afqmc": {"train": (34_334, 34_334), "dev": (4_316, 4_316), "test": (3_861, 0)},
    "tnews": {"train": (14_116, 14_116), "dev": (10_000, 10_000)},
    "iflytek": {"train": (5_622, 5_622), "dev": (2_599, 2_599), "test": (2_600, 0)},
    "cmnli": {"dev": (12_241, 12_241), "test": (13_880, 0)},
    "ocnli": {"train": (10_000, 9_985), "dev": (3_000, 2_950), "test": (3_000, 0)},
    "cluewsc": {
        "train": (1_244, 1_244),
        "dev": (304, 304),
        "test": (2_574, 0),
        "test1.0": (290, 0),
    },
    "csl": {"train": (160, 160), "dev": (3_000, 3_000), "test": (3_000, 0)},
    "cmrc2018": {
        "train": (1_002, 1_002),
        "trial": (1_002, 1_002),
        "dev": (3_219, 3_219),
        "test": (2_000, 0),
    },
    "c3": {
        "train": (11_869, 11_869),
        "dev": (3_816, 3_816),
        "test1.0": (3_892, 0),
        "test_labelled": (3_892, 3_892),
    },
    "cluener": {"train": (10_748, 10_748), "dev": (1_343, 1_343), "test": (1_345, 0)},
    "drcd": {"train": (1_960, 1_960), "dev": (3_524, 3_524), "test": (3_493, 3_493)},
    "chnsenticorp": {"train": (9_600, 9_600), "dev": (1_200, 1_200), "test": (1_200, 1_200)},
    "pawsx": {"dev": (2_000, 1_984), "test": (2_000, 1_975)},
}
# FewCLUE: train_0 to 4, train_few_all, dev_0 to 4, dev_few_all, test_public, test.
FEWCLUE = {
    "eprstmt": (32, 160, 32, 160, 610, 753),
    "csldcp": (536, 2036, 536, 2068, 1784, 2999),
    "tnewsf": (240, 1185, 240, 1098, 2010, 1500),
    "iflytekf": (928, 3024, 690, 1373, 1749, 2600),
    "ocnlif": (32, 160, 32, 160, 2520, 3000),
    "bustm": (32, 160, 32, 160, 1772, 2000),
    "chidf": (42, 202, 42, 202, 2002, 2000),
    "cslf": (32, 160, 32, 160, 2838, 3000),
    "cluewscf": (32, 160, 32, 159, 976, 290),
}
# In percent, of a guess that knows no text: on the dev file, trained on itself.
BASELINES = {
    "afqmc": 69.00,
    "tnews": 10.89,
    "iflytek": 14.93,
    "cmnli": 34.94,
    "ocnli": 37.39,
    "cluewsc": 63.49,
    "csl": 50.00,
    "c3": 29.40,
    "chnsenticorp": 50.58,
    "pawsx": 57.01,
    "cluener": 0.00,
}


@pytest.fixture(scope="module")
def read(data_folder):
    """Reads a split once for all tests."""
    known = {}

    def read_once(name, split):
        if (name, split) not in known:
            task = find_task(name)
            known[name, split] = read_split(task, find_folder(task, data_folder), split)
        return known[name, split]

    return read_once


@pytest.fixture(scope="module")
def tokenizer(read):
    """A vocabulary of a few thousand tokens, from texts of the tasks."""
    texts = [text for example in read("cmrc2018", "dev").examples[::3] for text in example.texts]
    texts += [text for example in read("tnews", "dev").examples for text in example.texts]
    return Tokenizer(build_vocabulary(texts, 6_000))


@pytest.mark.parametrize("name", COUNTS)
def test_counts_are_those_of_the_source(name, read, data_folder):
    task = find_task(name)
    folder = find_folder(task, data_folder)
    assert {split for split in task.files if find_files(task, folder, split)} == {*COUNTS[name]}
    for split, (examples, labelled) in COUNTS[name].items():
        found = read(name, split)
        assert (len(found.examples), len(found.labelled())) == (examples, labelled), split


@pytest.mark.parametrize("name", FEWCLUE)
def test_counts_of_fewclue_are_those_of_the_source(name, read, data_folder):
    train, train_all, dev, dev_all, test_public, test = FEWCLUE[name]
    expected = {"train_few_all": train_all, "dev_few_all": dev_all, "test_public": test_public}
    expected |= {f"train_{n}": train for n in range(5)} | {f"dev_{n}": dev for n in range(5)}
    task = find_task(name)
    folder = find_folder(task, data_folder)
    present = [split for split in task.files if find_files(task, folder, split)]
    # csldcp and iflytek are here with their first round alone.
    assert len(present) == (14 if name not in ("csldcp", "iflytekf") else 6)
    for split in present:
        found = read(name, split)
        size = test if split == "test" else expected[split]
        assert len(found.examples) == size, split
        assert len(found.labelled()) == (0 if split == "test" else size), split


def test_notes_tell_what_is_odd(read):
    assert read("ocnli", "dev").notes == ("50 without a label: neither trained on nor scored",)
    assert read("cluewsc", "train").notes == ("897 rows repeat an id",)
    assert read("tnews", "train").notes == ("14,116 examples; the official train has 53,360",)
    assert read("cmrc2018", "dev").notes == (
        "193 of 9,657 answers do not stand in their context: scored, never trained on",
    )
    assert read("drcd", "test").notes == ()


def test_entities_are_as_many_as_the_source_says(read):
    for split, count in (("train", 23_971), ("dev", 3_072)):
        assert sum(len(example.entities) for example in read("cluener", split).examples) == count


ONE_SPLIT = {**dict.fromkeys(COUNTS, "dev"), **dict.fromkeys(FEWCLUE, "test_public")}


def _folded(text):
    """What BERT makes of a few characters, in other words than the tokenizer's."""
    decomposed = unicodedata.normalize("NFD", text.lower())
    return "".join(c for c in decomposed if unicodedata.category(c) != "Mn" and not is_control(c))


def _is_nothing(text):
    return all(is_space(character) or not _folded(character) for character in text)


@pytest.mark.parametrize("name", ONE_SPLIT)
def test_features_give_their_text_back(name, read, tokenizer):
    """Every token is what its characters fold to, and no other characters are left between them."""
    family = find_task(name).family
    settings = find_task(name).settings
    examples = read(name, ONE_SPLIT[name]).examples[:300]
    covered = defaultdict(set)
    loses = set()
    for feature in family.encode(examples, tokenizer, settings):
        if feature.cut.lost:
            loses.add(feature.example)
        for sequence in getattr(feature, "sequences", None) or (feature.sequence,):
            _check_tokens(tokenizer, examples[feature.example], sequence)
            for part, (start, end) in zip(sequence.parts, sequence.spans, strict=True):
                covered[feature.example, int(part)].update(range(start, end))
    for place, example in enumerate(examples):
        for part, text in enumerate(example.texts):
            seen = covered[place, part]
            first, last = (min(seen), max(seen)) if seen and place in loses else (0, len(text))
            left = "".join(text[at] for at in range(first, last) if at not in seen)
            assert _is_nothing(left), (text, left)


def _check_tokens(tokenizer, example, sequence):
    unknown, mask = tokenizer.vocabulary.unk_id, tokenizer.vocabulary.mask_id
    plain = str.maketrans("“”‘’—―", "\"\"''--")
    for token, id_ in enumerate(sequence.input_ids.tolist()):
        quoted = sequence.quote(example, token)
        if sequence.parts[token] < 0:
            assert quoted == ""
        elif id_ == mask:
            assert quoted.startswith("#idiom")
        elif id_ != unknown:
            name = tokenizer.vocabulary.tokens[id_].removeprefix("##")
            assert name in (_folded(quoted), _folded(quoted.translate(plain))), quoted


@pytest.mark.parametrize("name", ONE_SPLIT)
def test_an_oracle_scores_100(name, read):
    """Right predictions, as a board would get them, are told to be right."""
    family = find_task(name).family
    examples = read(name, ONE_SPLIT[name]).examples
    score = family.score(examples, [_gold(example) for example in examples])
    assert score.value == 100.0
    assert set(score.details.values()) <= {100.0}
    assert score.num_scored == len(read(name, ONE_SPLIT[name]).labelled())


def _gold(example):
    if hasattr(example, "entities"):
        return example.entities
    if hasattr(example, "answers"):
        answer = example.answers[0]
        return SpanPrediction(answer.text, answer.start, answer.start + len(answer.text), 0.0)
    return example.label or 0


def _through_features(task, examples, tokenizer, settings, oracle_outputs):
    features = list(task.family.encode(examples, tokenizer, settings))
    outputs = oracle_outputs(task, examples, features)
    predictions = task.family.decode(examples, features, outputs, settings)
    return task.family.score(examples, predictions)


@pytest.mark.parametrize("name", ONE_SPLIT)
def test_an_oracle_scores_100_through_features(name, read, tokenizer, oracle_outputs):
    """What the features teach is what is right, and it is decoded again without a loss."""
    task = find_task(name)
    settings = dataclasses.replace(task.settings, max_answer_length=512)
    if task.family.head in ("span", "tagging"):
        settings = dataclasses.replace(settings, tokens="characters")
    examples = read(name, ONE_SPLIT[name]).labelled()[:1000]
    score = _through_features(task, examples, tokenizer, settings, oracle_outputs)
    assert score.value == 100.0


# In percent, of a head that makes no mistake: answers begin and end with whole WordPieces, and are
# no longer than the baseline's 50 tokens.
CEILINGS = {"cmrc2018": 98.94, "drcd": 99.94, "cluener": 99.88}


@pytest.mark.parametrize("name", CEILINGS)
def test_word_pieces_hardly_lower_what_can_be_reached(name, read, tokenizer, oracle_outputs):
    task = find_task(name)
    examples = read(name, "dev").labelled()
    score = _through_features(task, examples, tokenizer, task.settings, oracle_outputs)
    assert score.value == pytest.approx(CEILINGS[name], abs=0.005)


@pytest.mark.parametrize("name", BASELINES)
def test_majority_baselines_are_known(name, read):
    family = find_task(name).family
    examples = read(name, "dev").examples
    assert family.score(examples, family.baseline(examples, examples)).value == pytest.approx(
        BASELINES[name], abs=0.005
    )


@pytest.mark.parametrize("name", [n for n in COUNTS if find_task(n).submissions])
def test_predictions_of_a_whole_test_file_are_sound(name, read, data_folder, tmp_path):
    task = find_task(name)
    written = []
    for split in task.submissions:
        if split in COUNTS[name]:
            examples = read(name, split).examples
            guess = task.family.baseline([], examples)
            written.append(write_predictions(tmp_path, task, split, examples, guess))
    if not written:
        assert name == "tnews"  # its test files are not at hand
        return
    archive = write_zip(tmp_path / "submit_we_today.zip", written)
    for data in (data_folder, None):
        for checked in check_submission(archive, data):
            assert checked.defects == ()
            assert checked.is_compared == (data is not None)


def test_the_one_record_of_chid_is_read_and_decoded_jointly(data_folder, tokenizer, oracle_outputs):
    task = find_task("chid")
    paths = [data_folder / "chid" / name for name in ("sample.json", "sample_answer.json")]
    examples = task.family.read(paths, has_labels=True)
    assert [example.label for example in examples] == [0, 1, 6, 4, 7, 2, 8]
    assert {example.record for example in examples} == {0}
    assert len({example.passage for example in examples}) == 6
    score = _through_features(task, examples, tokenizer, task.settings, oracle_outputs)
    assert score.value == 100.0


def test_the_test_of_c3_is_the_labelled_one(read):
    """So test 1.0 can be scored at home: by passage and question, as the ids are shuffled."""
    labelled = {
        (e.passage, e.question, e.choices): e.label for e in read("c3", "test_labelled").examples
    }
    assert all(
        (e.passage, e.question, e.choices) in labelled for e in read("c3", "test1.0").examples
    )


def test_the_whole_of_drcd_is_simplified_without_moving_an_answer(read):
    pytest.importorskip("opencc")
    simplifier = Simplifier()
    for example in read("drcd", "dev").examples[::7]:
        converted = simplifier.example(example)
        assert len(converted.context) == len(example.context)
        for answer in converted.answers:
            end = answer.start + len(answer.text)
            assert converted.context[answer.start : end] == answer.text
