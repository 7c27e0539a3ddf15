"""Our networks and those of transformers give the same numbers, in both directions.

Random weights in the shapes of all sizes, with fewer layers; padded batches. Golden folders prove
the same where torch is absent, in `test_huggingface.py`.
"""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from chinese.vocab import parse_vocabulary
from electra_tf.encoder_folder import read_encoder_folder, write_encoder_folder
from electra_tf.network.pretrained import build_discriminator, build_generator
from electra_tf.workflows.convert import convert
from electra_tf.workflows.models import read_networks

torch = pytest.importorskip("torch", reason="needs the extra `oracle`")
transformers = pytest.importorskip("transformers", reason="needs the extra `oracle`")
pytestmark = pytest.mark.oracle

SHAPES = {
    # embedding, (hidden, heads, feed-forward) of the discriminator and of the generator.
    "small": (128, (256, 4, 1024), (64, 1, 256)),
    "small-ex": (256, (256, 4, 1024), (64, 1, 256)),
    "base": (768, (768, 12, 3072), (192, 3, 768)),
    "large": (1024, (1024, 16, 4096), (256, 4, 1024)),
}
KINDS = ("discriminator", "generator")
VOCAB_SIZE, LENGTH = 21128, 24


@pytest.fixture(params=SHAPES)
def shape(request):
    return request.param


@pytest.fixture(scope="module")
def batch():
    """Rows of 24, 17 and 3 tokens, the last two padded."""
    chance = np.random.default_rng(1)
    ids = chance.integers(5, VOCAB_SIZE, (3, LENGTH))
    segments = np.repeat([[0] * 10 + [1] * 14], 3, axis=0)
    for row, size in enumerate((24, 17, 3)):
        ids[row, size:] = segments[row, size:] = 0
    return ids.astype(np.int32), segments.astype(np.int32)


@pytest.fixture(scope="module")
def tokens():
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    return special + [chr(0x4E00 + place) for place in range(VOCAB_SIZE - 5)]


def build_theirs(shape, kind):
    embedding_size, *sizes = SHAPES[shape]
    hidden_size, heads, inner = sizes[KINDS.index(kind)]
    config = transformers.ElectraConfig(
        vocab_size=VOCAB_SIZE,
        embedding_size=embedding_size,
        hidden_size=hidden_size,
        num_hidden_layers=2,
        num_attention_heads=heads,
        intermediate_size=inner,
        max_position_embeddings=512,
    )
    torch.manual_seed(0)
    kinds = (transformers.ElectraForPreTraining, transformers.ElectraForMaskedLM)
    model = kinds[KINDS.index(kind)](config).eval()
    with torch.no_grad():
        for name, value in model.named_parameters():
            value.normal_(0.0, 0.05)
            if "LayerNorm.weight" in name:
                value += 1.0
    return model


def numbers_of_theirs(model, batch):
    """Hidden states [layers + 1, B, L, H] and logits."""
    ids, segments = (torch.tensor(array, dtype=torch.long) for array in batch)
    with torch.no_grad():
        result = model(
            input_ids=ids,
            token_type_ids=segments,
            attention_mask=(ids != 0).long(),
            output_hidden_states=True,
        )
    return np.stack([state.numpy() for state in result.hidden_states]), result.logits.numpy()


def numbers_of_ours(folder, batch):
    build = build_discriminator if folder.kind == "discriminator" else build_generator
    network = build(folder.config, folder.weights)
    states = network.encoder.hidden_states(*map(tf.constant, batch))
    return np.stack(states), network.head(states[-1]).numpy()


def assert_equal_where_real(ours, theirs, batch):
    real = batch[0] != 0
    (hidden, logits), (their_hidden, their_logits) = ours, theirs
    np.testing.assert_allclose(hidden[:, real], their_hidden[:, real], rtol=0, atol=1e-5)
    np.testing.assert_allclose(logits[real], their_logits[real], rtol=0, atol=1e-5)
    assert np.abs(logits[real]).std() > 0.1


def save_tokenizer(tokens, path):
    transformers.BertTokenizer(vocab={t: i for i, t in enumerate(tokens)}).save_pretrained(path)


