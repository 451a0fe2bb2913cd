import torch

from attention_theory.linear_attention.machines.compact import CompactMachine
from attention_theory.linear_attention.machines.compact_heads import WORK, CompactHeads
from attention_theory.linear_attention.machines.turing import random_inputs, random_tables


def test_every_row_is_used_and_every_head_is_another() -> None:
    plan = CompactHeads(3, 2, 2, 3)
    heads = plan.heads
    used = torch.cat([torch.cat([head.source, head.key, head.value, head.destination]) for head in heads])
    unused = set(range(plan.rows.size)) - set(used.tolist())
    assert unused == set()
    assert len({str(head) for head in heads}) == len(heads)


def test_the_tables_are_empty_between_steps() -> None:
    """The invariant of the proof: no pair and no departure is left, and the tape holds a letter in every cell."""
    universal = CompactMachine(3, 3, 2, 6)
    rows = universal.rows
    prompt = universal.embed(random_tables(20, 3, 3, 4), *random_inputs(20, 3, 2, 4))
    history = universal.run(prompt, 6).long()
    sources = {row for head in universal.heads for row in head.source.tolist()}
    go = rows["go"].start
    for step in range(7):
        tokens = history[:, : prompt.shape[1] + universal.tokens_until(step, 2)]
        memory = tokens.mT @ tokens

        def block(value: str, key: str, memory: torch.Tensor = memory) -> torch.Tensor:
            return memory[:, rows[value].start : rows[value].stop, rows[key].start : rows[key].stop]

        assert not block("read state", "read letter").any()
        assert not block("cell", "move").any()
        tape = block("letter", "cell")
        assert torch.equal(tape.sum(dim=1)[:, : 2 + step], torch.ones(20, 2 + step, dtype=torch.int64))
        assert not tape[:, :, 2 + step :].any()
        assert (block("head", "cell").sum(dim=(1, 2)) <= 1).all()
        assert {row for row in sources if tokens[:, -1, row].any()} == {go}


def test_the_work_is_counted_by_one_mark_a_token() -> None:
    universal = CompactMachine(2, 2, 2, 1)
    history = universal.run(universal.embed(random_tables(4, 2, 2, 0), *random_inputs(4, 2, 2, 0)), 1)
    work = history[:, universal.states + 3 :][:, : len(WORK)]
    for place, name in enumerate(WORK[:-1]):
        expected = torch.zeros(4, len(WORK), 1, dtype=torch.int8)
        expected[:, place] = 1
        assert torch.equal(universal.rows.of(work, name), expected)
