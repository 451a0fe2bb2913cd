"""The machines at the door: state in, state out, as modules of torch, and right on random programs."""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.func import jvp, vmap

import attention_theory as at
from attention_theory.linear_attention.machines.turing import Machine, random_tables, simulate
from attention_theory.looped_transformers.fleq.conformance import random_fleq_program
from attention_theory.looped_transformers.fleq.language import interpret as interpret_fleq
from attention_theory.looped_transformers.subleq.language import SubleqProgram, interpret, random_program
from attention_theory.randomness import normal
from modules import close, copies, in_onnx

SUBTRACT = "x = 7\ny = 9 -3\nagain: y -= x if <= 0 goto end\ngoto again\nend: halt"
FLEQ = "y = add(a, x)\ny = sub(y, x) if y <= 0 goto end\ny = transpose(y)\nend: halt"
FLIP = "go 0 -> go 1 R\ngo 1 -> go 0 R\ngo _ -> accept _ S"


@dataclass(frozen=True)
class Case:
    """A machine: its name at the door, its program, options, and inputs of a run that ends."""

    name: str
    program: str
    options: dict[str, Any] = field(default_factory=dict)
    inputs: Any = None

    def build(self, dtype: torch.dtype = torch.float64, **more: Any) -> Any:
        return getattr(at.nn, self.name).compile(self.program, dtype=dtype, **self.options, **more)

    def states(self, module: Any) -> Tensor:
        """A batch of three states: at the start, and after each of two cycles."""
        state = module.load(self.inputs) if self.name == "UniversalTransformer" else module.load()
        if self.name == "UniversalTransformer":  # of one length
            return torch.stack([state, module.load("1"), module.load("_")])
        return torch.stack([state, module(state), module(module(state))])

    def __str__(self) -> str:
        return f"{self.name}-{ {key: value for key, value in self.options.items() if key != 'variables'} }"


VARIABLES: dict[str, Any] = {"a": 2.0, "x": torch.tensor([[1.0, -2.0], [0.5, 3.0]]).double(), "y": 0.0}
BLOCKS = ("add", "sub", "transpose", "mul")
CASES = [
    Case("SubleqTransformer", SUBTRACT, {"bits": 6}),
    Case("SubleqTransformer", SUBTRACT, {"bits": 6, "num_layers": 6, "num_tokens": 20}),
    Case("SubleqTransformer", SUBTRACT, {"bits": 6, "num_layers": 4, "rule": "hardmax"}),
    Case("SubleqTransformer", SUBTRACT, {"bits": 6, "num_layers": 5, "real": True}),
    Case("SubleqTransformer", SUBTRACT, {"bits": 6, "num_layers": 1}),
    Case("FleqTransformer", FLEQ, {"variables": VARIABLES, "size": 3}),
    Case("FleqTransformer", FLEQ, {"variables": VARIABLES, "size": 3, "heads": "several", "functions": BLOCKS}),
    Case("UniversalTransformer", FLIP, {"word": 2, "steps": 3}, "0"),
    Case("UniversalTransformer", FLIP, {"word": 2, "steps": 3, "states": 4, "letters": 4, "stays": True}, "0"),
]  # fmt: skip
every_machine = pytest.mark.parametrize("case", CASES, ids=str)
PLAIN = list({case.name: case for case in reversed(CASES)}.values())[::-1]
plain_machines = pytest.mark.parametrize("case", PLAIN, ids=str)


# As modules of torch


@every_machine
def test_state_dict_copies_and_pickles_round_trip(case: Case, tmp_path: Path) -> None:
    module, other = case.build(), case.build()
    states = case.states(module)
    for weights in other.state_dict().values():
        weights.zero_()
    other.reset_parameters()
    close(other.state_dict(), module.state_dict())
    for weights in other.state_dict().values():
        weights.zero_()
    for same in copies(module, other, tmp_path):
        assert torch.equal(same(states), module(states))
        assert same.run(case.inputs).steps == module.run(case.inputs).steps > 0


