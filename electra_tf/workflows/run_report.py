"""`report.html` of a run: its curves, what went in, and ten rows as both networks play them."""

from __future__ import annotations

import json
import os
from pathlib import Path

from chinese.vocab import Vocabulary, load_vocabulary, readable
from electra_tf.config import PretrainConfig, dump_config, load_config
from electra_tf.data.build_report import build_facts
from electra_tf.data.manifest import MANIFEST, Manifest, read_manifest, read_manifest_file
from electra_tf.encoder_folder import read_encoder_folder
from electra_tf.network.pretrained import build_discriminator, build_generator
from electra_tf.page import Mark, chart, charts, facts, heading, note, page, preformatted, shaded
from electra_tf.pretrain.curves import Events, run_curves
from electra_tf.pretrain.run_folder import (
    CONFIG,
    ENCODER,
    ENVIRONMENT,
    GENERATOR,
    METRICS,
    RECORDS,
    RECORDS_MANIFEST,
    is_written,
)
from electra_tf.pretrain.samples import PlayedRow, play_held_out
from electra_tf.training.report import read_events

REPORT = "report.html"


def write_run_report(
    folder: str | Path, records: str | Path | None = None, num_samples: int = 10
) -> Path:
    """Writes `report.html` over an earlier one, also while the run goes on.

    Args:
      folder: a run folder.
      records: where its records stand; None = within it. Where there are none, or the networks
        are not written yet, the page has no samples and says so.
      num_samples: rows of held-out text; 0 = none, which needs no network.

    Returns:
      The file.

    Raises:
      ValueError: no run there.
    """
    folder = Path(folder)
    if not (folder / CONFIG).is_file():
        raise ValueError(f"{folder}: is no run folder, it has no {CONFIG}")
    config = load_config(PretrainConfig, folder / CONFIG)
    manifest = read_manifest_file(folder / RECORDS_MANIFEST)
    events = read_events(folder / METRICS)
    parts = [
        facts(_outcome(events, manifest)),
        heading("Curves"),
        charts(
            [
                chart(drawn.title, drawn.curves, level=drawn.level)
                for drawn in run_curves(events, manifest.unigram_entropy_nats)
            ]
        ),
        heading("Held-out text, hidden, filled in and judged"),
        *_samples(folder, config, Path(records or folder / RECORDS), num_samples),
        heading("What went in"),
        facts(build_facts(manifest, None)),
        heading("Where it ran"),
        facts(_environment(folder)),
        heading("Configuration"),
        preformatted(dump_config(config)),
    ]
    path = folder / REPORT
    temporary = path.with_name(f".{REPORT}.{os.getpid()}.new")
    shown = page(f"Pre-training run: {folder.resolve().name}", parts)
    temporary.write_text(shown, encoding="utf-8", errors="replace")
    os.replace(temporary, path)
    return path


# --- numbers -----------------------------------------------------------------------------------


def _outcome(events: Events, manifest: Manifest) -> dict[str, str]:
    evaluations = [event for event in events if event["kind"] == "evaluation"]
    if not evaluations:
        return {"so far": "no evaluation yet"}
    first, last = evaluations[0], evaluations[-1]
    entropy = manifest.unigram_entropy_nats
    return {
        "steps": f"{events[-1]['step']:,}",
        "generator loss at [MASK]": f"{first['hidden_lm_loss']:.3f} → "
        f"{last['hidden_lm_loss']:.3f} nats; a guess without context: {entropy:.3f}",
        "discriminator AUC": f"{first['discriminator_auc']:.3f} → {last['discriminator_auc']:.3f}",
        "the same on unigram replacements": f"{first['unigram_auc']:.3f} → "
        f"{last['unigram_auc']:.3f}; a weak generator lifts the line above, not this one",
        "discriminator accuracy": f"{last['discriminator_accuracy']:.1%}; calling nothing "
        f"replaced: {last['majority_accuracy']:.1%}",
        "replaced": f"{last['replaced_rate']:.1%} of the tokens",
    }


def _environment(folder: Path) -> dict[str, str]:
    path = folder / ENVIRONMENT
    if not path.is_file():
        return {"devices": "not written down"}
    return {name: str(value) for name, value in json.loads(path.read_text("utf-8")).items()}


# --- samples -----------------------------------------------------------------------------------


def _samples(folder: Path, config: PretrainConfig, records: Path, num_samples: int) -> list[str]:
    if not (num_samples and is_written(folder)):
        return [note("The networks are written at the end of the run; samples follow then.")]
    if not (records / MANIFEST).is_file():
        return [note("The records stand elsewhere: `electra-tf report RUN --records …` adds them.")]
    generator, discriminator = (read_encoder_folder(folder / n) for n in (GENERATOR, ENCODER))
    rows = play_held_out(
        build_generator(generator.config, generator.weights),
        build_discriminator(discriminator.config, discriminator.weights),
        config,
        read_manifest(records),
        records,
        num_samples,
    )
    vocabulary = load_vocabulary(folder / ENCODER / discriminator.vocabulary_file)
    explained = (
        "Gaps stand between words. First line: what the generator reads, □ for each hidden token. "
        "Second line: what the discriminator reads; tokens the generator changed are underlined, "
        "and the redder the ground, the likelier replaced it holds them. Rest on a token for the "
        "number and the original."
    )
    return [note(explained), *(_sample(row, vocabulary) for row in rows)]


def _sample(row: PlayedRow, vocabulary: Vocabulary) -> str:
    hidden, judged = [], []
    last_unit = 0
    for original, masked, corrupted, unit, probability in zip(*row, strict=True):
        begins = bool(judged) and not (unit and unit == last_unit)
        last_unit = unit
        shown = "□" if masked == vocabulary.mask_id else readable(vocabulary.tokens[masked])
        hidden.append(Mark(shown, begins_unit=begins))
        is_replaced = bool(corrupted != original)
        hint = f"{probability:.0%} replaced"
        if is_replaced:
            hint += f", was {readable(vocabulary.tokens[original])}"
        judged.append(
            Mark(
                readable(vocabulary.tokens[corrupted]),
                float(probability),
                is_replaced,
                begins,
                hint,
            )
        )
    return f'<div class="sample">{shaded(hidden)}{shaded(judged)}</div>'
