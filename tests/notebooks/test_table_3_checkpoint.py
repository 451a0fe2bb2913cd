"""The page of Table 3 on a folder with a small GPT-2, made so that its first layer leaves little but the positions."""

import json
from pathlib import Path

import pytest
import torch

from attention_theory.randomness import normal
from bookpress.claims.evidence import Role
from bookpress.claims.registry import Verdict
from bookpress.layout import LAPTOP, Layout
from bookpress.notebooks.run import run

PAGE = "memorization/table_3_language"
if PAGE not in Layout.here().notebooks():
    pytest.skip("a book without the papers' tables", allow_module_level=True)

N, WIDTH, WORDS = 16, 48, 16
SMALL = {"gpt_tokens": 8, "gpt_width": 16, "bert_tokens": 8, "bert_width": 16, "texts_count": 100}


def folder_with(positions: torch.Tensor, path: Path) -> Path:
    """A GPT-2 with these positions, words in few dimensions, and a layer that drowns all that is in these."""
    words = normal(WORDS, WIDTH, seed=1)
    basis = torch.linalg.qr(torch.cat([torch.ones(1, WIDTH), words]).double().mT).Q
    beside = torch.eye(WIDTH) - basis @ basis.mT  # a normalisation takes away the mean
    weights = {
        "wte.weight": normal(256, WORDS, seed=2) @ words / WORDS**0.5,
        "wpe.weight": positions,
        "h.0.mlp.c_fc.weight": torch.cat([beside, -beside], dim=1),  # gelu(z) - gelu(-z) is z
        "h.0.mlp.c_proj.weight": 1e9 * torch.cat([torch.eye(WIDTH), -torch.eye(WIDTH)]),
        "h.0.attn.c_attn.weight": torch.zeros(WIDTH, 3 * WIDTH),
        "h.0.attn.c_proj.weight": torch.zeros(WIDTH, WIDTH),
    }
    for name, times in {"attn.c_attn": 3, "attn.c_proj": 1, "mlp.c_fc": 2, "mlp.c_proj": 1}.items():
        weights[f"h.0.{name}.bias"] = torch.zeros(times * WIDTH)
    for name in ("ln_1", "ln_2"):
        weights |= {f"h.0.{name}.weight": torch.ones(WIDTH), f"h.0.{name}.bias": torch.zeros(WIDTH)}
    torch.save({name: value.float() for name, value in weights.items()}, path / "pytorch_model.bin")
    config = {"model_type": "gpt2", "n_head": 2, "layer_norm_epsilon": 1e-12}
    (path / "config.json").write_text(json.dumps(config))
    signs = [*range(33, 127), *range(161, 173), *range(174, 256), *range(256, 256 + 68)]
    (path / "vocab.json").write_text(json.dumps({chr(sign): number for number, sign in enumerate(signs)}))
    (path / "merges.txt").write_text("#version: 0.2\n")
    return path


@pytest.mark.parametrize(("rank", "verdict"), [(N - 1, Verdict.STAND_IN), (N, Verdict.UNDECIDED)])
def test_a_gpt2_decides_the_claim_on_its_positions(rank: int, verdict: Verdict, tmp_path: Path) -> None:
    left, values, right = torch.linalg.svd(normal(N, WIDTH, seed=3), full_matrices=False)
    folder = folder_with((left[:, :rank] * values[:rank]) @ right[:rank], tmp_path)
    record = run(
        PAGE,
        SMALL | {"checkpoint": str(folder)},
        LAPTOP,
        Layout.here(),
        tmp_path / "there.ipynb",
    )
    claims = {one.claim: one for one in record.claims}
    settled = claims["memorization/remark-appendix-j-gpt2"]
    found = {item.label: item for item in settled.evidence}
    assert settled.verdict is verdict
    assert found["positions, float32: rank less n"].measured == rank - N
    assert found["L0, float32: share of contexts of full rank"].measured == 1
    assert found["L1, float32: share of contexts of full rank"].measured == float(rank == N)
    assert found["L1, float32: share of contexts of full rank"].draws == 600
    assert all(item.passed is False for item in settled.evidence if item.role is Role.CONTROL)
    assert "published model" in (tmp_path / "there.ipynb").read_text()