@every_machine
def test_repr_is_short_and_names_the_sizes(case: Case) -> None:
    module = case.build()
    first = repr(module).split("\n")[:2]
    assert first[0] == f"{case.name}("
    assert f"embed_dim={module.embed_dim}" in first[1]


@every_machine
def test_batch_dimensions_lead(case: Case) -> None:
    module = case.build()
    states = case.states(module)
    out = module(states)
    close(out[1], module(states[1]))
    close(module(states[None, None]), out[None, None])
    close(vmap(module)(states), out)
    assert module(states[:0]).shape == (0, *out.shape[1:])
    assert module.half()(states.half()).dtype == torch.float16


@every_machine
def test_float32_runs_the_same_program(case: Case) -> None:
    module = case.build(torch.float32)
    run, exact = module.run(case.inputs), case.build().run(case.inputs)
    assert run.trace.dtype == torch.float32
    close(run.trace.double(), exact.trace, atol=1e-3)
    close(module.double().run(case.inputs).trace, exact.trace, atol=1e-5)


@every_machine
def test_meta_device_gives_shapes(case: Case) -> None:
    module = case.build(device="meta")
    states = case.states(case.build())
    assert {value.device.type for value in module.state_dict().values()} == {"meta"}
    assert module(states.to("meta")).shape == case.build()(states).shape


@every_machine
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no accelerator here")
def test_cuda_gives_the_same(case: Case) -> None:
    module = case.build()
    close(copy.deepcopy(module).cuda().run(case.inputs).trace.cpu(), module.run(case.inputs).trace, atol=1e-10)


@every_machine
def test_what_is_not_a_number_stays_visible(case: Case) -> None:
    module = case.build()
    states = case.states(module)
    states[0, 0, 0] = torch.nan
    out = module(states)
    assert out[0].isnan().any()
    close(out[1:], module(states[1:]))


@plain_machines
def test_gradients_reach_the_state(case: Case) -> None:
    soft: dict[str, Any] = {} if case.name == "UniversalTransformer" else {"inverse_temperature": 0.5}
    module = case.build(**soft)
    states = case.states(module)
    states = (states + 0.01 * normal(*states.shape, seed=1)).requires_grad_()  # no ReLU is at its kink
    (gradient,) = torch.autograd.grad(module(states).square().sum(), states)
    direction = normal(*states.shape, seed=0)
    along = jvp(module, (states.detach(),), (direction,))
    torch.testing.assert_close((2 * along[0] * along[1]).sum(), (gradient * direction).sum())
    above, below = (module(states + step * direction).square().sum() for step in (1e-6, -1e-6))
    torch.testing.assert_close(
        (gradient * direction).sum(), (above - below) / 2e-6, rtol=1e-3, atol=1e-3
    )  # FLEQ adds 1e3


# Compiled and exported


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize(
    "case",
    [pytest.param(one, marks=pytest.mark.slow if one in PLAIN else pytest.mark.exhaustive) for one in CASES],
    ids=str,
)
def test_compiles_as_one_graph(case: Case) -> None:
    torch._dynamo.reset()
    module = case.build()
    states = case.states(module)
    compiled = torch.compile(module, fullgraph=True, dynamic=True, backend="aot_eager")
    close(compiled(states), module(states))
    close(compiled(states[:2]), module(states[:2]))


@every_machine
def test_exports_with_any_batch_and_number_of_tokens(case: Case) -> None:
    module = case.build()
    states = case.states(module)
    dynamic = torch.export.Dim.DYNAMIC
    exported = torch.export.export(module, (states,), dynamic_shapes=({0: dynamic, 1: dynamic},)).module()
    close(exported(states[:2, :-1]), module(states[:2, :-1]))


