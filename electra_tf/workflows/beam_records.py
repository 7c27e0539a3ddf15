"""Text into records on a cluster: the stages of `records build` as an Apache Beam pipeline."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Literal, NamedTuple

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.pvalue import AsList, AsSingleton, TaggedOutput
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.transforms.window import GlobalWindow
from apache_beam.utils.timestamp import MIN_TIMESTAMP
from apache_beam.utils.windowed_value import WindowedValue

from chinese.documents import Document, OnBadText, ReadCounts, fingerprint
from chinese.vocab import Vocabulary, load_vocabulary, save_vocabulary
from electra_tf.config import RecordsConfig
from electra_tf.data.build_report import write_report
from electra_tf.data.manifest import Manifest, Shard, Split, read_manifest, write_manifest
from electra_tf.data.records import (
    SPLITS,
    give_up_folder,
    prepare_folder,
    shard_file,
    write_shard,
)
from electra_tf.data.serialization import SerializedExamples, each_record
from electra_tf.workflows.corpora import Corpus
from electra_tf.workflows.record_workers import (
    BLOCK_CHARACTERS,
    Block,
    BlockBuilder,
    BlockCounts,
    make_config_segmenter,
)
from electra_tf.workflows.records import make_manifest
from electra_tf.workflows.vocabulary import vocabulary_file_name

RunnerName = Literal["direct", "flink", "spark", "dataflow"]

_RUNNERS = {"flink": "FlinkRunner", "spark": "SparkRunner", "dataflow": "DataflowRunner"}


class _Totals(NamedTuple):
    """What was met; `splits` counts documents, examples, tokens and sequences of each split."""

    read: Counter[str]
    met: BlockCounts
    splits: Counter[tuple[str, str]]


def build_records_on(
    runner: RunnerName,
    runner_options: Sequence[str],
    config: RecordsConfig,
    corpus: Sequence[str],
    out: str | Path,
    vocabulary_file: str | Path,
    on_bad_text: OnBadText = "refuse",
) -> Manifest:
    """Does what `build_records` does, on many machines; the set of examples is the same.

    Where they are packed, that is the set of sequences: which of them share a row depends on how
    the runner divides its work.

    Shards differ: an example falls into one by a hash of its bytes, so they are of about
    `examples_per_shard` and do not depend on how the runner divides its work.

    Args:
      runner: `direct` is this machine.
      runner_options: options of Beam and the runner, as `--flink_master=host:8081`.
      config: as for `build_records`.
      corpus: files, folders, globs, `demo`, without weights; every machine must see them.
      out: a new or empty folder that every machine sees.
      vocabulary_file: a BERT `vocab.txt` or a SentencePiece model.
      on_bad_text: what to do with lines that cannot be read.

    Returns:
      What was written.

    Raises:
      ValueError: as `build_records`; also for weights.
    """
    text = Corpus(corpus, on_bad_text, config.seed)
    if any(source.weight is not None for source in text.sources):
        raise ValueError("corpora are mixed by weight on one machine only; leave out --runner")
    out = Path(out).resolve()
    vocabulary = load_vocabulary(vocabulary_file)
    prepare_folder(out)
    save_vocabulary(vocabulary, out / vocabulary_file_name(vocabulary))
    # What a worker needs is imported by it; our command line is nothing to send around.
    options = PipelineOptions(list(runner_options), save_main_session=False)
    engine = FnApiRunner() if runner == "direct" else _RUNNERS[runner]
    try:
        with beam.Pipeline(runner=engine, options=options) as pipeline:
            _describe(pipeline, config, text.paths, out, vocabulary, on_bad_text)
        manifest = read_manifest(out)
    except BaseException:
        give_up_folder(out)
        raise
    write_report(out, manifest, None)
    return manifest


def _describe(
    pipeline: beam.Pipeline,
    config: RecordsConfig,
    paths: list[str],
    out: Path,
    vocabulary: Vocabulary,
    on_bad_text: OnBadText,
) -> None:
    file = out / vocabulary_file_name(vocabulary)
    read = (
        pipeline
        | "files" >> beam.Create(paths)
        | "one file a task" >> beam.Reshuffle()
        | "documents" >> beam.ParDo(_Read(on_bad_text)).with_outputs("counts", main="documents")
    )
    unique = (
        read.documents
        | "by fingerprint" >> beam.Map(lambda document: (fingerprint(document), document))
        | "same documents" >> beam.GroupByKey()
        | "once each" >> beam.ParDo(_TakeOne()).with_outputs("counts", main="documents")
    )
    built = unique.documents | "examples" >> beam.ParDo(_Build(config, file)).with_outputs(
        "counts", main="records"
    )
    totals = AsSingleton(
        (read.counts, unique.counts, built.counts)
        | "all counts" >> beam.Flatten()
        | "counted" >> beam.CombineGlobally(_AddUp(config, vocabulary.size))
    )
    shards = (
        built.records
        | "into shards" >> beam.Map(_into_shard, config, totals)
        | "a shard together" >> beam.GroupByKey()
        | "write" >> beam.Map(_write, config, out, totals)
    )
    (
        pipeline
        | "once" >> beam.Create([None])
        | "manifest" >> beam.Map(_finish, config, paths, out, file, totals, AsList(shards))
    )


class _Read(beam.DoFn):
    def __init__(self, on_bad_text: OnBadText):
        self._on_bad_text = on_bad_text

    def process(self, path: str) -> Iterator[Document | TaggedOutput]:
        counts = ReadCounts()
        # Duplicates within a file go here; `_TakeOne` finds those between files.
        yield from Corpus([path], self._on_bad_text, 0).documents(counts)
        yield TaggedOutput("counts", counts)


class _TakeOne(beam.DoFn):
    def process(self, keyed: tuple[bytes, Iterable[Document]]) -> Iterator[Document | TaggedOutput]:
        documents = iter(keyed[1])
        yield next(documents)
        yield TaggedOutput("counts", ReadCounts(duplicates=sum(1 for _ in documents)))


class _Build(beam.DoFn):
    """Stages 3 to 8, for blocks of the documents that come along."""

    def __init__(self, config: RecordsConfig, vocabulary_file: Path):
        self._config, self._file = config, vocabulary_file

    def setup(self) -> None:
        self._builder = BlockBuilder(self._config, self._file)

    def start_bundle(self) -> None:
        self._block: Block = []
        self._size = 0

    def process(self, document: Document) -> Iterator[tuple[str, bytes] | TaggedOutput]:
        self._block.append(document)
        self._size += sum(map(len, document))
        if self._size >= BLOCK_CHARACTERS:
            yield from self._built()

    def finish_bundle(self) -> Iterator[WindowedValue | TaggedOutput]:
        for element in self._built() if self._block else ():
            if isinstance(element, TaggedOutput):
                yield TaggedOutput(element.tag, _timeless(element.value))
            else:
                yield _timeless(element)

    def _built(self) -> Iterator[tuple[str, bytes] | TaggedOutput]:
        built = self._builder.build(self._block)
        self.start_bundle()
        splits: Counter[tuple[str, str]] = Counter()
        for name in SPLITS:
            examples: SerializedExamples = getattr(built, name)
            for count in ("documents", "examples", "tokens", "sequences"):
                splits[name, count] = getattr(examples, count) or 0
            for record in each_record(examples):
                yield name, record
        yield TaggedOutput("counts", _Totals(Counter(), built.counts, splits))


def _timeless(value: object) -> WindowedValue:
    return WindowedValue(value, MIN_TIMESTAMP, [GlobalWindow()])


class _AddUp(beam.CombineFn):
    def __init__(self, config: RecordsConfig, vocab_size: int):
        self._config, self._vocab_size = config, vocab_size

    def create_accumulator(self) -> _Totals:
        config = self._config
        met = BlockCounts(self._vocab_size, config.max_unit_tokens, config.max_length)
        return _Totals(Counter(), met, Counter())

    def add_input(self, total: _Totals, counts: ReadCounts | _Totals) -> _Totals:
        if isinstance(counts, ReadCounts):
            total.read.update(asdict(counts))
            return total
        return self.merge_accumulators([total, counts])

    def merge_accumulators(self, totals: Iterable[_Totals]) -> _Totals:
        merged = self.create_accumulator()
        for total in totals:
            merged.read.update(total.read)
            merged.met.add(total.met)
            merged.splits.update(total.splits)
        return merged

    def extract_output(self, total: _Totals) -> _Totals:
        return total


def _num_shards(name: str, config: RecordsConfig, totals: _Totals) -> int:
    return -(-totals.splits[name, "examples"] // config.examples_per_shard)


def _place(record: bytes, seed: int) -> int:
    """Where a record stands among all: by lot, and the same however the work is divided."""
    key = seed.to_bytes(8, "big")
    return int.from_bytes(hashlib.blake2b(record, digest_size=8, key=key).digest(), "big")


def _into_shard(
    named: tuple[str, bytes], config: RecordsConfig, totals: _Totals
) -> tuple[tuple[str, int], bytes]:
    name, record = named
    num_shards = _num_shards(name, config, totals)
    return (name, _place(record, config.seed) % num_shards), record


def _write(
    keyed: tuple[tuple[str, int], Iterable[bytes]],
    config: RecordsConfig,
    out: Path,
    totals: _Totals,
) -> tuple[str, Shard]:
    (name, index), records = keyed
    ordered = sorted(records, key=lambda record: (_place(record, config.seed), record))
    num_shards = _num_shards(name, config, totals)
    return name, write_shard(out / shard_file(name, index, num_shards), ordered)


def _finish(
    _: None,
    config: RecordsConfig,
    paths: list[str],
    out: Path,
    vocabulary_file: Path,
    totals: _Totals,
    shards: Sequence[tuple[str, Shard]],
) -> None:
    splits = [
        Split(
            documents=totals.splits[name, "documents"],
            examples=totals.splits[name, "examples"],
            tokens=totals.splits[name, "tokens"],
            sequences=totals.splits[name, "sequences"] if config.packed else None,
            shards=tuple(
                sorted((s for of, s in shards if of == name), key=lambda shard: shard.file)
            ),
        )
        for name in SPLITS
    ]
    write_manifest(
        out,
        make_manifest(
            config,
            paths,
            (),
            ReadCounts(**totals.read),
            totals.met,
            load_vocabulary(vocabulary_file),
            make_config_segmenter(config),
            *splits,
        ),
    )
