"""Makes the golden folders beside this file, with torch and transformers: `python make_golden.py`.

Two tiny networks in the layouts people hold, and the numbers transformers computes with them, so
that tests can hold ours against them where torch is absent.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"中国人爱北京，。", "a", "##b", "“", "5"]
SIZES = {
    "vocab_size": len(TOKENS),
    "hidden_size": 12,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "max_position_embeddings": 10,
    "type_vocab_size": 2,
}
# Rows of 8, 5 and 1 tokens.
INPUT_IDS = [[2, 5, 6, 3, 8, 15, 14, 3], [2, 11, 12, 4, 3, 0, 0, 0], [2, 0, 0, 0, 0, 0, 0, 0]]
SEGMENT_IDS = [[0, 0, 0, 0, 1, 1, 1, 1], [0] * 8, [0] * 8]


def main() -> None:
    import torch
    import transformers

    torch.manual_seed(0)
    config = transformers.ElectraConfig(embedding_size=8, **SIZES)
    discriminator = randomize(transformers.ElectraForPreTraining(config))
    generator = randomize(transformers.ElectraForMaskedLM(config))
    for name in ("word_embeddings", "position_embeddings", "token_type_embeddings", "LayerNorm"):
        table = getattr(discriminator.electra.embeddings, name)
        getattr(generator.electra.embeddings, name).load_state_dict(table.state_dict())
    bert = randomize(transformers.BertForPreTraining(transformers.BertConfig(**SIZES)))

    numbers = {"input_ids": np.array(INPUT_IDS), "segment_ids": np.array(SEGMENT_IDS)}
    numbers |= outputs("discriminator", discriminator, "logits")
    numbers |= outputs("generator", generator, "logits")
    numbers |= outputs("bert", bert, "prediction_logits")

    tokenizer = transformers.BertTokenizer(vocab={t: i for i, t in enumerate(TOKENS)})
    for name, model in (("discriminator", discriminator), ("generator", generator)):
        model.save_pretrained(fresh(name))
        tokenizer.save_pretrained(HERE / name)

    # As published before 2020: the old names, what nobody reads any more, no tokenizer.json.
    state = dict(discriminator.state_dict())
    state["electra.embeddings.position_ids"] = torch.arange(10).expand((1, -1))
    old = {name: tensor.clone() for name, tensor in state.items()}
    save_torch("discriminator_before_1.6", old, config, zipped=False)
    # Half precision, zipped.
    save_torch("discriminator_float16", {n: t.half() for n, t in state.items()}, config, True)
    numbers |= outputs("float16", round_to(discriminator, torch.float16), "logits")
    generator.to(torch.bfloat16).save_pretrained(fresh("generator_sharded"), max_shard_size="4KB")
    tokenizer.save_pretrained(HERE / "generator_sharded")
    numbers |= outputs("bfloat16", generator.float(), "logits")

    # BERT of 2019: LayerNorm.gamma and beta, and the output table written out.
    state = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
            "LayerNorm.bias", "LayerNorm.beta"
        ): tensor
        for name, tensor in bert.state_dict().items()
    }
    save_torch("bert", state, bert.config, zipped=True)
    np.savez_compressed(HERE / "numbers.npz", **numbers)


def randomize(model):
    """Values that show, LayerNorms included."""
    import torch

    with torch.no_grad():
        for name, value in model.named_parameters():
            value.normal_(0.0, 0.3)
            if "LayerNorm.weight" in name:
                value += 1.0
    return model.eval()


def round_to(model, dtype):
    return model.to(dtype).float()


def outputs(name: str, model, logits: str) -> dict[str, np.ndarray]:
    """Hidden states of every layer, and the head's logits, float32."""
    import torch

    ids = torch.tensor(INPUT_IDS)
    with torch.no_grad():
        result = model(
            input_ids=ids,
            token_type_ids=torch.tensor(SEGMENT_IDS),
            attention_mask=(ids != 0).long(),
            output_hidden_states=True,
        )
    return {
        f"{name}_hidden": np.stack([state.numpy() for state in result.hidden_states]),
        f"{name}_logits": getattr(result, logits).numpy(),
    }


def save_torch(name: str, state, config, zipped: bool) -> None:
    import torch

    folder = fresh(name)
    torch.save(state, folder / "pytorch_model.bin", _use_new_zipfile_serialization=zipped)
    (folder / "config.json").write_text(json.dumps(config.to_dict(), indent=2) + "\n")
    (folder / "vocab.txt").write_text("".join(f"{token}\n" for token in TOKENS))


def fresh(name: str) -> Path:
    shutil.rmtree(HERE / name, ignore_errors=True)
    (HERE / name).mkdir()
    return HERE / name


if __name__ == "__main__":
    main()
