"""What a build of records tells of itself: as a table, and as one page that needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from electra_tf.data.manifest import BuildTimes, Manifest, Split, Statistics
from electra_tf.page import bars, facts, heading, page, table

REPORT = "report.html"


def build_facts(manifest: Manifest, times: BuildTimes | None) -> dict[str, str]:
    """Facts about a build, name → value, for a table of two columns."""
    split_facts = {"train": _split(manifest.train), "held out": _split(manifest.held_out)}
    found = manifest.statistics
    if found is None:
        return split_facts
    sequences = found.one_segment_examples + found.two_segment_examples
    examples = manifest.train.examples + manifest.held_out.examples
    left_out = {
        "exact duplicates": found.duplicates,
        "left out by weight": found.left_out,
        "bad lines skipped": found.bad_lines,
        "too long, went on as another": found.cut_documents,
    }
    rows = {
        "text read": f"{found.files:,} files, {found.documents:,} documents, {found.lines:,} "
        f"lines, {found.characters:,} characters",
        **{name: f"{count:,}" for name, count in left_out.items() if count},
        "became": f"{found.sentences:,} sentences, {sum(found.words.values()):,} words, "
        f"{found.tokens:,} tokens",
        "lost tokens": f"{found.lost_tokens:,}",
        "unknown tokens": f"{found.unknown_tokens:,} "
        f"({found.unknown_tokens / max(1, manifest.train.tokens):.3%})",
        **split_facts,
        "with two segments": _share(found.two_segment_examples, sequences),
        "padding": f"{found.padding_rate:.1%} of the places",
        **_packing_facts(found, examples, sequences),
        "words of 1, 2, 3, 4+ characters": _shares(found.words, 4),
        "units of 1, 2, 3, 4+ tokens": _shares(found.units, 4),
        "unigram entropy": f"{manifest.unigram_entropy_nats:.3f} nats a token",
    }
    return rows | (_time_facts(times, found.characters) if times else {})


def _packing_facts(found: Statistics, examples: int, sequences: int) -> dict[str, str]:
    if found.unpacked_padding_rate is None:
        return {}
    return {
        "padding without packing": f"{found.unpacked_padding_rate:.1%} of the places",
        "packing saves": f"{sequences - examples:,} of {sequences:,} examples "
        f"({1 - examples / max(1, sequences):.1%})",
    }


def _time_facts(times: BuildTimes, characters: int) -> dict[str, str]:
    total = max(1e-9, sum(times.stage_seconds.values()))
    stages = (f"{name} {value / total:.0%}" for name, value in times.stage_seconds.items())
    plural = "s" if times.workers > 1 else ""
    return {
        "time": f"{times.seconds:,.1f} s, {times.workers} worker{plural}, "
        f"{characters / max(1e-9, times.seconds):,.0f} characters/s",
        "time by stage": ", ".join(stages),
    }


def _split(split: Split) -> str:
    packed = f" of {split.sequences:,} sequences" if split.is_packed else ""
    return (
        f"{split.documents:,} documents, {split.examples:,} examples{packed}, "
        f"{split.tokens:,} tokens, {len(split.shards):,} shards"
    )


def _share(part: int, whole: int) -> str:
    return f"{part:,} ({part / max(1, whole):.1%})"


def _shares(table: Mapping[str, int], num_shown: int) -> str:
    """Shares of the lengths 1, 2, …; the last shown is of all that are longer, too.

    >>> _shares({"1": 6, "2": 2, "5": 2}, 3)
    '60.0%, 20.0%, 20.0%'
    """
    total = max(1, sum(table.values()))
    counts = [0] * num_shown
    for length, count in table.items():
        counts[min(int(length), num_shown) - 1] += count
    return ", ".join(f"{count / total:.1%}" for count in counts)


def write_report(folder: str | Path, manifest: Manifest, times: BuildTimes | None) -> None:
    """Writes `report.html`: one file, no script, nothing fetched; for screen, phone and paper."""
    text = report_html(str(Path(folder).resolve().name), manifest, times)
    (Path(folder) / REPORT).write_text(text, encoding="utf-8", errors="replace")


def report_html(title: str, manifest: Manifest, times: BuildTimes | None) -> str:
    """The page; every text in it is escaped."""
    parts = [facts(build_facts(manifest, times))]
    found = manifest.statistics
    if found is not None:
        parts += [
            bars("Words by length, in characters", found.words),
            bars("Masked together, in tokens", found.units),
            bars("Examples by length, in tokens", _grouped(found.example_lengths, 16)),
        ]
    if times is not None:
        stages = {name: round(value, 1) for name, value in times.stage_seconds.items()}
        parts.append(bars("Seconds by stage, all workers together", stages))
    parts += [heading("How it was made"), facts(_how(manifest)), heading("Shards")]
    header = ("file", "examples", "bytes", "SHA-256 begins")
    shards = [*manifest.train.shards, *manifest.held_out.shards]
    parts.append(table(header, [(s.file, s.examples, s.bytes, s.sha256[:16]) for s in shards]))
    return page(f"Records: {title}", parts)


def _how(manifest: Manifest) -> dict[str, str]:
    corpus = manifest.corpus
    shares = [
        f"{share['name']}: weight {share['weight']:g}, {share['rate']:.1%} of the documents"
        for share in corpus.get("shares", ())
    ]
    return {
        "corpus": "\n".join(map(str, shares or corpus.get("paths", ()))),
        "examples of at most": f"{manifest.max_length} tokens",
        "packed": "yes: sequences share an example, none seeing another"
        if manifest.train.is_packed
        else "no: an example is one sequence",
        "units of at most": f"{manifest.max_unit_tokens} tokens",
        "seed": str(manifest.seed),
        "segmenter": f"{manifest.segmenter['name']} {manifest.segmenter['version']}",
        "tokenizer": ", ".join(
            f"{key} {value}"
            for key, value in manifest.tokenizer.items()
            if key != "vocabulary_sha256"
        ),
        "vocabulary": f"{manifest.vocabulary.size:,} tokens, {manifest.vocabulary.sha256}",
    }


def _grouped(lengths: Mapping[str, int], num_groups: int) -> dict[str, int]:
    """Lengths in groups of equal width.

    >>> _grouped({"1": 1, "7": 2, "8": 3}, 2)
    {'1–4': 1, '5–8': 5}
    """
    if not lengths:
        return {}
    width = max(1, -(-max(map(int, lengths)) // num_groups))
    groups: dict[int, int] = {}
    for length, count in lengths.items():
        group = (int(length) - 1) // width
        groups[group] = groups.get(group, 0) + count
    return {
        f"{group * width + 1}–{(group + 1) * width}": groups.get(group, 0)
        for group in range(min(groups), max(groups) + 1)
    }
