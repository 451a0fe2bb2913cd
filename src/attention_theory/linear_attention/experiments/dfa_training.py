"""Number of examples that a decoder needs to execute unseen automata (Figure 3).

The tables of all automata of a size are dealt into three kinds: half of them are for training, a quarter tells when to
stop, and with the last quarter the result is measured. No table is of two kinds.

The seed of a run draws its weights, its examples, its tests, and which tables are of which kind. Runs are trained side
by side, as a stack of decoders.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Int
from torch import Tensor
from torch.nn.functional import cross_entropy

from attention_theory.linear_attention.experiments.automata import StringForm, automata_of_parts
from attention_theory.linear_attention.experiments.decoder import Decoders, DecoderSize
from attention_theory.randomness import generator, streams
from attention_theory.validation import Each, require, require_some

#: The accuracy on history tokens that ends a training, as in the paper.
TARGET = 0.99
#: The parts of all tables that are trained on, that end the training, and that are kept for the result.
_TRAINING, _STOPPING, _RESULT = (0, 1), (2,), (3,)
#: A test is made only while so many of the tokens of the last strings trained on are right: it would fail below.
_PROMISING = 0.98
#: Runs with fewer of their tokens right, the brackets among them, have learned nothing.
_IDLE = 0.75
#: The learning rate rises over so many examples.
_WARM_UP = 960
#: Strings drawn at once.
_DRAWN = 512
#: Strings of each run tested at once: more of them do not stay in a processor's cache.
_AT_ONCE = 32


@dataclass(frozen=True)
class _Reached:
    """The end of a training.

    Attributes:
        examples: strings seen until the target was reached on the tables kept for stopping, or None if it was not.
        history: fraction of right next tokens over the histories of the automata kept for the result.
        states: the same over the states that have to be looked up.
        other_tables: the same as ``history`` where the prompt shows another automaton's table, on half as many.
        curve: examples seen and fraction of right history tokens at each test for stopping.
    """

    examples: int | None
    history: float
    states: float
    other_tables: float
    curve: list[tuple[int, float]]


@dataclass(frozen=True)
class DecoderTraining:
    """Training settings of decoders, the same at every size of the automata.

    Attributes:
        batch: strings in a step.
        lr: AdamW's learning rate, reached over the first 960 strings; no weight decay.
        every: strings between tests for stopping.
        tested: strings in a test for stopping; the result is measured on twice as many.
        patience: strings after which runs are given up if none of them has learned anything.

    Raises:
        ParameterError: a number below 1, or fewer than 2 tested strings.
    """

    batch: int = 8
    lr: float = 0.002
    every: int = 96
    tested: int = 256
    patience: int = 4000

    def __post_init__(self) -> None:
        require(batch=(self.batch, 1, None), every=(self.every, 1, None), tested=(self.tested, 2, None))
        require(lr=(self.lr, 1e-7, 1.0), patience=(self.patience, 1, None))

    def one_pass(
        self,
        form: StringForm,
        size: DecoderSize,
        most: int,
        seeds: Sequence[int],
        device: torch.device | str = "cpu",
    ) -> list[_Reached]:
        """Train on examples drawn as they come, until strings of kept tables are continued right in 99 of 100 tokens.

        Args:
            form: the strings.
            size: the decoders.
            most: strings after which a run ends in any case.
            seeds: the seed of each run.
            device: where to train.

        Raises:
            ParameterError: fewer strings than a batch, or no seed.
        """
        require(most=(most, self.batch, None))
        sources = [_fresh(form, seed, self.batch) for seed in seeds]
        return _Stack(form, size, self, seeds, device).train(sources, most)

    def data_sets(
        self,
        form: StringForm,
        size: DecoderSize,
        examples: Sequence[int],
        epochs: int,
        seeds: Sequence[int],
        device: torch.device | str = "cpu",
    ) -> list[_Reached]:
        """The paper's way: one training for each number of examples, in order, up to the first that reaches the target.

        Args:
            form, size, seeds, device: as in :meth:`one_pass`, but a test is made after each pass, and nothing is
                given up before the last.
            examples: the numbers N of examples to try; what is reached is one of them.
            epochs: passes through the data; a training stops early at the target.

        Raises:
            ParameterError: no number of examples, a number or epochs below 1, or no seed.
        """
        require(examples=(Each(examples), 1, None), epochs=(epochs, 1, None))
        require_some(seeds=seeds)
        return [self._least_set(form, size, examples, epochs, seed, device) for seed in seeds]

    def _least_set(
        self,
        form: StringForm,
        size: DecoderSize,
        examples: Sequence[int],
        epochs: int,
        seed: int,
        device: torch.device | str,
    ) -> _Reached:
        for count in examples:
            source = _passes(form, seed, count, self.batch, epochs)
            by_pass = replace(self, every=count, patience=count * epochs)
            (found,) = _Stack(form, size, by_pass, [seed], device).train([source], count * epochs)
            if found.examples is not None:
                return _Reached(count, found.history, found.states, found.other_tables, found.curve)
        return found


def _fresh(form: StringForm, seed: int, batch: int) -> Iterator[Int[Tensor, "batch length"]]:
    draws = generator(seed)
    while True:
        drawn = max(batch, _DRAWN // batch * batch)
        yield from form.write(*automata_of_parts(_TRAINING, drawn, form, draws, seed)).split(batch)


def _passes(form: StringForm, seed: int, count: int, batch: int, epochs: int) -> Iterator[Int[Tensor, "part length"]]:
    draws = generator(seed)
    strings = form.write(*automata_of_parts(_TRAINING, count, form, draws, seed))
    for _ in range(epochs):
        yield from (strings[part] for part in torch.randperm(count, generator=draws).split(batch))


class _Stack:
    """Runs side by side. Those that have reached the target leave the stack."""

    def __init__(
        self,
        form: StringForm,
        size: DecoderSize,
        training: DecoderTraining,
        seeds: Sequence[int],
        device: torch.device | str,
    ) -> None:
        self.form, self.training, self.device = form, training, device
        self.seeds = list(seeds)
        self.model = Decoders(size, seeds).to(device)
        self.optimiser = _adam(self.model, training.lr)
        self.test_draws = {seed: generator(streams(seed, 1)[0]) for seed in seeds}
        self.stopping = torch.stack([self._kept(_STOPPING, training.tested, seed) for seed in seeds]).to(device)
        self.recent = torch.zeros(len(seeds), dtype=torch.float64, device=device)
        self.curves: dict[int, list[tuple[int, float]]] = {seed: [] for seed in seeds}

    @property
    def history(self) -> int:
        return self.form.length - self.form.prompt

    def train(self, sources: Sequence[Iterator[Tensor]], most: int) -> list[_Reached]:
        """The end of each run, after at most so many strings, which the sources hold."""
        live = dict(zip(self.seeds, sources, strict=True))
        done: dict[int, _Reached] = {}
        order, seen, next_test = self.seeds, 0, self.training.every
        while live and seen < most:
            strings = torch.stack([next(live[seed]) for seed in self.seeds]).to(self.device)
            seen += strings.shape[1]
            self._step(strings, seen)
            if seen < next_test:
                continue
            next_test += self.training.every * -(-(seen - next_test + 1) // self.training.every)
            reached = self._tested(seen)
            for place in reached:
                done[self.seeds[place]] = self._result(place, seen)
                del live[self.seeds[place]]
            if seen >= self.training.patience and self.recent.max() < _IDLE:
                break
            if reached and live:
                self._keep([place for place in range(len(self.seeds)) if place not in reached])
        done |= {seed: self._result(place, None) for place, seed in enumerate(self.seeds) if seed in live}
        return [done[seed] for seed in order]

    def _step(self, strings: Int[Tensor, "runs batch length"], seen: int) -> None:
        self.optimiser.param_groups[0]["lr"] = self.training.lr * min(1.0, seen / _WARM_UP)
        logits = self.model(strings[..., :-1], self.history)
        targets = strings[..., -self.history :]
        losses = cross_entropy(logits.flatten(0, 2), targets.flatten(), reduction="none")
        self.optimiser.zero_grad()
        losses.unflatten(0, (len(strings), -1)).mean(dim=1).sum().backward()  # each run by its own loss
        self.optimiser.step()
        right = (logits.detach().argmax(dim=-1) == targets).double().mean(dim=(1, 2))
        self.recent.lerp_(right, min(1.0, strings.shape[1] / self.training.every))

    def _tested(self, seen: int) -> list[int]:
        """The places of the runs that pass the test for stopping, which only the promising ones take."""
        promising = (self.recent >= _PROMISING).nonzero().flatten().tolist()
        if not promising:
            return []
        right = _right(_part(self.model, promising), self.stopping[promising], self.history)
        shares = right.double().mean(dim=(1, 2)).tolist()
        for place, share in zip(promising, shares, strict=True):
            self.curves[self.seeds[place]].append((seen, share))
        return [place for place, share in zip(promising, shares, strict=True) if share >= TARGET]

    def _result(self, place: int, examples: int | None) -> _Reached:
        seed, model = self.seeds[place], _part(self.model, [place])
        tables, words = automata_of_parts(_RESULT, 2 * self.training.tested, self.form, self.test_draws[seed], seed)
        honest = self.form.write(tables, words).to(self.device)[None]
        misled = self.form.write(tables, words, shown=tables.roll(1, dims=0)).to(self.device)[None]
        misled = misled[:, : self.training.tested]
        right = _right(model, honest, self.history)
        return _Reached(
            examples=examples,
            history=right.double().mean().item(),
            states=right[..., self.form.state_places].double().mean().item(),
            other_tables=_right(model, misled, self.history).double().mean().item(),
            curve=self.curves[seed],
        )

    def _keep(self, places: list[int]) -> None:
        """Go on with these runs alone: their weights, and what the optimiser knows of them."""
        model = _part(self.model, places)
        optimiser = _adam(model, self.training.lr)
        for old, new in zip(self.model.parameters(), model.parameters(), strict=True):
            state = self.optimiser.state[old]
            averages = {name: state[name][places].clone() for name in ("exp_avg", "exp_avg_sq")}
            optimiser.state[new] = {"step": state["step"], **averages}
        self.model, self.optimiser = model, optimiser
        self.seeds = [self.seeds[place] for place in places]
        self.stopping, self.recent = self.stopping[places], self.recent[places]

    def _kept(self, parts: tuple[int, ...], count: int, seed: int) -> Int[Tensor, "count length"]:
        return self.form.write(*automata_of_parts(parts, count, self.form, self.test_draws[seed], seed))


def _adam(model: Decoders, lr: float) -> torch.optim.AdamW:
    return torch.optim.AdamW(model.parameters(), lr=lr, betas=(0.9, 0.95), weight_decay=0.0, fused=True)


def _part(model: Decoders, places: list[int]) -> Decoders:
    """A stack of some of the decoders, with copies of their weights."""
    part = Decoders(model.size, [0] * len(places)).to(model.unembedding.device)
    with torch.no_grad():
        for ours, theirs in zip(part.parameters(), model.parameters(), strict=True):
            ours.copy_(theirs[places])
    return part


@torch.no_grad()
def _right(
    model: Decoders, strings: Int[Tensor, "runs count length"], history: int
) -> Bool[Tensor, "runs count history"]:
    """Mask of the tokens of the histories that are predicted, each from the true tokens before it."""
    parts = strings.split(_AT_ONCE, dim=1)
    found = torch.cat([model(part[..., :-1], history).argmax(dim=-1) for part in parts], dim=1)
    return found == strings[..., -history:]
