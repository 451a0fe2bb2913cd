"""Copies of a layer in parallel: one of them runs a machine, and the others may hold any numbers (beyond Lemma 5.2).

Each copy reads and writes only its own rows, so that no number in an idle copy reaches the active one. With four copies
the numbers can be chosen so that histories of machines pass the certificate of Lemma 4.1.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Int, Num
from torch import Tensor

from attention_theory.linear_attention.machines.block_heads import BlockHead
from attention_theory.validation import require, require_shape, require_some


def copies(heads: Sequence[BlockHead], width: int, count: int = 4) -> list[BlockHead]:
    """The heads once for each block of ``width`` rows.

    Raises:
        ParameterError: a width or a count below 1.
    """
    require(width=(width, 1, None), count=(count, 1, None))

    def moved(head: BlockHead, by: int) -> BlockHead:
        return BlockHead(head.source + by, head.key + by, head.value + by, head.destination + by, head.weight)

    return [moved(head, number * width) for number in range(count) for head in heads]


def idle_rows(width: int, active: int, count: int = 4) -> Int[Tensor, " idle"]:
    """The rows of all copies but one, in order.

    Raises:
        ParameterError: a width or a count below 1, or an active copy that there is not.
    """
    require(width=(width, 1, None), count=(count, 1, None))
    require(active=(active, 0, count - 1))
    rows = torch.arange(count * width)
    return rows[rows // width != active]


def in_copy(
    prompt: Num[Tensor, "tokens width"],
    active: int,
    extra: Num[Tensor, "*batch idle"],
    last: Num[Tensor, "*batch idle"],
) -> Num[Tensor, "*batch longer total"]:
    """A prompt in one copy: the idle rows of an extra token in front are ``extra``, those of the last token ``last``.

    Raises:
        ParameterError: no token, idle rows that are not those of whole copies, or an active copy that there is not.
    """
    require_some(prompt=prompt)
    tokens, width = prompt.shape
    require_shape(last=(last, tuple(extra.shape)))
    idle = idle_rows(width, active, extra.shape[-1] // width + 1)
    require_shape(extra=(extra, (*extra.shape[:-1], len(idle))))
    whole = prompt.new_zeros(*extra.shape[:-1], tokens + 1, len(idle) + width)
    whole[..., 1:, active * width : (active + 1) * width] = prompt
    whole[..., 0, idle] = extra
    whole[..., -1, idle] = last
    return whole


def idle_design(idle: int) -> tuple[Num[Tensor, "prompts idle"], Num[Tensor, "prompts idle"]]:
    """Entries 0 and 1 for ``extra`` and ``last`` of :func:`in_copy`, with which four copies pass the certificate.

    ``last`` is 0 or a unit vector, and ``extra`` 0, a unit vector or the sum of two of them: all pairs of these.

    Raises:
        ParameterError: a number of rows below 1.
    """
    require(idle=(idle, 1, None))
    unit, none = torch.eye(idle, dtype=torch.float64), torch.zeros(1, idle, dtype=torch.float64)
    j, k = torch.triu_indices(idle, idle, offset=1)
    extra, last = torch.cat([none, unit, unit[j] + unit[k]]), torch.cat([none, unit])
    return extra.repeat_interleave(len(last), dim=0), last.repeat(len(extra), 1)


def automaton_head(states: int) -> list[BlockHead]:
    """The head that runs all automata with one letter: the state finds its own token, which holds the next state.

    A token has the rows ``of`` and ``state``, one row for each state in either.

    Raises:
        ParameterError: no state.
    """
    require(states=(states, 1, None))
    of, state = torch.arange(states), states + torch.arange(states)
    return [BlockHead(state, of, state, state, torch.ones(states, dtype=torch.int64))]


def automaton_prompt(table: Int[Tensor, " states"], start: int) -> Num[Tensor, "tokens width"]:
    """A token for every state with its next state, and a last token with the start.

    Raises:
        ParameterError: a start that is no state.
    """
    states = len(table)
    require(start=(start, 0, states - 1))
    prompt = torch.zeros(states + 1, 2 * states, dtype=torch.float64)
    prompt[range(states), range(states)] = 1
    prompt[range(states + 1), states + torch.cat([table, torch.tensor([start])])] = 1
    return prompt