@pytest.mark.slow
@plain_machines
def test_runs_in_onnx_with_any_batch(case: Case) -> None:
    module = case.build()
    states = case.states(module)
    close(in_onnx(module, (states,), {0: "batch"}, (states[:2],)), module(states[:2]), atol=1e-9)


# Right on random programs


@st.composite
def subleq_programs(draw: Callable[..., Any]) -> tuple[SubleqProgram, int]:
    bits = draw(st.integers(3, 10))
    return random_program(draw(st.integers(1, 5)), draw(st.integers(1, 7)), bits, draw(st.integers(0, 2**31))), bits


@settings(max_examples=30, deadline=None)
@given(subleq_programs(), st.sampled_from([10, 6, 4, 1]), st.sampled_from(["softmax", "hardmax"]))
def test_subleq_runs_as_the_interpreter_does(made: tuple[SubleqProgram, int], num_layers: Any, rule: Any) -> None:
    program, bits = made
    run = at.nn.SubleqTransformer(program, bits, num_layers, rule=rule).run(steps=12)
    wanted = interpret(program, bits, 12)
    assert run.counters.tolist() == [0, *wanted.counters.tolist()]
    assert run.memories[1:].tolist() == wanted.memories.tolist()
    assert (run.steps, run.halted) == (len(wanted), wanted.halted)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**31), st.integers(2, 6))
def test_fleq_runs_as_the_interpreter_does(seed: int, instructions: int) -> None:
    program = random_fleq_program(("add", "sub", "transpose"), instructions, 3, seed)
    run, wanted = at.nn.FleqTransformer(program).run(steps=8), interpret_fleq(program, 8)
    assert run.counters.tolist() == [0, *wanted.counters]
    for ours, theirs in zip(run.memories[1:], wanted.memories, strict=True):
        close(ours, theirs, atol=1e-9)
    assert run.halted == wanted.halted


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**31), st.text("ab", min_size=1, max_size=3), st.booleans())
def test_a_turing_machine_runs_as_the_simulator_does(seed: int, word: str, stays: bool) -> None:
    table = random_tables(1, 4, 2, seed)[0]
    table[2:] = torch.tensor([[[2, 0, 2], [2, 1, 2]], [[3, 0, 2], [3, 1, 2]]])  # they rest
    machine = Machine(("start", "other", "accept", "reject"), "ab", table)
    run = at.nn.UniversalTransformer(machine, 3, 5, stays=stays).run(word)
    tape = torch.tensor(["ab".index(letter) for letter in word] + [0] * 5)
    wanted = simulate(table, tape, 0, 5, stays)
    for step, (letters, state, place) in enumerate(zip(run.tapes, run.states, run.places, strict=True)):
        assert letters == "".join("ab"[letter] for letter in wanted.letters[step, : len(word) + step].tolist())
        there = (wanted.states[step] < 4).nonzero().flatten().tolist()
        assert ([] if place is None else [place]) == there
        assert state == (machine.states[int(wanted.states[step, there[0]])] if there else None)
    assert run.halted or run.steps == 5


# What a user does with them


def test_one_set_of_weights_runs_other_programs() -> None:
    computer = at.nn.SubleqTransformer.compile(SUBTRACT, num_layers=4, num_tokens=32)
    other = random_program(4, 6, 8, seed=3)
    assert computer.run(program=other).memories[-1].tolist() == interpret(other, 8, 1000).memories[-1].tolist()
    batch = computer.load([random_program(4, 6, 8, seed=seed) for seed in range(5)])
    assert computer(batch).shape == batch.shape
    flip = at.nn.UniversalTransformer.compile(FLIP, 2, 3, states=5, letters=4)
    wipe = at.nn.UniversalTransformer.compile("w 0 -> w _ R\nw 1 -> w _ R\nw _ -> reject _ S").machine
    assert flip.run("01", machine=wipe).tapes[-1] == "_____"
    assert flip.run("01").tapes[-1] == "10___"
