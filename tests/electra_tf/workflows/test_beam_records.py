"""A cluster gives the examples that one machine gives."""

from pathlib import Path

import pytest

pytest.importorskip("apache_beam", reason="needs the extra `beam`")

from electra_tf.config import RecordsConfig, load_config
from electra_tf.data.manifest import check_shards, read_manifest
from electra_tf.data.records import read_records
from electra_tf.workflows.beam_records import build_records_on
from electra_tf.workflows.records import build_records
from electra_tf.workflows.verify_records import verify_records

ROOT = Path(__file__).resolve().parents[3]
CONFIG = load_config(
    RecordsConfig,
    ROOT / "configs/corpus/default.yaml",
    ["max_length=32", "examples_per_shard=300", "held_out_rate=0.1"],
)


def silent(*_):
    pass


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("语 料")
    for name in "abc":
        texts = [f"第{n}段。中国人民银行宣布。\n我在{name}喝COVID-19咖啡！" for n in range(300)]
        text = "\n\n".join(texts)
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    (folder / "d.txt").write_text(text, encoding="utf-8")
    return folder


def examples(folder, split):
    return sorted(r for shard in split.shards for r in read_records(folder / shard.file))


def test_the_local_runner_gives_the_examples_of_the_local_builder(corpus, tmp_path):
    local = build_records(CONFIG, [str(corpus)], tmp_path / "local", silent)
    vocab = tmp_path / "local" / "vocab.txt"
    manifest = build_records_on("direct", [], CONFIG, [str(corpus)], tmp_path / "beam", vocab)
    assert manifest == read_manifest(tmp_path / "beam")
    for ours, theirs in ((manifest.train, local.train), (manifest.held_out, local.held_out)):
        check_shards(tmp_path / "beam", ours)
        assert examples(tmp_path / "beam", ours) == examples(tmp_path / "local", theirs)
        assert (ours.documents, ours.tokens) == (theirs.documents, theirs.tokens)
    assert len(manifest.train.shards) > 1
    assert manifest.statistics == local.statistics
    assert manifest.statistics.duplicates == 300
    assert manifest.unigram_entropy_nats == pytest.approx(local.unigram_entropy_nats)
    assert (tmp_path / "beam" / "report.html").is_file()

    again = build_records_on("direct", [], CONFIG, [str(corpus)], tmp_path / "again", vocab)
    assert again == manifest

    (corpus / "e.txt").write_bytes(b"\xff")
    with pytest.raises(Exception, match=r"e\.txt:1: not UTF-8"):
        build_records_on("direct", [], CONFIG, [str(corpus)], tmp_path / "bad", vocab)
    assert not (tmp_path / "bad").exists()


def test_packed_sequences_are_those_of_the_local_builder(corpus, tmp_path):
    (corpus / "e.txt").unlink(missing_ok=True)
    config = CONFIG.model_copy(update={"packed": True})
    local = build_records(config, [str(corpus)], tmp_path / "local", silent)
    vocab = tmp_path / "local" / "vocab.txt"
    manifest = build_records_on("direct", [], config, [str(corpus)], tmp_path / "beam", vocab)
    assert not verify_records(tmp_path / "beam", silent).defects
    for ours, theirs in ((manifest.train, local.train), (manifest.held_out, local.held_out)):
        assert ours.sequences == theirs.sequences > ours.examples
        assert (ours.documents, ours.tokens) == (theirs.documents, theirs.tokens)
    ours, theirs = manifest.statistics, local.statistics
    assert ours.padding_rate < ours.unpacked_padding_rate == theirs.unpacked_padding_rate


def test_weights_are_for_one_machine(corpus, tmp_path):
    with pytest.raises(ValueError, match="mixed by weight on one machine only"):
        build_records_on("direct", [], CONFIG, [f"{corpus}:1"], tmp_path / "out", "none.txt")
