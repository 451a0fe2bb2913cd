"""What torch.compile and a CUDA graph would gain for the batched trainers: plain beside compiled beside graph.

    python benchmarks/training_compiled.py --device cuda
    python benchmarks/training_compiled.py

A step is a loss, its gradients and one step of Adam, from equal weights on equal batches: the memorising models of two
printed panels side by side, and language models of Table 1. On an accelerator the sizes are the printed ones; a CPU
takes those of a laptop and the plain way alone. The other ways are reported as ratios of steps a second, with the
relative difference of the last loss from the plain one's: a way that trains something else is no gain. No trainer of
the package takes these ways: what is measured here would have to speak for them first.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

import torch
from torch import Tensor, nn

from attention_theory.hyper_attention.language.language_model import TABLE_1, LanguageModel
from attention_theory.memorization.panel import forward
from attention_theory.memorization.printed_grid import BATCH, CLASSES, RATE, WIDTH, printed_panels
from attention_theory.memorization.synthetic import sample_data_sets
from attention_theory.memorization.trainer import PanelTrainer
from attention_theory.randomness import generator

WARM_UP = 3


@dataclass(frozen=True)
class Case:
    """A training at its start.

    Attributes:
        parameters: what is trained.
        batches: one tuple of tensors a step.
        loss: a number, from the tensors of a batch.
        clip: the largest norm of the gradient, if there is one.
    """

    parameters: list[Tensor]
    batches: Iterator[tuple[Tensor, ...]]
    loss: Callable[..., Tensor]
    clip: float | None = None

    def step(self, optimiser: torch.optim.Optimizer, loss: Callable[..., Tensor], batch: tuple[Tensor, ...]) -> Tensor:
        value = loss(*batch)
        optimiser.zero_grad()
        value.backward()
        if self.clip:
            nn.utils.clip_grad_norm_(self.parameters, self.clip)
        optimiser.step()
        return value.detach()


def memorising(name: str, seeds: int, device: str) -> Case:
    """All models of a printed panel, by autograd as the others here; their trainer has its gradient written out."""
    panel = next(one for one in printed_panels() if one.name == name)
    shapes = dict.fromkeys(replace(setting, examples=2 * BATCH) for setting in panel.settings)
    settings = [replace(setting, seed=seed) for setting in shapes for seed in range(seeds)]
    data = sample_data_sets(settings, WIDTH, panel.shared, panel.labels, CLASSES).to(device)
    trainer = PanelTrainer(settings, data, 10_000, BATCH, RATE)

    def batches() -> Iterator[tuple[Tensor, ...]]:
        while True:
            yield tuple(trainer.next_batch())
            trainer.step += 1

    weights = {name: value.clone().requires_grad_() for name, value in trainer.weights.items()}
    models = torch.arange(len(settings), device=device)[:, None]

    def loss(chosen: Tensor, bearers: Tensor) -> Tensor:
        contexts = data.contexts if data.shared else data.contexts[models, chosen]
        outputs, _ = forward(trainer.panel, weights, data.queries[models, chosen], contexts)
        labels = data.labels[models, bearers]
        if data.classes == 1:
            return (outputs[..., 0] - labels).square().sum() / BATCH
        return nn.functional.cross_entropy(outputs.flatten(0, 1), labels.flatten(), reduction="sum") / BATCH

    return Case(list(weights.values()), batches(), loss)


def language_model(name: str, device: str) -> Case:
    """One model of Table 1 on random tokens: what they are does not change what a step costs."""
    printed = device == "cuda"
    vocabulary, width, window, batch = (50_257, 768, 256, 25) if printed else (256, 48, 32, 16)
    model = LanguageModel(vocabulary, window, width, TABLE_1[name], seed=0).to(device)
    draw = generator(0)

    def batches() -> Iterator[tuple[Tensor, ...]]:
        while True:
            tokens = torch.randint(vocabulary, (batch, window + 1), generator=draw).to(device)
            yield tokens[:, :-1], tokens[:, 1:]

    def loss(inputs: Tensor, targets: Tensor) -> Tensor:
        return nn.functional.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())

    return Case(list(model.parameters()), batches(), loss, clip=1.0)


def stepper(case: Case, way: str, device: str) -> Callable[[], Tensor]:
    """What takes one step and returns the loss before it."""
    if way == "graph":
        return captured(case, device)
    optimiser = torch.optim.Adam(case.parameters, lr=RATE, fused=True)
    loss = torch.compile(case.loss) if way == "compiled" else case.loss
    return lambda: case.step(optimiser, loss, next(case.batches))


def captured(case: Case, device: str) -> Callable[[], Tensor]:
    """One step as a CUDA graph: recorded once, after a few steps that are taken back, and then replayed."""
    optimiser = torch.optim.Adam(case.parameters, torch.tensor(RATE, device=device), fused=True, capturable=True)
    first = next(case.batches)
    held, begin = [[part.detach().clone() for part in parts] for parts in (first, case.parameters)]
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(WARM_UP):
            case.step(optimiser, case.loss, tuple(held))
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    optimiser.zero_grad()
    with torch.cuda.graph(graph):
        value = case.step(optimiser, case.loss, tuple(held))
    with torch.no_grad():
        for parameter, was in zip(case.parameters, begin, strict=True):
            parameter.copy_(was)
        for average in (part for state in optimiser.state.values() for part in state.values()):
            average.zero_()
    batches = chain([first], case.batches)

    def replay() -> Tensor:
        for part, new in zip(held, next(batches), strict=True):
            part.copy_(new)
        graph.replay()
        return value

    return replay


def measured(make: Callable[[], Case], way: str, device: str, steps: int) -> tuple[float, float]:
    """Steps a second after the first few, and the last loss."""
    step = stepper(make(), way, device)
    for _ in range(WARM_UP):
        step()
    start = seconds(device)
    for _ in range(steps):
        value = step()
    return steps / (seconds(device) - start), value.item()


def seconds(device: str) -> float:
    """Of the core on a CPU; of the clock on an accelerator, once it has done what it was given."""
    if device == "cpu":
        return time.process_time()
    torch.cuda.synchronize()
    return time.perf_counter()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--steps", type=int, default=0, help="timed steps; 3 on a CPU, 200 on an accelerator")
    chosen = parser.parse_args()
    device, steps = chosen.device, chosen.steps or (3 if chosen.device == "cpu" else 200)
    if device == "cuda" and not torch.cuda.is_available():
        sys.exit("torch finds no accelerator here: --device cpu times the plain way")
    torch.set_num_threads(1)
    print(f"torch {torch.__version__}, float32 products in {torch.get_float32_matmul_precision()} precision")
    cases = {
        f"{name}, {seeds} seed(s)": partial(memorising, name, seeds, device)
        for name in ("Figure 2(a), heads", "Figure 4, heads, classes")
        for seeds in ((1, 3) if device == "cuda" else (1,))
    } | {f"Table 1, {name}": partial(language_model, name, device) for name in ("Self-Attention", "HyperAttention")}
    for name, make in cases.items():
        pace, loss = measured(make, "plain", device, steps)
        print(f"{name:36} plain {pace:8.1f} steps a second", flush=True)
        for way in ("compiled", "graph"):
            if device == "cpu":
                print(f"{'':36} {way}: left out, no accelerator")
                continue
            try:
                other, its_loss = measured(make, way, device, steps)
            except RuntimeError as error:  # one way that does not work here keeps no other from being measured
                print(f"{'':36} {way}: not run, {str(error).splitlines()[0]}")
                continue
            apart = abs(its_loss - loss) / abs(loss)
            print(f"{'':36} {way} {other:8.1f}, ratio {other / pace:5.2f}, loss apart {apart:.1e}", flush=True)


if __name__ == "__main__":
    main()
