"""Training many memorising models at once, against one model at a time with attention at every position.

    python benchmarks/memorization_training.py

Both run on one core at the sizes of Figure 2 (d = 64, n = 32, 100 classes, batch 256), forward, backward and Adam; with
separate contexts every example has its own n tokens (Appendix I.1). The literal trainer embeds every context again for
every example and computes keys, queries and outputs of all n + 1 positions, of which one is read. The figure is
model-steps per CPU second; the two trainers take turns, and the ratio is that of the medians. It ends non-zero where a
ratio is below the least one. For separate contexts at twenty heads that is forty: 51 were measured with the gradient
written out, 42 on a busy machine, and 38 to 41 with autograd.
"""

import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from attention_theory.encodings import sinusoidal
from attention_theory.measure import timed
from attention_theory.memorization.synthetic import Setting, sample_data_sets
from attention_theory.memorization.trainer import PanelTrainer

WIDTH, TOKENS, CLASSES, BATCH, EXAMPLES = 64, 32, 100, 256, 2_000


@dataclass(frozen=True)
class Case:
    """One comparison: the models of the panel, the steps in a turn, the turns, and the least ratio."""

    heads: int
    shared: bool
    models: int
    steps: int
    turns: int
    least: float


CASES = [
    Case(1, True, 16, 10, 12, 25),
    Case(4, True, 4, 10, 8, 25),
    Case(20, True, 4, 4, 4, 100),
    Case(1, False, 4, 4, 8, 0),
    Case(4, False, 4, 4, 6, 0),
    Case(20, False, 4, 2, 5, 40),
]


class LiteralModel(nn.Module):
    """Embedding, positions, multi-head attention over all positions, read-out of the first."""

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.embed = nn.Linear(WIDTH, WIDTH)
        self.keys = nn.Linear(WIDTH, heads * WIDTH, bias=False)
        self.queries = nn.Linear(WIDTH, heads * WIDTH, bias=False)
        self.values = nn.Linear(WIDTH, heads, bias=False)
        self.output = nn.Linear(heads, WIDTH, bias=False)
        self.decode = nn.Linear(WIDTH, CLASSES)
        self.positions = sinusoidal(TOKENS + 1, WIDTH, dtype=torch.float32)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embed(tokens) + self.positions
        keys, queries = (part(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in (self.keys, self.queries))
        scores = queries @ keys.mT / WIDTH**0.5
        scores[..., 0] = -torch.inf
        values = self.values(x).mT[..., None]
        mixed = (scores.softmax(dim=-1) @ values)[..., 0].mT
        return self.decode(self.output(mixed))[:, 0]


def literal_step(case: Case) -> Callable[[], None]:
    """One step of one model."""
    data = sample_data_sets([Setting(case.heads, TOKENS, EXAMPLES, WIDTH)], WIDTH, case.shared, classes=CLASSES)
    model = LiteralModel(case.heads)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)

    def step() -> None:
        chosen = torch.randint(EXAMPLES, (BATCH,))
        context = data.contexts.expand(BATCH, -1, -1) if case.shared else data.contexts[0, chosen]
        tokens = torch.cat([data.queries[0, chosen][:, None], context], dim=1)
        loss = nn.functional.cross_entropy(model(tokens), data.labels[0, chosen])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()

    return step


def paces(case: Case) -> tuple[float, float]:
    """Model-steps per CPU second, literally and in a panel."""
    settings = [Setting(case.heads, TOKENS, EXAMPLES, WIDTH, seed) for seed in range(case.models)]
    data = sample_data_sets(settings, WIDTH, case.shared, classes=CLASSES)
    trainer = PanelTrainer(settings, data, 10_000, BATCH)
    literal = literal_step(case)
    pairs = []
    for turn in range(case.turns + 1):
        until = (turn + 1) * case.steps
        pairs.append((timed(literal)[1], timed(partial(trainer.train, until))[1] / (case.models * case.steps)))
    slow, fast = (statistics.median(times) for times in zip(*pairs[1:], strict=True))
    return 1 / slow, 1 / fast


def main() -> int:
    torch.set_num_threads(1)
    print(f"d = {WIDTH}, n = {TOKENS}, {CLASSES} classes, batch {BATCH}; model-steps per CPU second")
    met = True
    for case in CASES:
        literal, panel = paces(case)
        contexts = "shared  " if case.shared else "separate"
        rates = f"literal {literal:7.2f}   panel of {case.models:2} {panel:7.1f}   ratio {panel / literal:5.0f}"
        print(f"H = {case.heads:2}, {contexts}: {rates}   (at least {case.least:g})", flush=True)
        met &= panel >= case.least * literal
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
