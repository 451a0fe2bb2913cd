"""Small random checkpoints: saved under the published names, and by the ``transformers`` library where it is there."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from attention_theory.memorization.language import random_language_model
from attention_theory.memorization.published import load_language_model, load_vision_model
from attention_theory.memorization.transformer import TransformerLayer
from attention_theory.memorization.vision import random_vision_model
from attention_theory.randomness import normal
from safetensors_file import write_safetensors


def linear(name: str, part: object) -> dict[str, torch.Tensor]:
    return {f"{name}.weight": part.weight.mT.contiguous(), f"{name}.bias": part.bias}  # type: ignore[attr-defined]


def plain_norm(name: str, width: int) -> dict[str, torch.Tensor]:
    return {f"{name}.weight": torch.ones(width), f"{name}.bias": torch.zeros(width)}


def layer_weights(
    layer: TransformerLayer, attention: str, norms: tuple[str, str], width: int, number: int = 0
) -> dict[str, torch.Tensor]:
    place = f"encoder.layer.{number}."
    weights: dict[str, torch.Tensor] = {}
    for name in ("query", "key", "value"):
        weights |= linear(f"{place}{attention}.{name}", getattr(layer, name))
    weights |= linear(f"{place}attention.output.dense", layer.output)
    weights |= linear(f"{place}intermediate.dense", layer.up) | linear(f"{place}output.dense", layer.down)
    return weights | plain_norm(place + norms[0], width) | plain_norm(place + norms[1], width)


def test_vit(tmp_path: Path) -> None:
    model = random_vision_model(5, 3 * 4 * 4, 8, 2, seed=0)
    names = layer_weights(model.layer, "attention.attention", ("layernorm_before", "layernorm_after"), 8)
    names |= {
        "embeddings.patch_embeddings.projection.weight": model.embed.weight.mT.reshape(8, 3, 4, 4),
        "embeddings.patch_embeddings.projection.bias": model.embed.bias,
        "embeddings.cls_token": model.class_token[None, None],
        "embeddings.position_embeddings": model.positions[None],
    }
    write_safetensors(tmp_path / "model.safetensors", {f"vit.{name}": value for name, value in names.items()})
    (tmp_path / "config.json").write_text(json.dumps({"num_attention_heads": 2, "layer_norm_eps": 1e-12}))
    loaded = load_vision_model(tmp_path)
    cut = normal(3, 4, 48, seed=0, dtype=torch.float32)
    assert torch.allclose(loaded.tokens(cut), model.tokens(cut), atol=1e-6)
    expected = model.layer.everywhere(model.tokens(cut))
    assert torch.allclose(loaded.layer.everywhere(loaded.tokens(cut)), expected, atol=1e-6)


@pytest.mark.parametrize(("separator", "in_config"), [(1, {"sep_token_id": 1}), (102, {})])
@pytest.mark.parametrize("old_names", [False, True])
def test_bert(tmp_path: Path, separator: int, in_config: dict[str, int], old_names: bool) -> None:
    model = replace(random_language_model("bert", 120, 6, 8, 2, seed=0, depth=2), separator=separator, sentences=2)
    names: dict[str, torch.Tensor] = {}
    for number, layer in enumerate(model.layers):
        norms = ("attention.output.LayerNorm", "output.LayerNorm")
        names |= layer_weights(layer, "attention.self", norms, 8, number)
    assert model.segments is not None
    names |= {
        "embeddings.word_embeddings.weight": model.words,
        "embeddings.position_embeddings.weight": model.positions,
    }
    names |= {"embeddings.token_type_embeddings.weight": model.segments} | plain_norm("embeddings.LayerNorm", 8)
    if old_names:  # as in the published files
        for new, old in (("LayerNorm.weight", "LayerNorm.gamma"), ("LayerNorm.bias", "LayerNorm.beta")):
            names = {name.replace(new, old): value for name, value in names.items()}
    torch.save({f"bert.{name}": value for name, value in names.items()}, tmp_path / "pytorch_model.bin")
    config = {"model_type": "bert", "num_attention_heads": 2, "layer_norm_eps": 1e-12, **in_config}
    (tmp_path / "config.json").write_text(json.dumps(config))
    texts = torch.tensor([[0, 5, separator, 6, 7, 8]])
    loaded = replace(load_language_model(tmp_path), sentences=2)
    assert len(loaded.layers) == 2
    for depth in (1, 2):
        assert torch.allclose(loaded.contexts(texts, depth), model.contexts(texts, depth), atol=1e-6)
    assert not torch.allclose(loaded.tokens(texts), replace(loaded, separator=99).tokens(texts))


def test_gpt2(tmp_path: Path) -> None:
    model = random_language_model("gpt2", 20, 6, 8, 2, seed=0)
    (layer,) = model.layers
    assert layer.up is not None
    assert layer.down is not None
    names = {
        "wte.weight": model.words,
        "wpe.weight": model.positions,
        "h.0.attn.c_attn.weight": torch.cat([layer.query.weight, layer.key.weight, layer.value.weight], dim=1),
        "h.0.attn.c_attn.bias": torch.cat([layer.query.bias, layer.key.bias, layer.value.bias]),
    }
    for name, part in (("attn.c_proj", layer.output), ("mlp.c_fc", layer.up), ("mlp.c_proj", layer.down)):
        names |= {f"h.0.{name}.weight": part.weight, f"h.0.{name}.bias": part.bias}
    names |= plain_norm("h.0.ln_1", 8) | plain_norm("h.0.ln_2", 8)
    torch.save(names, tmp_path / "pytorch_model.bin")
    config = {"model_type": "gpt2", "n_head": 2, "layer_norm_epsilon": 1e-12}
    (tmp_path / "config.json").write_text(json.dumps(config))
    texts = torch.tensor([[5, 2, 6, 7, 8, 9]])
    loaded = load_language_model(tmp_path)
    assert torch.allclose(loaded.contexts(texts, 0), model.contexts(texts, 0), atol=1e-6)
    assert torch.allclose(loaded.contexts(texts, 1), model.contexts(texts, 1), atol=1e-4)  # GELU by tanh


def test_another_kind_of_model_is_refused(tmp_path: Path) -> None:
    torch.save({}, tmp_path / "pytorch_model.bin")
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "t5"}))
    with pytest.raises(ValueError, match="neither"):
        load_language_model(tmp_path)
