"""A universal machine small enough to be learned: the executor of automata with one input letter (for Section 5).

A machine is a function f on q states. The prompt holds a token ``(e_i, e_f(i), 0)`` for every state and a last token
``(0, 0, e_s)`` for the start; one head then writes ``(0, 0, e_f(s))``, and so on. The width is d = 3 q.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_theory.linear_attention.machines.block_heads import BlockLayer, dense
from attention_theory.linear_attention.machines.programs import Lookup, LookupProgram, compile_program
from attention_theory.linear_attention.model.autoregression import autoregress
from attention_theory.linear_attention.model.features import causal_certificate_features, certificate_features
from attention_theory.linear_attention.model.mhla import Heads, mhla
from attention_theory.linear_attention.model.rounding import round_token
from attention_theory.randomness import Seed, generator, normal
from attention_theory.validation import require


class Executor:
    """The task: all machines with ``states`` states, from all starts, for ``steps`` steps.

    Args:
        states: q, from 1 to 4 (there are q^q machines).
        steps: Φ, at least 1.

    Raises:
        ParameterError: states outside 1 to 4, or steps below 1.
    """

    def __init__(self, states: int, steps: int) -> None:
        require(states=(states, 1, 4), steps=(steps, 1, None))
        self.states, self.steps = states, steps
        program = LookupProgram(
            dict.fromkeys(("key", "value", "current"), states), [Lookup("current", "key", "value", "current")]
        )
        self._heads, self.rows = compile_program(program)

    @property
    def width(self) -> int:
        """d, the width of a token."""
        return self.rows.size

    @cached_property
    def teacher(self) -> Heads:
        """The one head that executes every machine."""
        return dense(self._heads, self.width)

    @cached_property
    def machines(self) -> Int[Tensor, "machines states"]:
        """Every function on the states, a row each."""
        return torch.cartesian_prod(*[torch.arange(self.states)] * self.states).reshape(-1, self.states)

    def prompts(self, machines: Int[Tensor, "machines states"]) -> Float[Tensor, "runs tokens width"]:
        """Each machine from every start: the runs of one machine follow each other."""
        device = machines.device
        starts = torch.arange(self.states, device=device).repeat(len(machines))
        arrows = machines.repeat_interleave(self.states, dim=0)
        prompts = torch.zeros(len(starts), self.states + 1, self.width, dtype=torch.float64, device=device)
        state, run = torch.arange(self.states, device=device), torch.arange(len(starts), device=device)
        prompts[:, state, self.rows.indices("key", device)] = 1
        prompts[run[:, None], state, self.rows.indices("value", device)[arrows]] = 1
        prompts[run, self.states, self.rows.indices("current", device)[starts]] = 1
        return prompts

    def histories(
        self, machines: Int[Tensor, "machines states"], steps: int | None = None
    ) -> Float[Tensor, "runs tokens width"]:
        """The teacher's runs, exactly."""
        layer = BlockLayer(self._heads, self.width)
        return layer.run(self.prompts(machines), self.steps if steps is None else steps)

    def samples(
        self, histories: Float[Tensor, "runs tokens width"]
    ) -> tuple[Float[Tensor, "samples psi"], Float[Tensor, "samples width"]]:
        """The data set D of Lemma 5.1: the features of every entry of each history, and the token that follows it."""
        features = causal_certificate_features(histories[:, :-1])[:, self.states :]
        return features.flatten(0, 1), histories[:, self.states + 1 :].flatten(0, 1)

    def roll_out(
        self,
        coefficients: Float[Tensor, "width psi"],
        machines: Int[Tensor, "machines states"],
        steps: int | None = None,
        rounded: bool = True,
    ) -> Float[Tensor, "runs tokens width"]:
        """Runs of a learned model, each output rounded before it becomes a token unless ``rounded`` is false."""
        return autoregress(
            lambda tokens: certificate_features(tokens) @ coefficients.mT,
            self.prompts(machines),
            self.steps if steps is None else steps,
            rounding=self.read if rounded else None,
        )

    def read(self, tokens: Float[Tensor, "... width"]) -> Float[Tensor, "... width"]:
        """Tokens rounded attribute by attribute."""
        return round_token(tokens, [self.rows.indices(name, tokens.device) for name in self.rows.blocks])


@dataclass(frozen=True)
class Execution:
    """How a learned model executes a set of machines.

    Attributes:
        errors: by step, the mean squared error of the next token on the true histories.
        right: by step, the share of runs whose token is right at that step.
        wrong: by step, the share of runs that are wrong at this step or before.
    """

    errors: Float[Tensor, " steps"]
    right: Float[Tensor, " steps"]
    wrong: Float[Tensor, " steps"]

    @property
    def error(self) -> float:
        """ε, the mean over all entries of the true histories."""
        return self.errors.mean().item()

    @property
    def mismatch(self) -> float:
        """The share of runs that are wrong at some step."""
        return self.wrong[-1].item()

    @property
    def bounds(self) -> Float[Tensor, " steps"]:
        """By step, ``4 Σ ε_s`` over the steps so far: at the last one 4 ε Φ."""
        return 4 * self.errors.cumsum(dim=0)


def execute(
    task: Executor,
    coefficients: Float[Tensor, "width psi"],
    machines: Int[Tensor, "machines states"],
    rounded: bool = True,
) -> Execution:
    """Run a learned model on machines and compare every token with the teacher's.

    With ``rounded=False`` the loop is run without rounding; its tokens are rounded only to be compared.
    """
    truth = task.histories(machines)
    features, labels = task.samples(truth)
    errors = (features @ coefficients.mT - labels).square().sum(dim=1).unflatten(0, (len(truth), -1)).mean(dim=0)
    written = task.read(task.roll_out(coefficients, machines, rounded=rounded))
    right = (written == truth).all(dim=-1)[:, task.states + 1 :]
    wrong = (~right).int().cummax(dim=1).values
    return Execution(errors, right.double().mean(dim=0), wrong.double().mean(dim=0))


def gaussian_samples(
    teacher: Heads, samples: int, tokens: int, noise: float, seed: Seed
) -> tuple[Float[Tensor, "samples tokens width"], Float[Tensor, "samples width"]]:
    """Gaussian inputs with the teacher's outputs as labels, plus Gaussian noise of standard deviation ``noise``.

    Raises:
        ParameterError: samples below 1, tokens below 2, or a negative noise.
    """
    require(samples=(samples, 1, None), tokens=(tokens, 2, None), noise=(noise, 0.0, None))
    draws = generator(seed)
    dtype, device = teacher.values.dtype, teacher.values.device
    inputs = normal(samples, tokens, teacher.width, seed=draws, dtype=dtype, device=device)
    labels = mhla(teacher, inputs)
    return inputs, labels + noise * normal(*labels.shape, seed=draws, dtype=dtype, device=device)
