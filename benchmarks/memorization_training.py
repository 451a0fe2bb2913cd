"""Training many memorising models at once, against one model at a time with attention at every position.

    python benchmarks/memorization_training.py

Both run on one core at the sizes of Figure 2 (d = 64, n = 32, 100 classes, batch 256), forward, backward and Adam. The
literal trainer embeds every context again for every example and computes keys, queries and outputs of all n + 1
positions, of which one is read. The figure is model-steps per CPU second.
"""

import torch
from torch import Tensor, nn

from attention_theory.encodings import sinusoidal
from attention_theory.measure import cpu_seconds, timed
from attention_theory.memorization.synthetic import Setting, sample_data_sets
from attention_theory.memorization.trainer import PanelTrainer

WIDTH, TOKENS, CLASSES, BATCH, EXAMPLES = 64, 32, 100, 256, 2_000


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


def literal_rate(heads: int, steps: int) -> float:
    """Steps per CPU second of one model."""
    data = sample_data_sets([Setting(heads, TOKENS, EXAMPLES, WIDTH)], WIDTH, classes=CLASSES)
    model = LiteralModel(heads)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    context = data.contexts[0].expand(BATCH, -1, -1)

    def step() -> None:
        chosen = torch.randint(EXAMPLES, (BATCH,))
        tokens = torch.cat([data.queries[0, chosen][:, None], context], dim=1)
        loss = nn.functional.cross_entropy(model(tokens), data.labels[0, chosen])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()

    return 1 / cpu_seconds(step, repeats=steps)


def panel_rate(heads: int, models: int, steps: int) -> float:
    """Model-steps per CPU second of a panel."""
    settings = [Setting(heads, TOKENS, EXAMPLES, WIDTH, seed) for seed in range(models)]
    trainer = PanelTrainer(settings, sample_data_sets(settings, WIDTH, classes=CLASSES), steps + 2, BATCH)
    trainer.run(until=2)
    return models * steps / timed(trainer.run)[1]


def main() -> None:
    torch.set_num_threads(1)
    print(f"d = {WIDTH}, n = {TOKENS}, {CLASSES} classes, batch {BATCH}; model-steps per CPU second")
    for heads, literal_steps, models, steps in ((4, 6, 4, 60), (8, 4, 4, 40), (20, 3, 4, 30)):
        literal, panel = literal_rate(heads, literal_steps), panel_rate(heads, models, steps)
        print(f"H = {heads:2}: literal {literal:7.2f}   panel of {models} {panel:7.1f}   ratio {panel / literal:5.0f}")


if __name__ == "__main__":
    main()
