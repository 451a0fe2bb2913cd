"""Files of this paper: the heads of the universal Turing machine, and pairs of models with equal loss.

``EXPORTS`` has for each name a function of the options, which gives for each ending of a file's name a function that
makes the content.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Literal

from jaxtyping import Int
from torch import Tensor

from attention_theory.linear_attention.learning.certificate import certificate
from attention_theory.linear_attention.learning.error_bounds import coefficients_of_loss, draw_directions
from attention_theory.linear_attention.learning.regression import statistics
from attention_theory.linear_attention.machines.block_heads import BlockHead
from attention_theory.linear_attention.machines.compact import CompactMachine
from attention_theory.linear_attention.model.mhla import mhla, random_heads
from attention_theory.linear_attention.model.parameters import coefficients
from attention_theory.randomness import generator, normal
from attention_theory.validation import require

#: For each ending of a file's name, what makes the content.
_Forms = Mapping[str, Callable[[], bytes]]


def _turing(
    states: int = 8, letters: int = 4, word: int = 12, steps: int = 60, edge: Literal["lost", "stays"] = "lost"
) -> _Forms:
    """The heads of Lemma 2.2, which run every Turing machine within the bounds.

    Args:
        states: most states of a machine.
        letters: size of the alphabet.
        word: most letters of a word.
        steps: most steps of a machine.
        edge: what becomes of a head that moves left in the first cell.

    Raises:
        ParameterError: an argument out of its range.
    """
    require(states=(states, 1, 100), letters=(letters, 1, 100), word=(word, 1, 1000), steps=(steps, 1, 1000))
    require(edge=(edge, ["lost", "stays"]))
    machine = CompactMachine(states, letters, word, steps, stays=edge == "stays")
    sizes = {"states": states, "letters": letters, "word": word, "steps": steps, "edge": edge}
    return {".json": lambda: _written(machine, sizes)}


def _written(machine: CompactMachine, sizes: Mapping[str, Any]) -> bytes:
    """Sizes, the place of each block of rows, and the matrices Q and V of each head, entry by entry."""
    said = {
        "name": "universal Turing machine in one layer of linear attention",
        "sizes": dict(sizes),
        "width": machine.width,
        "rows": {name: [block.start, block.stop] for name, block in machine.rows.blocks.items()},
        "heads": [_matrices(head, machine.width) for head in machine.heads],
    }
    return (json.dumps(said) + "\n").encode()


def _matrices(head: BlockHead, width: int) -> dict[str, Any]:
    ones = head.weights.new_ones(len(head.source))
    return {
        "Q": {"shape": [width, width], "entries": _entries(head.key, head.source, ones)},
        "V": {"shape": [width, width], "entries": _entries(head.destination, head.value, head.weights)},
    }


def _entries(
    row: Int[Tensor, " entries"], column: Int[Tensor, " entries"], weight: Int[Tensor, " entries"]
) -> list[list[int]]:
    """Row, column and value of each entry that is not zero, in the order of the rows."""
    return sorted(map(list, zip(row.tolist(), column.tolist(), weight.tolist(), strict=True)))


def _pairs_of_models(pairs: int = 300, inputs: int = 200, epsilon: float = 1e-4, seed: int = 0) -> _Forms:
    """Differences of coefficients of two models of loss epsilon, and inputs: the draws of Lemma 4.4's page.

    Args:
        pairs: of models.
        inputs: on which they are compared.
        epsilon: loss of each model on the 60 samples.
        seed: of every draw.

    Raises:
        ParameterError: an argument out of its range.
    """
    require(pairs=(pairs, 3, 1000), inputs=(inputs, 1, 1000), epsilon=(epsilon, 1e-12, None))
    require(seed=(seed, 0, 2**64 - 1))
    source = generator(seed)
    tokens, teacher = normal(60, 4, 2, seed=source), random_heads(1, 2, source)
    data, best = statistics(tokens, mhla(teacher, tokens)), coefficients(teacher)
    first, second = (coefficients_of_loss(data, best, epsilon, one) for one in draw_directions(data, pairs, source))
    content = {
        "epsilon": epsilon,
        "smallest": certificate(tokens).smallest,
        "differences": _rounded(first - second),
        "inputs": _rounded(normal(inputs, 4, 2, seed=source)),
    }
    return {".json": lambda: (json.dumps(content) + "\n").encode()}


def _rounded(values: Tensor) -> list[Any] | float:
    """The entries with eight digits, in lists."""
    if values.ndim == 0:
        return float(f"{values.item():.8g}")
    return [_rounded(part) for part in values]


EXPORTS: dict[str, Callable[..., _Forms]] = {"turing": _turing, "pairs_of_models": _pairs_of_models}
