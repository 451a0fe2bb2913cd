"""Small random checkpoints: saved under the published names, and by the ``transformers`` library where it is there."""

import importlib.util
import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
import torch

from attention_theory.data.photographs import patches
from attention_theory.memorization.language import random_language_model
from attention_theory.memorization.published import installed_checkpoint, load_language_model, load_vision_model
from attention_theory.memorization.transformer import Layer
from attention_theory.memorization.vision import random_vision_model
from attention_theory.randomness import normal
from safetensors_file import write_safetensors

needs_transformers = pytest.mark.skipif(
    not importlib.util.find_spec("transformers"), reason="needs the optional package transformers"
)


def linear(name: str, part: object) -> dict[str, torch.Tensor]:
    return {f"{name}.weight": part.weight.mT.contiguous(), f"{name}.bias": part.bias}  # type: ignore[attr-defined]


def plain_norm(name: str, width: int) -> dict[str, torch.Tensor]:
    return {f"{name}.weight": torch.ones(width), f"{name}.bias": torch.zeros(width)}


def layer_weights(
    layer: Layer, attention: str, norms: tuple[str, str], width: int, number: int = 0
) -> dict[str, torch.Tensor]:
    place = f"encoder.layer.{number}."
    weights: dict[str, torch.Tensor] = {}
    for name in ("query", "key", "value"):
        weights |= linear(f"{place}{attention}.{name}", getattr(layer, name))
    weights |= linear(f"{place}attention.output.dense", layer.output)
    weights |= linear(f"{place}intermediate.dense", layer.up) | linear(f"{place}output.dense", layer.down)
    return weights | plain_norm(place + norms[0], width) | plain_norm(place + norms[1], width)


@pytest.mark.parametrize("form", ["safetensors", "bin"])
def test_vit(tmp_path: Path, form: str) -> None:
    model = random_vision_model(5, 3 * 4 * 4, 8, 2, seed=0)
    names = layer_weights(model.layer, "attention.attention", ("layernorm_before", "layernorm_after"), 8)
    names |= {
        "embeddings.patch_embeddings.projection.weight": model.embed.weight.mT.reshape(8, 3, 4, 4),
        "embeddings.patch_embeddings.projection.bias": model.embed.bias,
        "embeddings.cls_token": model.class_token[None, None],
        "embeddings.position_embeddings": model.positions[None],
    }
    saved = {f"vit.{name}": value for name, value in names.items()}
    if form == "bin":
        torch.save(saved, tmp_path / "pytorch_model.bin")
    else:
        write_safetensors(tmp_path / "model.safetensors", saved)
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


def test_the_packaged_checkpoint_is_whole_where_it_is_installed() -> None:
    folder = installed_checkpoint()
    assert folder is None or {"config.json", "model.safetensors", "vocab.txt"} <= {
        path.name for path in folder.iterdir()
    }


def test_another_kind_of_model_is_refused(tmp_path: Path) -> None:
    torch.save({}, tmp_path / "pytorch_model.bin")
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "t5"}))
    with pytest.raises(ValueError, match="neither"):
        load_language_model(tmp_path)


def moved(model: Any) -> Any:
    """A model of the library with all its parameters a little off their start, so that none is 0 or 1."""
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    return model.eval()


@needs_transformers
@pytest.mark.parametrize("kind", ["ViTModel", "ViTForImageClassification"])
def test_vit_as_the_library_computes_it(tmp_path: Path, kind: str) -> None:
    library = importlib.import_module("transformers")
    sizes = {"hidden_size": 48, "num_attention_heads": 4, "num_hidden_layers": 2, "intermediate_size": 96}
    model = moved(getattr(library, kind)(library.ViTConfig(**sizes, image_size=32, patch_size=8)))
    model.save_pretrained(tmp_path)
    loaded, images = load_vision_model(tmp_path), torch.randn(3, 3, 32, 32)
    states = model(pixel_values=images, output_hidden_states=True).hidden_states
    tokens = loaded.tokens(patches(images, 8))
    assert torch.allclose(tokens, states[0], atol=1e-5)
    assert torch.allclose(loaded.layer.everywhere(tokens), states[1], atol=1e-4)
    assert torch.allclose(loaded.layer.at(tokens, 0), states[1][:, 0], atol=1e-4)


@needs_transformers
@pytest.mark.parametrize("kind", ["BertModel", "BertForPreTraining"])
@pytest.mark.parametrize("sentences", [1, 2])
def test_bert_as_the_library_computes_it(tmp_path: Path, kind: str, sentences: Literal[1, 2]) -> None:
    library = importlib.import_module("transformers")
    sizes = {"hidden_size": 48, "num_attention_heads": 4, "num_hidden_layers": 2, "intermediate_size": 96}
    model = moved(getattr(library, kind)(library.BertConfig(**sizes, vocab_size=200, max_position_embeddings=20)))
    model.save_pretrained(tmp_path)
    loaded = replace(load_language_model(tmp_path), sentences=sentences)
    texts = torch.randint(110, 200, (3, 16))
    texts[:, 7] = 102
    segments = torch.zeros_like(texts)
    segments[:, 8:] = sentences - 1
    states = model(input_ids=texts, token_type_ids=segments, output_hidden_states=True).hidden_states
    assert torch.allclose(loaded.tokens(texts), states[0], atol=1e-5)
    for depth in (1, 2):
        assert torch.allclose(loaded.contexts(texts, depth), states[depth], atol=1e-4)


@needs_transformers
@pytest.mark.parametrize("kind", ["GPT2Model", "GPT2LMHeadModel"])
def test_gpt2_as_the_library_computes_it(tmp_path: Path, kind: str) -> None:
    library = importlib.import_module("transformers")
    config = library.GPT2Config(vocab_size=200, n_embd=48, n_head=4, n_layer=2, n_positions=20)
    model = moved(getattr(library, kind)(config))
    model.save_pretrained(tmp_path)
    loaded, texts = load_language_model(tmp_path), torch.randint(0, 200, (3, 16))
    states = model(input_ids=texts, output_hidden_states=True).hidden_states
    assert torch.allclose(loaded.tokens(texts), states[0], atol=1e-5)
    assert torch.allclose(loaded.contexts(texts, 1), states[1], atol=1e-4)
    assert torch.allclose(loaded.queries(texts, 1), states[1][:, -1], atol=1e-4)