@pytest.mark.parametrize("kind", KINDS)
def test_their_weights_give_their_numbers_here(tmp_path, shape, kind, batch, tokens):
    model = build_theirs(shape, kind)
    model.save_pretrained(tmp_path)
    save_tokenizer(tokens, tmp_path)
    network = read_networks(tmp_path)[kind]
    assert network.account.notes == ()
    ours = numbers_of_ours(network.folder, batch)
    assert_equal_where_real(ours, numbers_of_theirs(model, batch), batch)


@pytest.mark.parametrize("kind", KINDS)
def test_our_weights_give_our_numbers_there(tmp_path, make_pair, shape, kind, batch, tokens):
    embedding_size, *sizes = SHAPES[shape]
    folder = make_pair(
        tokens=tokens,
        embedding_size=embedding_size,
        widths=[size[0] for size in sizes],
        heads=[size[1] for size in sizes],
        positions=512,
        scale=0.05,
    )[kind]
    write_encoder_folder(tmp_path / "ours", folder)
    convert(tmp_path / "ours", "hf", tmp_path / "hf")
    auto = (transformers.AutoModelForPreTraining, transformers.AutoModelForMaskedLM)
    model, loading = auto[KINDS.index(kind)].from_pretrained(
        tmp_path / "hf", output_loading_info=True
    )
    assert not any(loading.values()), loading
    theirs = numbers_of_theirs(model.eval(), batch)
    assert_equal_where_real(numbers_of_ours(folder, batch), theirs, batch)


@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "before 1.6"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_what_torch_saves_today_is_read(tmp_path, zipped, dtype, batch, tokens):
    model = build_theirs("small", "generator").to(getattr(torch, dtype))
    state = model.state_dict()
    torch.save(state, tmp_path / "pytorch_model.bin", _use_new_zipfile_serialization=zipped)
    model.config.save_pretrained(tmp_path)
    save_tokenizer(tokens, tmp_path)
    ours = numbers_of_ours(read_networks(tmp_path)["generator"].folder, batch)
    assert_equal_where_real(ours, numbers_of_theirs(model.float(), batch), batch)


def test_hugging_face_to_tensorflow_1_and_back_loads_there(tmp_path, batch, tokens):
    model = build_theirs("small", "discriminator")
    model.save_pretrained(tmp_path / "theirs")
    save_tokenizer(tokens, tmp_path / "theirs")
    convert(tmp_path / "theirs", "tf1", tmp_path / "tf1")
    convert(tmp_path / "tf1", "hf", tmp_path / "back")
    again = transformers.AutoModelForPreTraining.from_pretrained(tmp_path / "back")
    for name, value in model.state_dict().items():
        assert torch.equal(value, again.state_dict()[name]), name


TEXTS = (
    "今天天气很好，不坏。",
    "Unable to ＡＢＣ １２３ é ﬁ",
    "“引号”——省略……\u3000全角",
    "混排abc123中文\ttab",
)


@pytest.mark.parametrize("lower_case", [True, False])
def test_the_tokenizer_of_a_written_folder_gives_our_ids(tmp_path, make_pair, lower_case):
    from dataclasses import replace

    from chinese.tokenizer import Tokenizer

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    letters = sorted({*"".join(TEXTS), *"".join(TEXTS).lower(), "e"} - set(" \t\u3000"))
    tokens = [*special, *letters, *(f"##{letter}" for letter in letters)]
    folder = make_pair(tokens=tokens)["discriminator"]
    settings = {"lower_case": lower_case, "strip_accents": lower_case}
    write_encoder_folder(tmp_path / "e", replace(folder, tokenizer_settings=settings))
    convert(tmp_path / "e", "hf", tmp_path / "hf")
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "hf")
    ours = Tokenizer(parse_vocabulary(folder.vocabulary, "vocab.txt"), lower_case, lower_case)
    for text in TEXTS:
        found = theirs(text, text[:3])
        a, b = (ours.encode_flat(t).ids.tolist() for t in (text, text[:3]))
        assert found["input_ids"] == [2, *a, 3, *b, 3]
        assert found["token_type_ids"] == [0] * (len(a) + 2) + [1] * (len(b) + 1)
    assert theirs.model_max_length == 16
    assert read_encoder_folder(tmp_path / "e").tokenizer_settings == settings
