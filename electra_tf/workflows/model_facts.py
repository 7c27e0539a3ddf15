"""What a model is, in any format that is known: components, sizes, counts. No array is read."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

from chinese.vocab import parse_vocabulary
from electra_tf.config import EncoderConfig
from electra_tf.encoder_folder import EncoderFolder, Kind, parameter_count, read_encoder_folder
from electra_tf.exchange.recognise import recognise
from electra_tf.exchange.tokenizer_files import read_tokenizer_files
from electra_tf.exchange.translate import Source, make_plan
from electra_tf.workflows.models import Account, account_of, open_foreign

Facts = dict[str, Any]


def describe_model(path: str | Path) -> Facts:
    """Facts about a model, or about a pair in two folders; name → value.

    Raises:
      ValueError: as `recognise`; or the model is damaged.
    """
    with contextlib.ExitStack() as stack:
        opened = [
            _describe_ours(read_encoder_folder(found.path))
            if found.format == "encoder"
            else _describe_foreign(open_foreign(found, stack))
            for found in recognise(path)
        ]
    if len(opened) == 1:
        return opened[0]
    facts: Facts = {"what": f"{len(opened)} models"}
    for place, model in zip(recognise(path), opened, strict=True):
        facts |= {f"{place.path.name}: {name}": value for name, value in model.items()}
    return facts


def _describe_ours(folder: EncoderFolder) -> Facts:
    count = parameter_count(folder.config, folder.kind)
    return {
        "what": f"encoder folder, {folder.kind}",
        **folder.config.model_dump(),
        "parameters": f"{count.backbone:,} + head {count.head:,}",
        "tokenizer": folder.tokenizer_settings,
        "made by": folder.provenance.get("made_by", "unknown"),
        "step": folder.provenance.get("step", "unknown"),
    }


def _describe_foreign(source: Source) -> Facts:
    facts: Facts = {"what": source.what}
    size = sum(file.stat().st_size for file in source.files)
    facts["files"] = f"{', '.join(file.name for file in source.files)} ({_size(size)})"
    plans = {kind: make_plan(source, kind) for kind in source.tables}
    for kind, plan in plans.items():
        facts[kind] = _sizes(plan.config)
        facts[f"{kind} parameters"] = _count(plan.config, kind, not plan.missing)
    if len(plans) == 2:
        judge = parameter_count(plans["discriminator"].config, "discriminator")
        guesser = parameter_count(plans["generator"].config, "generator")
        facts["parameters in all"] = f"{judge.total + guesser.own:,}, embeddings counted once"
    folder = source.path if source.path.is_dir() else source.path.parent
    facts["vocabulary"] = _vocabulary(folder, next(iter(plans.values())).config)
    for kind, plan in plans.items():
        facts |= _account(kind, account_of(source, plan))
    return facts


def _size(number: int) -> str:
    return f"{number / 1e6:,.1f} MB" if number >= 1e6 else f"{number / 1e3:,.1f} kB"


def _sizes(config: EncoderConfig) -> str:
    return (
        f"{config.num_hidden_layers} layers, hidden {config.hidden_size:,}, "
        f"{config.num_attention_heads} heads, feed-forward {config.intermediate_size:,}, "
        f"embeddings {config.vocab_size:,} × {config.embedding_size:,}, "
        f"{config.max_position_embeddings:,} positions"
    )


def _count(config: EncoderConfig, kind: Kind, has_head: bool) -> str:
    count = parameter_count(config, kind)
    return f"{count.backbone:,}" + (f" + head {count.head:,}" if has_head else ", no head")


def _vocabulary(folder: Path, config: EncoderConfig) -> str:
    files = read_tokenizer_files(folder)
    if files.vocabulary is None:
        return "none beside it"
    vocabulary = parse_vocabulary(files.vocabulary, files.origin)
    folding = "lower-cased" if files.lower_case else "cased"
    told = f"{vocabulary.size:,} tokens, {folding}, sha256 {vocabulary.sha256}"
    if vocabulary.size != config.vocab_size:
        return f"does not fit: {told}"
    return told


def _account(kind: Kind, account: Account) -> Facts:
    """What a conversion would say beside the tensors it converts."""
    lines = [
        f"{len(names)} × {reason}"
        for groups in (account.ignored, account.missing)
        for reason, names in groups.items()
        if not reason.startswith("of the ")
    ]
    facts = {f"{kind} beside": "; ".join(lines)} if lines else {}
    return facts | ({f"{kind} notes": "; ".join(account.notes)} if account.notes else {})
