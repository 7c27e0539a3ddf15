"""Measures how fast text becomes records on one core, beside jieba and the Python BERT tokenizer.

    python scripts/bench_records.py                        the embedded demo text
    python scripts/bench_records.py texts/ more.txt        text of your own
    python scripts/bench_records.py texts/ --long          and memory from 30 to 300 MB of text

Every measurement runs in a process of its own, bound to one core. Characters a second are counted
over a whole build with a given vocabulary: read, clean, drop duplicates, sentences, words, tokens,
units, examples, records, shuffle, write. The start of the process is left out and told apart.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

PEER_CHARACTERS = 1_000_000
LONG_MEGABYTES = (30, 300)


class Measured(NamedTuple):
    """One build; `start_seconds` are imports and tables, paid once a process."""

    characters: int
    seconds: float
    core_seconds: float  # what the core gave to us, where others want it, too
    stage_seconds: dict[str, float]
    start_seconds: float
    start_bytes: int
    peak_bytes: int


def silent(*_: object) -> None:
    """Nobody watches."""


def main() -> None:
    """Parses, measures, prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus", nargs="*", default=["demo"], help="files, folders, globs")
    parser.add_argument("--vocab", help="a vocab.txt; without it, one is built from the text")
    parser.add_argument("--long", action="store_true", help="also memory from 30 to 300 MB")
    parser.add_argument("--core", type=int, default=min(os.sched_getaffinity(0)))
    options = parser.parse_args()

    os.sched_setaffinity(0, {options.core})
    os.environ.update(
        TF_NUM_INTRAOP_THREADS="1",
        TF_NUM_INTEROP_THREADS="1",
        OMP_NUM_THREADS="1",
        CUDA_VISIBLE_DEVICES="-1",
        TF_CPP_MIN_LOG_LEVEL="3",
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        vocab = options.vocab or alone(make_vocabulary, options.corpus, folder / "vocab.txt")
        ours = alone(measure_build, options.corpus, vocab, folder / "records")
        show_build(ours)
        rates = alone(measure_peers, options.corpus, vocab)
        show_peers(ours, rates)
        if options.long:
            show_memory(options.corpus, vocab, folder)


def alone(function, *arguments):
    """Calls a function in a fresh process, so that memory and imports are its own."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(function, *arguments).result()


def make_vocabulary(corpus: list[str], out: Path) -> Path:
    """Builds a vocabulary from the text."""
    from electra_tf.workflows import vocabulary as workflow

    started = time.perf_counter()
    vocabulary = workflow.make_vocabulary(default_config(), corpus, out, silent)
    seconds = time.perf_counter() - started
    print(f"vocabulary from the text: {vocabulary.size:,} tokens in {seconds:.1f} s (once)")
    return out


def default_config():
    """The config that `electra-tf records build` takes by default."""
    from electra_tf.config import RecordsConfig, load_config

    return load_config(RecordsConfig, ROOT / "configs" / "corpus" / "default.yaml")


def measure_build(corpus: list[str], vocab: Path, out: Path) -> Measured:
    """Builds records once, after a build of one line that pays for imports and tables."""
    started = time.perf_counter()
    from electra_tf.data.manifest import read_build_times
    from electra_tf.workflows.records import build_records

    config = default_config()
    with tempfile.TemporaryDirectory() as name:
        line = Path(name) / "line.txt"
        line.write_text("中国人民，T恤。COVID-19 hello", encoding="utf-8")
        held = config.model_copy(update={"held_out_rate": 0.0})
        build_records(held, [str(line)], Path(name) / "records", silent, vocab)
    start_seconds, start_bytes = time.perf_counter() - started, peak_bytes()
    core_started = time.process_time()
    manifest = build_records(config, corpus, out, silent, vocab)
    core_seconds = time.process_time() - core_started
    times = read_build_times(out)
    return Measured(
        manifest.statistics.characters,
        times.seconds,
        core_seconds,
        times.stage_seconds,
        start_seconds,
        start_bytes,
        peak_bytes(),
    )


def peak_bytes() -> int:
    """The most memory this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def measure_peers(corpus: list[str], vocab: Path) -> dict[str, float]:
    """Characters for a second of the core: jieba, BERT's tokenizer in Python; the same text."""
    import jieba
    from official.nlp.tools.tokenization import FullTokenizer

    from chinese.documents import ReadCounts
    from electra_tf.workflows.corpora import Corpus

    lines, size = [], 0
    for document in Corpus(corpus, "refuse", 1).documents(ReadCounts()):
        lines += document
        size += sum(map(len, document))
        if size >= PEER_CHARACTERS:
            break
    tokenizer = FullTokenizer(str(vocab), do_lower_case=True)
    jieba.initialize()
    rates = {}
    for name, work in {
        "jieba": jieba.lcut,
        "BERT's tokenizer in Python": lambda line: tokenizer.convert_tokens_to_ids(
            tokenizer.tokenize(line)
        ),
    }.items():
        started = time.process_time()
        for line in lines:
            work(line)
        rates[name] = size / (time.process_time() - started)
    return rates


def show_build(ours: Measured) -> None:
    """Prints one build."""
    print(f"start of a process: {ours.start_seconds:.1f} s")
    print(
        f"text into records: {ours.characters:,} characters in {ours.seconds:.2f} s = "
        f"{ours.characters / ours.seconds:,.0f} characters/s; "
        f"{ours.core_seconds:.2f} s of the core = "
        f"{ours.characters / ours.core_seconds:,.0f} characters/s"
    )
    named = sum(ours.stage_seconds.values())
    for stage, seconds in (*ours.stage_seconds.items(), ("everything else", ours.seconds - named)):
        print(f"  {stage:<16}{seconds:8.2f} s {seconds / ours.seconds:7.1%}")
    print(f"peak memory: {ours.peak_bytes / 1e9:.2f} GB ({ours.start_bytes / 1e9:.2f} before text)")


def show_peers(ours: Measured, rates: dict[str, float]) -> None:
    """Prints what others take for words and tokens alone."""
    for name, rate in rates.items():
        print(f"{name}: {rate:,.0f} characters/s")
    together = 1 / sum(1 / rate for rate in rates.values())
    rate = ours.characters / ours.core_seconds
    print(f"both, one after the other: {together:,.0f} characters/s; ours: {rate / together:.1f} ×")


def show_memory(corpus: list[str], vocab: Path, folder: Path) -> None:
    """Prints speed and peak memory for texts of several sizes, made by repeating the documents."""
    peaks = []
    for megabytes in LONG_MEGABYTES:
        text = alone(repeat_text, corpus, megabytes, folder / f"{megabytes}.txt")
        found = alone(measure_build, [str(text)], vocab, folder / f"records{megabytes}")
        text.unlink()
        peaks.append(found.peak_bytes)
        rate = found.characters / found.core_seconds
        print(f"{megabytes:>4} MB: {rate:,.0f} characters/s, peak {found.peak_bytes / 1e9:.3f} GB")
    print(f"peak of the largest over the smallest: {peaks[-1] / peaks[0] - 1:+.1%}")


def repeat_text(corpus: list[str], megabytes: int, out: Path) -> Path:
    """Writes documents again and again, numbered, so that none is a duplicate."""
    from chinese.documents import ReadCounts
    from electra_tf.workflows.corpora import Corpus

    number = 0
    with out.open("wb") as file:
        while True:
            for document in Corpus(corpus, "refuse", 1).documents(ReadCounts()):
                number += 1
                file.write("\n".join([f"第{number}篇。", *document, "", ""]).encode())
                if file.tell() >= megabytes * 1_000_000:
                    return out


if __name__ == "__main__":
    main()
