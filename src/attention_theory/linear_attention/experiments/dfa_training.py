"""How many examples a decoder needs to execute automata that it has not seen (Figure 3).

The tables of all automata of a size are dealt into three kinds: half of them are for training, a quarter tells when to
stop, and with the last quarter the result is measured. No table is of two kinds.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor
from torch.nn.functional import cross_entropy

from attention_theory.linear_attention.experiments.automata import StringForm, automata_of_parts, write_strings
from attention_theory.linear_attention.experiments.decoder import Decoder, DecoderSize
from attention_theory.randomness import generator, streams
from attention_theory.validation import require

#: The accuracy on history tokens that ends a training, as in the paper.
TARGET = 0.99
#: The parts of all tables that are trained on, that end the training, and that are kept for the result.
TRAINING, STOPPING, RESULT = (0, 1), (2,), (3,)


@dataclass(frozen=True)
class Reached:
    """The end of a training.

    Attributes:
        examples: strings seen until the target was reached on the tables kept for stopping, or None if it was not.
            Where there are few strings of a size, some were seen more than once.
        history: share of right next tokens over the histories of the automata kept for the result.
        states: the same over the states that have to be looked up.
        other_tables: share of right history tokens where the prompt shows another automaton's table.
        curve: examples seen and share of right history tokens at each test for stopping.
    """

    examples: int | None
    history: float
    states: float
    other_tables: float
    curve: list[tuple[int, float]]


def one_pass(
    form: StringForm,
    size: DecoderSize,
    batch: int,
    steps: int,
    rate: float,
    seed: int,
    every: int = 10,
    tested: int = 256,
) -> Reached:
    """Train on examples drawn as they come, until strings of kept tables are continued right in 99 of 100 tokens.

    Args:
        form: the strings.
        size: the decoder.
        batch: strings in a step.
        steps: most steps.
        rate: AdamW's learning rate, reached over 30 steps; no weight decay.
        seed: draws weights, examples, the strings of the tests, and which tables are kept from training.
        every: steps between tests.
        tested: strings in a test for stopping; the result is measured on four times as many.

    Raises:
        ParameterError: a batch, steps or steps between tests below 1, or fewer than 2 tested strings.
    """
    require(batch=(batch, 1, None), steps=(steps, 1, None), every=(every, 1, None), tested=(tested, 2, None))
    draws = generator(seed)
    batches = (write_strings(*automata_of_parts(TRAINING, batch, form, draws, seed), form) for _ in range(steps))
    return _train(form, size, batches, rate, seed, every, tested)


def data_sets(
    form: StringForm,
    size: DecoderSize,
    examples: Sequence[int],
    batch: int,
    epochs: int,
    rate: float,
    seed: int,
    tested: int = 256,
    device: torch.device | str = "cpu",
) -> Reached:
    """The paper's way: one training for each number of examples, in order, up to the first that reaches the target.

    Args:
        form, size, batch, rate, seed, tested: as in :func:`one_pass`.
        examples: the numbers N of examples to try.
        epochs: passes through the data; a training stops early at the target.
        device: where to train.

    Raises:
        ParameterError: no number of examples, a number, batch or epochs below 1, or fewer than 2 tested strings.
    """
    require(examples=(list(examples), 1, None), epochs=(epochs, 1, None), batch=(batch, 1, None))
    require(tested=(tested, 2, None))
    for count in examples:
        draws = generator(seed)
        strings = write_strings(*automata_of_parts(TRAINING, count, form, draws, seed), form)
        orders = (torch.randperm(count, generator=draws) for _ in range(epochs))
        batches = (strings[part] for order in orders for part in order.split(batch))
        an_epoch = max(1, -(-count // batch))
        found = _train(form, size, batches, rate, seed, an_epoch, tested, device)
        if found.examples is not None:
            break
    reached = count if found.examples is not None else None
    return Reached(reached, found.history, found.states, found.other_tables, found.curve)


def _train(
    form: StringForm,
    size: DecoderSize,
    batches: Iterable[Int[Tensor, "batch length"]],
    rate: float,
    seed: int,
    every: int,
    tested: int,
    device: torch.device | str = "cpu",
) -> Reached:
    model = Decoder(size, seed).to(device)
    optimiser = torch.optim.AdamW(model.parameters(), lr=rate, betas=(0.9, 0.95), weight_decay=0.0, fused=True)
    (tests,) = streams(seed, 1)
    test_draws = generator(tests)
    stopping = write_strings(*automata_of_parts(STOPPING, tested, form, test_draws, seed), form).to(device)
    history = stopping.shape[1] - form.prompt
    seen, curve, examples = 0, [], None
    for step, strings in enumerate(_moved(batches, device), start=1):
        optimiser.param_groups[0]["lr"] = rate * min(1.0, step / 30)
        logits = model(strings[:, :-1], history)
        loss = cross_entropy(logits.flatten(0, 1), strings[:, -history:].flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        seen += len(strings)
        if step % every == 0:
            curve.append((seen, _right(model, stopping, history).double().mean().item()))
            if curve[-1][1] >= TARGET:
                examples = seen
                break
    tables, words = automata_of_parts(RESULT, 4 * tested, form, test_draws, seed)
    right = _right(model, write_strings(tables, words, form).to(device), history)
    shown = write_strings(tables, words, form, shown=tables.roll(1, dims=0)).to(device)
    misled = _right(model, shown, history).double().mean().item()
    states = right[:, form.state_places].double().mean().item()
    return Reached(examples, right.double().mean().item(), states, misled, curve)


def _moved(batches: Iterable[Tensor], device: torch.device | str) -> Iterator[Tensor]:
    return (strings.to(device) for strings in batches)


@torch.no_grad()
def _right(model: Decoder, strings: Int[Tensor, "count length"], history: int) -> Bool[Tensor, "count history"]:
    """Which tokens of the histories are predicted, each from the true tokens before it."""
    return model(strings[:, :-1], history).argmax(dim=-1) == strings[:, -history:]
