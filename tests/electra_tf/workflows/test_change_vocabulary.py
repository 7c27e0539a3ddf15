"""A model over another vocabulary: what it says of untouched ids stays the same to the last bit."""

from __future__ import annotations

import json

import numpy as np
import pytest
import tensorflow as tf

from chinese.vocab import SPECIAL_TOKENS, load_vocabulary
from electra_tf.encoder_folder import read_encoder_folder, write_encoder_folder
from electra_tf.network.pretrained import build_discriminator, build_generator
from electra_tf.workflows.change_vocabulary import extend_model, read_tokens, trim_model
from electra_tf.workflows.convert import convert

TOKENS = (
    *SPECIAL_TOKENS,
    *("[unused1]", "[unused2]"),
    *"今天气很好不坏，。",
    *("##今", "##天", "un", "##able", "##s"),
)


@pytest.fixture
def model(make_pair, tmp_path):
    """(path, pair) of both networks of one model."""
    pair = make_pair(tokens=TOKENS)
    write_encoder_folder(tmp_path / "model" / "encoder", pair["discriminator"])
    write_encoder_folder(tmp_path / "model" / "generator", pair["generator"])
    return tmp_path / "model", pair


def read_pair(path):
    return {
        "discriminator": read_encoder_folder(path / "encoder"),
        "generator": read_encoder_folder(path / "generator"),
    }


def numbers(pair, ids):
    """Every hidden state and both logits."""
    judge = build_discriminator(pair["discriminator"].config, pair["discriminator"].weights)
    guesser = build_generator(pair["generator"].config, pair["generator"].weights)
    ids = tf.constant(ids, tf.int32)
    segments = tf.zeros_like(ids)
    states = judge.encoder.hidden_states(ids, segments)
    guesses = guesser.head(guesser.encoder(ids, segments)).numpy()
    return np.stack(states), judge.head(states[-1]).numpy(), guesses


def assert_untouched_ids_give_the_same_bits(old, new, new_ids):
    """`new_ids`: for every old id the new one, None where it is gone."""
    kept = np.array([i for i, now in enumerate(new_ids) if now is not None])
    now = np.array([new_ids[i] for i in kept])
    ids = np.random.default_rng(0).choice(kept[1:], (3, 8))
    ids[1, 5:] = ids[2, 2:] = 0
    lookup = np.array([-1 if i is None else i for i in new_ids])
    hidden, logits, guesses = numbers(old, ids)
    new_hidden, new_logits, new_guesses = numbers(new, lookup[ids])
    assert hidden.tobytes() == new_hidden.tobytes()
    assert logits.tobytes() == new_logits.tobytes()
    assert guesses[..., kept].tobytes() == new_guesses[..., now].tobytes()


def test_extending_touches_no_other_id(model, tmp_path):
    path, pair = model
    done = extend_model(path, ["“", "”", "unable", "##ables"], tmp_path / "new")
    assert done[1:] == (("discriminator", "generator"), len(TOKENS), len(TOKENS) + 2, 2, 2, 0)
    new = read_pair(tmp_path / "new")
    facts = json.loads((tmp_path / "new" / "vocabulary_ids.json").read_text())
    assert_untouched_ids_give_the_same_bits(pair, new, facts["new_id_of_old_id"])
    assert facts["removed_tokens"] == ["[unused1]", "[unused2]"]
    assert facts["new_tokens"]["unable"] == {"id": len(TOKENS), "mean_of": ["un", "##able"]}
    for kind, folder in new.items():
        old = pair[kind].weights["embeddings/word_embeddings"].astype(np.float64)
        table = folder.weights["embeddings/word_embeddings"]
        un, able, s = (TOKENS.index(token) for token in ("un", "##able", "##s"))
        mean = ((old[un] + old[able]) / 2).astype(np.float32)
        np.testing.assert_array_equal(table[len(TOKENS)], mean)
        mean = ((old[able] + old[s]) / 2).astype(np.float32)
        np.testing.assert_array_equal(table[len(TOKENS) + 1], mean)
        np.testing.assert_array_equal(table[5], pair[kind].weights["embeddings/word_embeddings"][1])
    biases = new["generator"].weights["masked_lm_head/output_bias"]
    old = pair["generator"].weights["masked_lm_head/output_bias"]
    np.testing.assert_allclose(biases[len(TOKENS)], (old[un] + old[able]) / 2, rtol=1e-6)


def test_trimming_touches_no_other_id(model, tmp_path):
    path, pair = model
    done = trim_model(path, None, tmp_path / "new")
    assert (done.old_size, done.new_size, done.removed) == (len(TOKENS), len(TOKENS) - 2, 2)
    new = read_pair(tmp_path / "new")
    facts = json.loads((tmp_path / "new" / "vocabulary_ids.json").read_text())
    assert facts["removed_tokens"] == ["##今", "##天"]
    assert_untouched_ids_give_the_same_bits(pair, new, facts["new_id_of_old_id"])


def test_vocabulary_config_hash_and_provenance_follow(model, tmp_path):
    path, _ = model
    trim_model(path, ["坏"], tmp_path / "new")
    for name in ("encoder", "generator"):
        folder = read_encoder_folder(tmp_path / "new" / name)
        vocabulary = load_vocabulary(tmp_path / "new" / name / "vocab.txt")
        assert "坏" not in vocabulary.ids
        assert folder.config.vocab_size == vocabulary.size == len(TOKENS) - 1
        assert folder.tokenizer_settings["vocabulary_sha256"] == vocabulary.sha256
        assert folder.provenance["made_by"] == "electra-tf vocab trim"
        assert folder.provenance["source"] == str(path)


def test_one_network_of_any_format_is_changed_into_an_encoder_folder(model, tmp_path):
    path, _ = model
    convert(path, "hf", tmp_path / "hf", "generator")
    trim_model(tmp_path / "hf", None, tmp_path / "new")
    assert read_encoder_folder(tmp_path / "new").config.vocab_size == len(TOKENS) - 2
    assert (tmp_path / "new" / "vocabulary_ids.json").is_file()
    with pytest.raises(ValueError, match="has no ## piece with a Han character"):
        trim_model(tmp_path / "new", None, tmp_path / "again")


def test_an_existing_folder_is_replaced_only_when_asked(model, tmp_path):
    path, _ = model
    extend_model(path, ["“"], tmp_path / "new")
    with pytest.raises(ValueError, match="exists already; give another folder, or --force"):
        extend_model(path, ["”"], tmp_path / "new")
    extend_model(path, ["”"], tmp_path / "new", overwrite=True)
    assert "”" in read_pair(tmp_path / "new")["generator"].vocabulary.decode()
    with pytest.raises(ValueError, match="could never be used"):
        extend_model(path, ["北京"], tmp_path / "new", overwrite=True)
    assert "”" in read_pair(tmp_path / "new")["generator"].vocabulary.decode()


def test_tokens_are_read_one_a_line(tmp_path):
    (tmp_path / "t.txt").write_text("“\r\n\n  ” \ncovid\u2028\n", encoding="utf-8")
    assert read_tokens(tmp_path / "t.txt") == ["“", "”", "covid\u2028"]
