"""Published checkpoints of ViT, BERT and GPT-2: only what comes up to the first layer is read.

A checkpoint is a folder with ``config.json`` and ``model.safetensors`` or ``pytorch_model.bin``, its tensors named as
the common model hubs name them.
"""

import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from attention_theory.memorization.language import LanguageModel
from attention_theory.memorization.transformer import Affine, Layer, Norm
from attention_theory.memorization.vision import VisionModel

_TYPES = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "I64": torch.int64}

#: The number of [SEP] in the published vocabularies of BERT.
PUBLISHED_SEPARATOR = 102


def read_weights(folder: Path) -> dict[str, Tensor]:
    """All tensors of a checkpoint by name, without the prefix of the model's kind, as float32.

    Raises:
        FileNotFoundError: the folder holds no checkpoint.
    """
    if (folder / "model.safetensors").exists():
        weights = _read_safetensors(folder / "model.safetensors")
    elif (folder / "pytorch_model.bin").exists():
        weights = torch.load(folder / "pytorch_model.bin", map_location="cpu", weights_only=True)
    else:
        raise FileNotFoundError(f"no model.safetensors or pytorch_model.bin in {folder}")
    prefixes = ("vit.", "bert.", "transformer.")
    stripped = {}
    for name, value in weights.items():
        prefix = next((prefix for prefix in prefixes if name.startswith(prefix)), "")
        stripped[name.removeprefix(prefix)] = value.float() if value.is_floating_point() else value
    return stripped


def load_vision_model(folder: Path) -> VisionModel:
    """Embedding and first layer of a ViT checkpoint."""
    weights, config = read_weights(folder), _config(folder)
    patch = weights["embeddings.patch_embeddings.projection.weight"]
    place = "encoder.layer.0."
    layer = Layer(
        heads=config["num_attention_heads"],
        query=_linear(weights, f"{place}attention.attention.query"),
        key=_linear(weights, f"{place}attention.attention.key"),
        value=_linear(weights, f"{place}attention.attention.value"),
        output=_linear(weights, f"{place}attention.output.dense"),
        attention_norm=_norm(weights, f"{place}layernorm_before", config["layer_norm_eps"]),
        up=_linear(weights, f"{place}intermediate.dense"),
        down=_linear(weights, f"{place}output.dense"),
        forward_norm=_norm(weights, f"{place}layernorm_after", config["layer_norm_eps"]),
    )
    embed = Affine(patch.flatten(1).mT, weights["embeddings.patch_embeddings.projection.bias"])
    positions = weights["embeddings.position_embeddings"][0]
    return VisionModel(embed, weights["embeddings.cls_token"].flatten(), positions, layer)


def load_language_model(folder: Path) -> LanguageModel:
    """Embedding and first layer of a BERT or GPT-2 checkpoint, told apart by its configuration.

    BERT's separator has the number 102, as in the published vocabularies, unless the configuration has a
    ``sep_token_id``.

    Raises:
        ValueError: another kind of model.
    """
    weights, config = read_weights(folder), _config(folder)
    if config["model_type"] == "gpt2":
        return _gpt2(weights, config)
    if config["model_type"] == "bert":
        return _bert(weights, config)
    raise ValueError(f"{folder}: a model of type {config['model_type']!r} is neither bert nor gpt2")


def _bert(weights: dict[str, Tensor], config: dict[str, Any]) -> LanguageModel:
    place, epsilon = "encoder.layer.0.", config["layer_norm_eps"]
    layer = Layer(
        heads=config["num_attention_heads"],
        query=_linear(weights, f"{place}attention.self.query"),
        key=_linear(weights, f"{place}attention.self.key"),
        value=_linear(weights, f"{place}attention.self.value"),
        output=_linear(weights, f"{place}attention.output.dense"),
        attention_norm=_norm(weights, f"{place}attention.output.LayerNorm", epsilon),
        up=_linear(weights, f"{place}intermediate.dense"),
        down=_linear(weights, f"{place}output.dense"),
        forward_norm=_norm(weights, f"{place}output.LayerNorm", epsilon),
        order="post",
    )
    words, positions, segments = (
        weights[f"embeddings.{name}_embeddings.weight"] for name in ("word", "position", "token_type")
    )
    norm = _norm(weights, "embeddings.LayerNorm", epsilon)
    separator = config.get("sep_token_id", PUBLISHED_SEPARATOR)
    return LanguageModel(words, positions, segments, norm, layer, causal=False, separator=separator)


def _gpt2(weights: dict[str, Tensor], config: dict[str, Any]) -> LanguageModel:
    joint, shift = weights["h.0.attn.c_attn.weight"], weights["h.0.attn.c_attn.bias"]
    query, key, value = (Affine(w, b) for w, b in zip(joint.chunk(3, dim=1), shift.chunk(3), strict=True))
    epsilon = config["layer_norm_epsilon"]
    layer = Layer(
        heads=config["n_head"],
        query=query,
        key=key,
        value=value,
        output=Affine(weights["h.0.attn.c_proj.weight"], weights["h.0.attn.c_proj.bias"]),
        attention_norm=_norm(weights, "h.0.ln_1", epsilon),
        up=Affine(weights["h.0.mlp.c_fc.weight"], weights["h.0.mlp.c_fc.bias"]),
        down=Affine(weights["h.0.mlp.c_proj.weight"], weights["h.0.mlp.c_proj.bias"]),
        forward_norm=_norm(weights, "h.0.ln_2", epsilon),
        gelu="tanh",
    )
    return LanguageModel(weights["wte.weight"], weights["wpe.weight"], None, None, layer, causal=True)


def _linear(weights: dict[str, Tensor], name: str) -> Affine:
    """A stored map acts as W x + b; here vectors are rows."""
    return Affine(weights[f"{name}.weight"].mT, weights[f"{name}.bias"])


def _norm(weights: dict[str, Tensor], name: str, epsilon: float) -> Norm:
    """Older files, the published BERT among them, say gamma and beta for weight and bias."""
    scale, shift = ("weight", "bias") if f"{name}.weight" in weights else ("gamma", "beta")
    return Norm(weights[f"{name}.{scale}"], weights[f"{name}.{shift}"], epsilon)


def _config(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "config.json").read_text(encoding="utf-8"))


def _read_safetensors(path: Path) -> dict[str, Tensor]:
    """The format: eight bytes of length, a JSON header with types, shapes and places, then the numbers."""
    content = bytearray(path.read_bytes())
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    numbers = memoryview(content)[8 + length :]
    weights = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            flat = torch.frombuffer(numbers[begin:end], dtype=_TYPES[entry["dtype"]])
            weights[name] = flat.reshape(entry["shape"]).clone()
    return weights
