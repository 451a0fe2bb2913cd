import pytest
import torch
from torch.nn.functional import rms_norm, scaled_dot_product_attention, silu

from attention_theory.encodings import rotate
from attention_theory.linear_attention.experiments.decoder import Decoders, DecoderSize
from attention_theory.randomness import generator

SIZE = DecoderSize(vocabulary=7, width=16, heads=2, layers=2)


def drawn_tokens(decoders: int, batch: int = 2) -> torch.Tensor:
    return torch.randint(7, (decoders, batch, 9), generator=generator(1))


def one_by_one(model: Decoders, tokens: torch.Tensor) -> torch.Tensor:
    """The logits at every place: each decoder, string and head by itself, with gains where they stand in the paper."""
    size, logits = model.size, []
    for decoder, strings in enumerate(tokens):
        for string in strings:
            stream = model.embedding[decoder][string]
            for layer in range(size.layers):
                gain, second = (model.gains[2 * layer + one][decoder, :, 0] for one in range(2))
                mixed = rms_norm(stream, (size.width,), gain) @ model.attend[layer][decoder]
                queries, keys, values = (part.unflatten(-1, (size.heads, -1)) for part in mixed.chunk(3, dim=-1))
                heads = [
                    scaled_dot_product_attention(
                        rotate(queries[:, head], base=size.rotary),
                        rotate(keys[:, head], base=size.rotary),
                        values[:, head],
                        is_causal=True,
                    )
                    for head in range(size.heads)
                ]
                stream = stream + torch.cat(heads, dim=-1) @ model.mix[layer][decoder]
                gate, value = (rms_norm(stream, (size.width,), second) @ model.expand[layer][decoder]).chunk(2, dim=-1)
                stream = stream + (silu(gate) * value) @ model.contract[layer][decoder]
            last = model.gains[-1][decoder, :, 0]
            logits.append(rms_norm(stream, (size.width,), last) @ model.unembedding[decoder])
    return torch.stack(logits).unflatten(0, tokens.shape[:2])


@pytest.mark.parametrize("rotary", [10.0, 10_000.0])
def test_a_stack_computes_what_each_decoder_computes_alone(rotary: float) -> None:
    model = Decoders(DecoderSize(7, 16, 2, 2, feed_forward=12, rotary=rotary), [0, 5, 9])
    with torch.no_grad():
        for gain in model.gains:
            gain += 0.2 * torch.randn(gain.shape, generator=generator(2))
    tokens = drawn_tokens(3)
    torch.testing.assert_close(model(tokens, 9), one_by_one(model, tokens))


def test_a_decoder_depends_on_its_own_seed_alone() -> None:
    stack, alone = Decoders(SIZE, [3, 4]), Decoders(SIZE, [4])
    for in_stack, by_itself in zip(stack.parameters(), alone.parameters(), strict=True):
        assert torch.equal(in_stack[1:], by_itself)


def test_fewer_outputs_are_the_last_ones() -> None:
    model, tokens = Decoders(SIZE, [0]), drawn_tokens(1)
    torch.testing.assert_close(model(tokens, 4), model(tokens, 9)[:, :, -4:])


@pytest.mark.parametrize("size", [SIZE, DecoderSize(7, 16, 2, 3, feed_forward=16)])
def test_the_weights_are_counted(size: DecoderSize) -> None:
    model = Decoders(size, [0])
    counted = sum(one.numel() for name in ("attend", "mix", "expand", "contract") for one in getattr(model, name))
    assert size.weights == counted
