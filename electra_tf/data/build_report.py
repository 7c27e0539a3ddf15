"""What a build of records tells of itself: as a table, and as one page that needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path

from electra_tf.data.manifest import BuildTimes, Manifest, Split

REPORT = "report.html"


def build_facts(manifest: Manifest, times: BuildTimes | None) -> dict[str, str]:
    """Facts about a build, name → value, for a table of two columns."""
    split_facts = {"train": _split(manifest.train), "held out": _split(manifest.held_out)}
    found = manifest.statistics
    if found is None:
        return split_facts
    examples = found.one_segment_examples + found.two_segment_examples
    left_out = {
        "exact duplicates": found.duplicates,
        "left out by weight": found.left_out,
        "bad lines skipped": found.bad_lines,
        "too long, went on as another": found.cut_documents,
    }
    facts = {
        "text read": f"{found.files:,} files, {found.documents:,} documents, {found.lines:,} "
        f"lines, {found.characters:,} characters",
        **{name: f"{count:,}" for name, count in left_out.items() if count},
        "became": f"{found.sentences:,} sentences, {sum(found.words.values()):,} words, "
        f"{found.tokens:,} tokens",
        "lost tokens": f"{found.lost_tokens:,}",
        "unknown tokens": f"{found.unknown_tokens:,} "
        f"({found.unknown_tokens / max(1, manifest.train.tokens):.3%})",
        **split_facts,
        "examples with two segments": _share(found.two_segment_examples, examples),
        "padding": f"{found.padding_rate:.1%} of the places",
        "words of 1, 2, 3, 4+ characters": _shares(found.words, 4),
        "units of 1, 2, 3, 4+ tokens": _shares(found.units, 4),
        "unigram entropy": f"{manifest.unigram_entropy_nats:.3f} nats a token",
    }
    return facts | (_time_facts(times, found.characters) if times else {})


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
    return (
        f"{split.documents:,} documents, {split.examples:,} examples, {split.tokens:,} tokens, "
        f"{len(split.shards):,} shards"
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
    parts = [f"<h1>Records: {escape(title)}</h1>", _table(build_facts(manifest, times))]
    found = manifest.statistics
    if found is not None:
        parts += [
            _bars("Words by length, in characters", found.words),
            _bars("Masked together, in tokens", found.units),
            _bars("Examples by length, in tokens", _grouped(found.example_lengths, 16)),
        ]
    if times is not None:
        stages = {name: round(value, 1) for name, value in times.stage_seconds.items()}
        parts.append(_bars("Seconds by stage, all workers together", stages))
    parts += [
        "<h2>How it was made</h2>",
        _table(_how(manifest)),
        "<h2>Shards</h2>",
        _shards(manifest),
    ]
    body = "\n".join(parts)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Records: {escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _how(manifest: Manifest) -> dict[str, str]:
    corpus = manifest.corpus
    shares = [
        f"{share['name']}: weight {share['weight']:g}, {share['rate']:.1%} of the documents"
        for share in corpus.get("shares", ())
    ]
    return {
        "corpus": "\n".join(map(str, shares or corpus.get("paths", ()))),
        "examples of at most": f"{manifest.max_length} tokens",
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


def _table(rows: Mapping[str, str]) -> str:
    lines = "\n".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>'
        for name, value in rows.items()
    )
    return f"<table>\n{lines}\n</table>"


def _shards(manifest: Manifest) -> str:
    lines = (
        f"<tr><td>{escape(shard.file)}</td><td>{shard.examples:,}</td><td>{shard.bytes:,}</td>"
        f"<td><code>{escape(shard.sha256[:16])}</code></td></tr>"
        for shard in (*manifest.train.shards, *manifest.held_out.shards)
    )
    head = "<tr><th>file</th><th>examples</th><th>bytes</th><th>SHA-256 begins</th></tr>"
    rows = "\n".join([head, *lines])
    return f'<div class="wide"><table class="shards">\n{rows}\n</table></div>'


def _bars(title: str, table: Mapping[str, float]) -> str:
    """A bar for each row; its number stands beside it, so no colour has to be told apart."""
    largest = max(table.values(), default=0) or 1
    total = sum(table.values()) or 1
    rows = "\n".join(
        f"<li><span>{escape(name)}</span>"
        f'<span class="track"><i style="width:{100 * value / largest:.1f}%"></i></span>'
        f"<span>{value:,} <small>{value / total:.1%}</small></span></li>"
        for name, value in table.items()
    )
    return f'<h2>{escape(title)}</h2>\n<ul class="bars">\n{rows}\n</ul>'


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


_STYLE = """
:root { color-scheme: light dark; --ink: #1d2430; --dim: #5b6573; --line: #d9dee5;
  --paper: #ffffff; --bar: #2f6fb0; --track: #eef1f5; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ee; --dim: #9aa5b4; --line: #333c49;
  --paper: #14181f; --bar: #6aa7e4; --track: #232a35; } }
@media print { :root { --ink: #000; --dim: #444; --line: #bbb; --paper: #fff; --bar: #555;
  --track: #eee; } h2 { break-after: avoid; } li, tr { break-inside: avoid; }
  i { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, "Noto Sans CJK SC", "PingFang SC", "Microsoft YaHei", sans-serif; }
main { max-width: 52rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.5rem; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 2.2rem 0 .6rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .4rem .75rem .4rem 0; border-bottom: 1px solid var(--line); text-align: left;
  vertical-align: top; overflow-wrap: anywhere; white-space: pre-line; }
th { color: var(--dim); font-weight: 500; width: 14rem; }
.wide { overflow-x: auto; }
.shards th { width: auto; }
.shards td, .shards th { white-space: nowrap; }
.bars { list-style: none; margin: 0; padding: 0; font-variant-numeric: tabular-nums; }
.bars li { display: grid; grid-template-columns: 6rem 1fr 10rem; gap: .75rem;
  align-items: center; padding: .12rem 0; }
.bars li > :first-child { color: var(--dim); text-align: right; }
.track { background: var(--track); border-radius: 3px; height: .8rem; overflow: hidden; }
.track i { display: block; height: 100%; background: var(--bar); }
small { color: var(--dim); }
@media (max-width: 34rem) {
  tr { display: block; } .shards tr { display: table-row; }
  th { display: block; width: auto; border: 0; padding-bottom: 0; }
  td { display: block; padding-top: 0; }
  .shards th, .shards td { display: table-cell; border-bottom: 1px solid var(--line);
    padding: .4rem .75rem .4rem 0; }
  .bars li { grid-template-columns: 4.5rem 1fr 7.5rem; gap: .5rem; font-size: .9rem; }
}
"""
