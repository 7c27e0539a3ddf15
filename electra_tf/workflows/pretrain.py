"""From raw text to a pre-trained ELECTRA: records where there are none yet, then the run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from electra_tf.config import PretrainConfig, RecordsConfig
from electra_tf.data.manifest import MANIFEST, read_manifest
from electra_tf.pretrain import run
from electra_tf.pretrain.initialize import InitialNetwork
from electra_tf.pretrain.run import RunResult
from electra_tf.pretrain.run_folder import CONFIG, RECORDS
from electra_tf.training.report import Listener, Report
from electra_tf.workflows.models import read_networks, split_component
from electra_tf.workflows.records import Progress, build_records, corpus_paths
from electra_tf.workflows.run_report import REPORT, write_run_report

__all__ = ["evaluate_run", "pretrain", "pretrain_from_text"]


def pretrain(
    config: PretrainConfig,
    records: str | Path,
    folder: str | Path,
    listener: Listener,
    init_from: Sequence[str | Path] = (),
) -> RunResult:
    """Trains or resumes on records that exist, and keeps the run's `report.html` current.

    Args:
      config, records, folder, listener: as `electra_tf.pretrain.run.pretrain`.
      init_from: models to start from, of any format that `read_networks` knows; behind a colon
        the network to take from it (`bert-base-chinese:generator`), if not those it holds.

    Returns, Raises: as `electra_tf.pretrain.run.pretrain`; also as `read_networks`.
    """
    initial = [network for path in init_from for network in initial_networks(path)]
    result = run.pretrain(config, records, folder, _Reporting(folder, listener), initial)
    is_current = result.was_finished and (Path(folder) / REPORT).exists()
    if not is_current and not result.stopped_by:
        write_run_report(folder, records)
    return result


def initial_networks(given: str | Path) -> list[InitialNetwork]:
    """What lies at a path, with what was left out of it on the way."""
    path, component = split_component(given)
    networks = []
    for folder, account in read_networks(path, component).values():
        ignored = (f"left out: {', '.join(n)} ({why})" for why, n in account.ignored.items())
        made_anew = {name for names in account.missing.values() for name in names}
        weights = {name: array for name, array in folder.weights.items() if name not in made_anew}
        network = replace(folder, weights=weights)
        networks.append(InitialNetwork(str(given), network, (*ignored, *account.notes)))
    return networks


class _Reporting:
    """A listener that writes the page after every evaluation and passes everything on."""

    def __init__(self, folder: str | Path, listener: Listener):
        self._folder = folder
        self._listener = listener

    def say(self, text: str) -> None:
        self._listener.say(text)

    def report(self, report: Report, last_step: int) -> None:
        if report.kind == "evaluation":
            write_run_report(self._folder, num_samples=0)
        self._listener.report(report, last_step)


def pretrain_from_text(
    config: PretrainConfig,
    records_config: RecordsConfig,
    corpus: Sequence[str],
    folder: str | Path,
    listener: Listener,
    progress: Progress,
    vocabulary_file: str | Path | None = None,
    init_from: Sequence[str | Path] = (),
) -> RunResult:
    """Builds `folder/records` from text unless they stand there, then trains or resumes.

    Args:
      config: the run. Length and longest unit of the records follow it.
      records_config: how text becomes records.
      corpus: files, folders, globs, or `demo`.
      folder: the run folder.
      listener: who shows training.
      progress: told while records are built.
      vocabulary_file: a BERT `vocab.txt` or a SentencePiece model; None = one is built from the
        corpus.
      init_from: models to start from.

    Returns:
      As `pretrain`.

    Raises:
      ValueError: as `build_records` and `pretrain`; also where the records that stand there were
        built from another corpus.
    """
    records = Path(folder) / RECORDS
    if (records / MANIFEST).exists():
        _check_same_corpus(records, corpus)
    else:
        fitted = records_config.model_copy(
            update={
                "max_length": config.data.max_length,
                "max_unit_tokens": config.masking.max_unit_tokens,
            }
        )
        manifest = build_records(fitted, corpus, records, progress, vocabulary_file)
        listener.say(
            f"records: {manifest.train.documents + manifest.held_out.documents:,} documents, "
            f"{manifest.train.tokens + manifest.held_out.tokens:,} tokens, "
            f"{manifest.train.examples + manifest.held_out.examples:,} examples, vocabulary of "
            f"{manifest.vocabulary.size:,}"
        )
    return pretrain(config, records, folder, listener, init_from)


def evaluate_run(
    folder: str | Path, records: str | Path | None = None
) -> tuple[int, dict[str, float]]:
    """Evaluates the newest checkpoint of a run, by default on the records it built for itself.

    Raises:
      ValueError: as `evaluate`; also where the run was trained on records that stand elsewhere.
    """
    folder = Path(folder)
    own = folder / RECORDS
    if records is None and (folder / CONFIG).exists() and not own.exists():
        raise ValueError(f"{folder}: was trained on records that stand elsewhere; give --records")
    return run.evaluate(folder, records or own)


def _check_same_corpus(records: Path, corpus: Sequence[str]) -> None:
    built_from, given = read_manifest(records).corpus["paths"], corpus_paths(corpus)
    if built_from != given:
        raise ValueError(
            f"{records}: was built from {' '.join(built_from)}, not from {' '.join(given)}; give "
            f"another --out, or the corpus it was built from"
        )
