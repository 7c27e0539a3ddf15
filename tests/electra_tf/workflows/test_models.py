"""Any model people have becomes encoder folders, with its vocabulary, or an error that helps."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from chinese.vocab import load_vocabulary
from electra_tf.encoder_folder import write_encoder_folder
from electra_tf.exchange.huggingface import write_hugging_face
from electra_tf.workflows.models import read_any, read_networks

GOLDEN = Path(__file__).parents[2] / "golden" / "exchange"


@pytest.fixture
def write_hf(tmp_path):
    def write(name, folder):
        (tmp_path / name).mkdir(parents=True)
        write_hugging_face(tmp_path / name, folder)
        return tmp_path / name

    return write


def test_one_folder_is_what_it_holds(make_pair, write_hf, assert_same_network):
    pair = make_pair()
    networks = read_networks(write_hf("g", pair["generator"]))
    assert list(networks) == ["generator"]
    assert_same_network(networks["generator"].folder, pair["generator"])
    account = networks["generator"].account
    assert account.what == "Hugging Face folder, ELECTRA"
    assert account.converted == len(pair["generator"].weights)
    assert [file.name for file in account.files] == ["config.json", "model.safetensors"]


def test_read_any_gives_the_network_that_is_asked_for(make_pair, tmp_path, assert_same_network):
    for kind, folder in make_pair().items():
        write_encoder_folder(tmp_path / kind, folder)
        assert_same_network(read_any(tmp_path / kind, kind), folder)
        assert_same_network(read_any(tmp_path, kind), folder)


@pytest.mark.parametrize("layout", ["two folders in one", "two folders apart"])
def test_a_pair_shares_its_embeddings(make_pair, write_hf, tmp_path, layout, assert_same_network):
    pair = make_pair()
    if layout == "two folders in one":
        for kind, folder in pair.items():
            write_hf(f"both/{kind}", folder)
        networks = read_networks(tmp_path / "both")
    else:
        places = [write_hf(f"{kind}s/any", folder) for kind, folder in pair.items()]
        networks = read_networks(places[1], other=places[0])
    assert list(networks) == ["discriminator", "generator"]
    for kind, folder in pair.items():
        assert_same_network(networks[kind].folder, folder)
    tables = [networks[k].folder.weights["embeddings/word_embeddings"] for k in networks]
    assert tables[0] is tables[1]


def test_networks_that_were_trained_apart_are_no_pair(make_pair, write_hf):
    pair = make_pair()
    generator = pair["generator"]
    name = "embeddings/layer_norm/beta"
    changed = generator.weights | {name: generator.weights[name] + np.float32(1e-6)}
    first = write_hf("d", pair["discriminator"])
    second = write_hf("g", replace(generator, weights=changed))
    with pytest.raises(ValueError, match=f"do not share their embeddings \\({name} differ"):
        read_networks(first, other=second)
    assert list(read_networks(first, "discriminator", second)) == ["discriminator"]


def test_networks_of_different_vocabularies_are_no_pair(make_pair, write_hf):
    pair = make_pair()
    other = pair["generator"].vocabulary.replace("今".encode(), "昔".encode())
    first = write_hf("d", pair["discriminator"])
    second = write_hf("g", replace(pair["generator"], vocabulary=other))
    with pytest.raises(ValueError, match="different vocabularies"):
        read_networks(first, other=second)


def test_several_models_of_one_kind_have_to_be_named(make_pair, write_hf, tmp_path):
    for name in ("small", "base"):
        write_hf(f"all/{name}", make_pair()["discriminator"])
    with pytest.raises(ValueError, match=r"holds several discriminators \(base, small\)"):
        read_networks(tmp_path / "all")


@pytest.mark.parametrize(
    ("component", "message"),
    [
        ("generator", "holds a discriminator, no generator; a discriminator cannot fill masks"),
        ("both", "no generator; give the generator with --pair, or ask for --component discrim"),
    ],
)
@pytest.mark.parametrize("form", ["hf", "encoder"])
def test_what_is_not_there_is_refused(make_pair, write_hf, tmp_path, component, message, form):
    folder = make_pair()["discriminator"]
    place = write_hf("d", folder) if form == "hf" else tmp_path / "e"
    if form == "encoder":
        write_encoder_folder(place, folder)
    with pytest.raises(ValueError, match=message):
        read_networks(place, component)


def test_a_bert_is_asked_what_it_shall_start():
    with pytest.raises(ValueError, match="a BERT can start either network; say which"):
        read_networks(GOLDEN / "bert")
    networks = read_networks(GOLDEN / "bert", "both")
    assert list(networks) == ["discriminator", "generator"]
    missing = networks["discriminator"].account.missing
    assert list(missing) == ["the source has no such head; made anew, to be trained"]
    copied = networks["generator"].account.ignored["equal to an array that is converted"]
    assert copied == ("cls.predictions.decoder.bias", "cls.predictions.decoder.weight")


# --- vocabulary ------------------------------------------------------------------------------


@pytest.fixture
def golden(tmp_path):
    return Path(shutil.copytree(GOLDEN / "discriminator", tmp_path / "golden"))


def test_a_vocabulary_in_tokenizer_json_alone_is_read(golden):
    """As transformers 5 saves it."""
    folder = read_any(golden, "discriminator")
    tokens = folder.vocabulary.decode().split("\n")
    assert tokens[:6] == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "中"]
    assert len(tokens) - 1 == folder.config.vocab_size == 17
    assert folder.tokenizer_settings["lower_case"] is True
    assert folder.tokenizer_settings["strip_accents"] is True


def test_a_vocab_txt_is_cleaned_and_what_was_tolerated_is_told(golden):
    content = read_any(golden, "discriminator").vocabulary
    (golden / "vocab.txt").write_bytes(content.replace(b"\n", b"\r\n"))
    network = read_networks(golden)["discriminator"]
    assert network.folder.vocabulary == content
    assert any("CRLF line ends read as LF" in note for note in network.account.notes)


@pytest.mark.parametrize(
    ("settings", "lower_case", "strip_accents"),
    [
        ({"do_lower_case": True, "strip_accents": None}, True, True),
        ({"do_lower_case": True, "strip_accents": False}, True, False),
        ({"do_lower_case": False, "strip_accents": None}, False, False),
    ],
)
def test_folding_is_that_of_the_tokenizer(golden, settings, lower_case, strip_accents):
    (golden / "tokenizer_config.json").write_text(json.dumps(settings))
    found = read_any(golden, "discriminator").tokenizer_settings
    assert found["lower_case"] is lower_case
    assert found["strip_accents"] is strip_accents
    vocabulary = golden / "vocab.txt"
    vocabulary.write_bytes(read_any(golden, "discriminator").vocabulary)
    assert found["vocabulary_sha256"] == load_vocabulary(vocabulary).sha256


def test_a_tokenizer_that_joins_han_characters_is_refused(golden):
    (golden / "tokenizer_config.json").write_text('{"tokenize_chinese_chars": false}')
    with pytest.raises(ValueError, match="leaves Han characters joined"):
        read_any(golden, "discriminator")


def test_added_tokens_take_their_places(golden):
    content = read_any(golden, "discriminator").vocabulary
    lines = content.split(b"\n")
    (golden / "vocab.txt").write_bytes(b"\n".join(lines[:15]) + b"\n")
    added = {token.decode(): place for place, token in enumerate(lines[15:-1], start=15)}
    (golden / "added_tokens.json").write_text(json.dumps(added))
    assert read_any(golden, "discriminator").vocabulary == content


def test_a_vocabulary_of_another_size_is_refused(golden, tmp_path):
    wrong = tmp_path / "wrong.txt"
    wrong.write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n中\n")
    with pytest.raises(ValueError, match=r"wrong\.txt: 6 tokens, but the word table .* has 17 row"):
        read_any(golden, "discriminator", wrong)


def test_a_missing_vocabulary_is_asked_for(golden):
    (golden / "tokenizer.json").unlink()
    with pytest.raises(ValueError, match=r"holds no vocab\.txt; give the one .* \(--vocab\)"):
        read_any(golden, "discriminator")


def test_an_encoder_folder_keeps_its_own_vocabulary(make_pair, tmp_path):
    write_encoder_folder(tmp_path / "e", make_pair()["discriminator"])
    with pytest.raises(ValueError, match="has its own vocabulary; leave out --vocab"):
        read_any(tmp_path / "e", "discriminator", "vocab.txt")
