"""Vocabularies made longer and shorter, and where the rows of their ids come from."""

import pytest

from chinese.vocab import SPECIAL_TOKENS, Vocabulary, build_sentencepiece
from chinese.vocab_changes import extend_vocabulary, trim_vocabulary, unreachable_tokens

OLD = Vocabulary(
    (*SPECIAL_TOKENS, "[unused1]", "[unused2]", "中", "国", "##国", "co", "##vid", "##19", "a")
)
#                   5            6           7     8     9      10     11       12      13


def test_new_tokens_take_unused_places_first_and_stand_behind_then():
    change = extend_vocabulary(OLD, ["“", "covid", "ﬁ".lower(), "covida"])
    tokens = change.vocabulary.tokens
    assert tokens[5:7] == ("“", "covid")
    assert tokens[7:14] == OLD.tokens[7:]
    assert tokens[14:] == ("ﬁ", "covida")
    assert change.new_ids == (0, 1, 2, 3, 4, None, None, *range(7, 14))


def test_a_new_row_is_made_of_the_pieces_it_replaces():
    change = extend_vocabulary(OLD, ["covid", "“", "##vid19"])
    assert change.sources[5] == (10, 11)  # co ##vid
    assert change.sources[6] == (1,)  # the curly quote was [UNK]
    assert change.sources[14] == (11, 12)  # ##vid ##19
    assert all(change.sources[index] == (index,) for index in (0, 4, 7, 13))


@pytest.mark.parametrize(
    ("token", "message"),
    [
        ("中", "'中' is in the vocabulary already"),
        ("北京", "'北京' could never be used: .* makes '北', '京' of it"),
        ("##京", "'##京' could never be used: '京' always stands alone"),
        ("##京都", "makes '京', '都' of it"),
        ("Covid", "'Covid' never occurs: text is folded, so add 'covid' instead"),
        ("a b", "makes 'a', 'b' of it"),
        ("[law]", r"makes '\[', '\]', 'law' of it"),
        ("\u200b", "makes nothing of it"),
    ],
)
def test_a_token_that_could_never_be_used_is_refused(token, message):
    with pytest.raises(ValueError, match=message):
        extend_vocabulary(OLD, [token])


def test_what_a_cased_tokenizer_gives_may_be_added():
    assert "Covid" in extend_vocabulary(OLD, ["Covid"], lower_case=False).vocabulary.ids


def test_a_token_named_twice_is_refused():
    with pytest.raises(ValueError, match="'“' is in the vocabulary already, or named twice"):
        extend_vocabulary(OLD, ["“", "“"])


def test_trimmed_tokens_are_gone_and_those_behind_move_up():
    change = trim_vocabulary(OLD, ["##国", "国"])
    assert change.vocabulary.tokens == (*OLD.tokens[:8], *OLD.tokens[10:])
    assert change.new_ids[7:12] == (7, None, None, 8, 9)
    assert change.sources[8:10] == ((10,), (11,))


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        (["京"], "not in the vocabulary: '京'"),
        (["[MASK]"], r"\[MASK\]: a model cannot do without"),
        ([], "no token to take out"),
    ],
)
def test_what_cannot_be_trimmed_is_told(tokens, message):
    with pytest.raises(ValueError, match=message):
        trim_vocabulary(OLD, tokens)


def test_pieces_with_a_han_character_are_unreachable_and_kana_are_not():
    tokens = (*SPECIAL_TOKENS, "国", "##国", "##a国", "##㐀", "##の", "##한", "##a", "##", "##〇")
    assert unreachable_tokens(Vocabulary(tokens)) == ("##国", "##a国", "##㐀")


def test_the_standard_vocabulary_loses_7322_rows():
    """Its shape: 99 unused rows, 7,322 Han characters twice, once alone and once as a piece."""
    han = [chr(0x4E00 + place) for place in range(7322)]
    others = [f"w{place}" for place in range(21128 - 5 - 99 - 2 * 7322)]
    unused = [f"[unused{place}]" for place in range(1, 100)]
    vocabulary = Vocabulary(
        (*SPECIAL_TOKENS, *unused, *han, *others, *(f"##{character}" for character in han))
    )
    assert vocabulary.size == 21128
    assert len(unreachable_tokens(vocabulary)) == 7322
    change = trim_vocabulary(vocabulary, unreachable_tokens(vocabulary))
    assert change.vocabulary.size == 13806
    change = extend_vocabulary(vocabulary, [f"x{place}" for place in range(100)])
    assert change.vocabulary.size == 21129


def test_a_sentencepiece_model_is_refused():
    model = build_sentencepiece(["今天天气很好", "明天天气不好"] * 20, 20)
    with pytest.raises(ValueError, match="SentencePiece"):
        extend_vocabulary(model, ["“"])
    with pytest.raises(ValueError, match="SentencePiece"):
        trim_vocabulary(model, ["天"])
