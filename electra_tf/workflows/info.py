"""What a path is: a run, records, a vocabulary, a model in any format. No TensorFlow for most."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from chinese.vocab import load_vocabulary
from electra_tf.data.manifest import MANIFEST, Split, read_manifest
from electra_tf.exchange.recognise import NothingKnown
from electra_tf.pretrain.run_folder import CONFIG, ENCODER, GENERATOR, METRICS, read_starts
from electra_tf.training.report import read_events
from electra_tf.workflows.model_facts import describe_model

Facts = dict[str, Any]


def describe(path: str | Path) -> Facts:
    """Facts about a path, name → value, the first named `what`; no model is built.

    Raises:
      ValueError: nothing is there, or nothing that is known here.
    """
    path = Path(path)
    if (path / MANIFEST).is_file():
        return _records(path)
    if (path / CONFIG).is_file() and (path / METRICS).is_file():
        return _run(path)
    if path.is_file() and path.suffix in (".txt", ".model"):
        return describe_vocabulary(path)
    try:
        return describe_model(path)
    except NothingKnown as error:
        raise ValueError(f"{error}; `info` also knows records and vocabularies") from None


def _records(path: Path) -> Facts:
    manifest = read_manifest(path)
    return {
        "what": "records",
        "max_length": manifest.max_length,
        "packed": "yes" if manifest.train.is_packed else "no",
        "vocabulary": f"{manifest.vocabulary.size:,} tokens",
        "vocabulary sha256": manifest.vocabulary.sha256,
        "segmenter": f"{manifest.segmenter['name']} {manifest.segmenter['version']}",
        "train": _split(manifest.train),
        "held out": _split(manifest.held_out),
        "unknown rate": f"{manifest.corpus['unknown_rate']:.3%}",
        "unigram entropy": f"{manifest.unigram_entropy_nats:.3f} nats a token",
    }


def _split(split: Split) -> str:
    packed = f" of {split.sequences:,} sequences" if split.is_packed else ""
    return (
        f"{split.documents:,} documents, {split.examples:,} examples{packed}, "
        f"{split.tokens:,} tokens, {len(split.shards)} shards"
    )


def _run(path: Path) -> Facts:
    events = read_events(path / METRICS)
    evaluations = [event for event in events if event["kind"] == "evaluation"]
    networks = [name for name in (ENCODER, GENERATOR) if (path / name).is_dir()]
    last = evaluations[-1] if evaluations else {}
    return {
        "what": "pre-training run",
        "step": events[-1]["step"] if events else 0,
        "networks": ", ".join(networks) or "not written yet",
        "started from": ", ".join(start["path"] for start in read_starts(path)) or "random weights",
        **{
            f"held-out {name}": f"{value:.4f}"
            for name, value in last.items()
            if isinstance(value, float)
        },
    }


def describe_vocabulary(path: str | Path) -> Facts:
    """Facts about a vocabulary, whatever its file is called.

    Raises:
      ValueError: it cannot be used; see `load_vocabulary`.
    """
    vocabulary = load_vocabulary(path)
    kind = "SentencePiece" if vocabulary.sentencepiece_model else "WordPiece"
    return {
        "what": f"vocabulary, {kind}",
        "tokens": f"{vocabulary.size:,}",
        "sha256": vocabulary.sha256,
    }
