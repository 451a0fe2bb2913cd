"""Hostile calls, each refused by the name of the parameter: shapes, empty input, NaN and infinities, conditions.

Numbers outside of their ranges are tried in ``test_ranges.py``. The shape checker of the tests is off here, as it is
for a user of the package.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

import jaxtyping
import pytest
import torch

from attention_theory.data.photographs import patches
from attention_theory.encodings import rotate
from attention_theory.hyper_attention.interactions.flow import flow_limit
from attention_theory.hyper_attention.interactions.fourier import dtfs, synthesis
from attention_theory.hyper_attention.interactions.interactions import aggregate_interactions, represent
from attention_theory.hyper_attention.interactions.projections import largest_inner_product, missed_agreements
from attention_theory.hyper_attention.interactions.versatility import versatility
from attention_theory.hyper_attention.layers.hyper_attention import HyperAttention
from attention_theory.hyper_attention.layers.hyper_feature_attention import HyperFeatureAttention
from attention_theory.hyper_attention.layers.linear_sums import LinearHyperAttention, linear_pair_sum
from attention_theory.hyper_attention.layers.pair_attention import pair_attention
from attention_theory.hyper_attention.layers.window_attention import window_attention
from attention_theory.hyper_attention.worlds.collisions import simulate
from attention_theory.hyper_attention.worlds.grids import product_code
from attention_theory.hyper_attention.worlds.vision import convolve
from attention_theory.in_context_reasoning.closed_form import (
    bayes_risk,
    noiseless_loss,
    noiseless_slope,
    noisy_loss,
    noisy_slope,
    odds,
)
from attention_theory.in_context_reasoning.descent import descend_noiseless, descend_noisy, normalised_step
from attention_theory.in_context_reasoning.recall import InContextRecall
from attention_theory.in_context_reasoning.task import Task, sample_sentences
from attention_theory.layers import attention
from attention_theory.linear_attention.learning.certificate import certificate, certificate_of
from attention_theory.linear_attention.learning.kernel import kernel_fit
from attention_theory.linear_attention.learning.learned_machine import _prefix_kernel
from attention_theory.linear_attention.learning.levenberg_marquardt import fit_many
from attention_theory.linear_attention.learning.regression import (
    fit_linear_attention,
    learn,
    least_squares,
    statistics,
)
from attention_theory.linear_attention.machines.turing import parse_machine, write_tape
from attention_theory.linear_attention.machines.turing import simulate as run_machine
from attention_theory.linear_attention.machines.universal_transformer import UniversalTransformer
from attention_theory.linear_attention.model.features import certificate_features, cubic_features
from attention_theory.linear_attention.model.linear_attention import LinearAttention
from attention_theory.linear_attention.model.mhla import mhla, mhla_every_token, stack_lengths
from attention_theory.linear_attention.model.mhla import random_heads as linear_heads
from attention_theory.linear_attention.model.parameters import antisymmetric_twin, heads_from_matrix, lift
from attention_theory.looped_transformers.blocks.barron import bump, bump_magnitude, fourier_constant, greedy_fit
from attention_theory.looped_transformers.machine.codes import from_bits
from attention_theory.looped_transformers.programs.newton import newton_program, newton_residuals
from attention_theory.looped_transformers.programs.power_iteration import power_iterates
from attention_theory.looped_transformers.subleq.language import program
from attention_theory.looped_transformers.subleq.machine import SubleqMachine
from attention_theory.looped_transformers.subleq.transformer import SubleqTransformer
from attention_theory.memorization.attention import (
    Examples,
    capacity,
    memorises,
    predict,
    random_heads,
    random_readout,
)
from attention_theory.memorization.construction import build_heads
from attention_theory.memorization.examples import random_labels, sample_examples
from attention_theory.memorization.kruskal import kruskal_rank, largest_satisfied
from attention_theory.memorization.memorizing_attention import MemorizingAttention, memorize
from attention_theory.memorization.positions import smallest_singular_ratio
from attention_theory.memorization.readout import solve_readout
from attention_theory.memorization.saturation import saturation
from attention_theory.memorization.transformer import random_layer
from attention_theory.numerics import least_norm_solution, numerical_rank, relative_error
from attention_theory.trends import exponent, linear_fit_r2, slope
from attention_theory.validation import ParameterError


def ones(*shape: int) -> torch.Tensor:
    return torch.ones(*shape, dtype=torch.float64)


def filled(value: float, *shape: int) -> torch.Tensor:
    return torch.full(shape, value, dtype=torch.float64)


NAN, EYE = math.nan, torch.eye(3, dtype=torch.float64)
COUNTS, HEADS = torch.tensor([1.0, 2.0]), linear_heads(1, 3, 0)
EXAMPLES = sample_examples(3, 2, 3)

#: The name that is refused, and a call that has to refuse it.
CALLS: list[tuple[str, Callable[[], Any]]] = [
    ("outputs", lambda: memorises(ones(5, 1), ones(5))),
    ("outputs", lambda: memorises(ones(5, 1), ones(1, 1))),
    ("outputs", lambda: memorises(ones(0, 1), ones(0, 1))),
    ("queries", lambda: Examples(ones(1, 2, 3), ones(4, 3))),
    ("queries", lambda: Examples(ones(2, 3), ones(4, 2))),
    ("contexts", lambda: Examples(ones(3), ones(4, 3))),
    ("contexts", lambda: Examples(ones(0, 3), ones(4, 3))),
    ("heads", lambda: random_heads(0, 3, 2, 0)),
    ("head_width", lambda: random_heads(1, 3, 0, 0)),
    ("heads", lambda: random_readout(0, 3, 2, 1, 0)),
    ("value_width", lambda: random_readout(1, 3, 0, 1, 0)),
    ("heads", lambda: capacity(-1, 3, 2)),
    ("heads", lambda: predict(random_heads(1, 4, 2, 0), random_readout(1, 4, 1, 1, 0), EXAMPLES)),
    ("examples", lambda: build_heads(sample_examples(9, 2, 3), 1, 2)),
    ("examples", lambda: build_heads(Examples(ones(2, 3), ones(3, 3)), 2, 2)),
    ("count", lambda: random_labels(-1, 2, 0)),
    ("outputs", lambda: random_labels(1, 0, 0)),
    ("most", lambda: kruskal_rank(torch.eye(3, dtype=torch.int64), most=-1)),
    ("prefixes", lambda: largest_satisfied(torch.tensor([], dtype=torch.int64))),
    ("width", lambda: smallest_singular_ratio(2, 3)),
    ("labels", lambda: solve_readout(ones(4, 3), ones(5, 1), 1, 1)),
    ("Z", lambda: solve_readout(filled(NAN, 4, 3), ones(4, 1), 1, 1)),
    ("attention", lambda: saturation(ones(1, 0, 2))),
    ("width", lambda: random_layer(5, 2, 0)),
    ("moment", lambda: certificate_of(torch.tensor([[1.0, 5.0], [0.0, 2.0]], dtype=torch.float64))),
    ("moment", lambda: certificate_of(ones(2, 3))),
    ("moment", lambda: certificate_of(filled(NAN, 2, 2))),
    ("moment", lambda: certificate_of(ones(0, 0))),
    ("tokens", lambda: certificate(ones(0, 2, 3))),
    ("tokens", lambda: certificate(ones(2, 0, 3))),
    ("tokens", lambda: certificate(filled(NAN, 2, 2, 3))),
    ("labels", lambda: statistics(ones(3, 2, 3), ones(4, 1))),
    ("tokens", lambda: statistics(ones(0, 2, 3), ones(0, 1))),
    ("labels", lambda: learn(ones(3, 2, 3), filled(math.inf, 3, 1))),
    ("labels", lambda: fit_linear_attention(ones(3, 2, 3), ones(3))),
    ("labels", lambda: fit_linear_attention(ones(3, 2, 3), ones(2, 3))),
    ("labels", lambda: fit_linear_attention(ones(3, 2, 3), ones(3, 1, 3))),
    ("labels", lambda: fit_linear_attention(ones(3, 2, 3), filled(NAN, 3, 2, 3))),
    ("features", lambda: fit_linear_attention(ones(0, 2, 3), ones(0, 3))),
    ("x", lambda: LinearAttention(4)(torch.ones(3, 5))),
    ("x", lambda: LinearAttention(4, last_token=True)(torch.ones(0, 4))),
    ("key_padding_mask", lambda: LinearAttention(4, last_token=True)(torch.ones(3, 4), torch.ones(3))),
    ("attn_mask", lambda: LinearAttention(4, last_token=True)(torch.ones(3, 4), attn_mask=torch.ones(3, 3).bool())),
    ("features", lambda: least_squares(ones(0, 3), ones(0, 1))),
    ("labels", lambda: least_squares(ones(4, 3), ones(3, 1))),
    ("labels", lambda: fit_many(ones(4, 18), ones(3, 3), HEADS)),
    ("gram", lambda: kernel_fit(ones(2, 3), ones(2, 1))),
    ("labels", lambda: kernel_fit(ones(2, 2), ones(3, 1))),
    ("lengths", lambda: _prefix_kernel(ones(1, 3, 2), ones(1, 3, 2), [2, 1], [1])),
    ("tokens", lambda: mhla(HEADS, ones(0, 3))),
    ("tokens", lambda: mhla(HEADS, ones(2, 4))),
    ("tokens", lambda: mhla_every_token(HEADS, ones(2, 4))),
    ("sequences", lambda: stack_lengths([])),
    ("sequences", lambda: stack_lengths([ones(2, 3), ones(2, 4)])),
    ("scale", lambda: linear_heads(1, 3, 0, scale=NAN)),
    ("tokens", lambda: certificate_features(ones(0, 3))),
    ("tokens", lambda: cubic_features(ones(0, 3))),
    ("matrix", lambda: antisymmetric_twin(ones(1, 1), 0)),
    ("matrix", lambda: heads_from_matrix(ones(4, 5))),
    ("matrix", lambda: heads_from_matrix(filled(NAN, 4, 4))),
    ("row", lambda: lift(ones(1, 5), 3)),
    ("text", lambda: parse_machine("")),
    ("line 1 of the machine", lambda: parse_machine("a 0 -> b 1 LR")),
    ("line 1 of the machine", lambda: parse_machine("a 0 -> b 1 RS")),
    ("line 1 of the machine", lambda: parse_machine("a 0 -> b 1 ")),
    ("word", lambda: write_tape(parse_machine("a 0 -> b 0 L"), "01", 5)),
    ("table", lambda: run_machine(torch.tensor([[[5, 0, 0]]]), torch.tensor([0, 0]), 0, 2)),
    ("tape", lambda: run_machine(torch.tensor([[[0, 0, 0]]]), torch.tensor([0, 7]), 0, 2)),
    ("tape", lambda: run_machine(torch.tensor([[[0, 0, 0]]]), torch.tensor([], dtype=torch.int64), 0, 2)),
    ("alpha", lambda: noisy_loss(COUNTS, 0.0, COUNTS, 2.0, 3)),
    ("alpha", lambda: bayes_risk(2.0)),
    ("alpha", lambda: odds(1.0)),
    ("counts", lambda: noiseless_loss(COUNTS, -COUNTS, 3)),
    ("others", lambda: noiseless_loss(COUNTS, COUNTS, 0)),
    ("others", lambda: noiseless_slope(COUNTS, COUNTS, 0)),
    ("gamma", lambda: noisy_slope(COUNTS, 800.0, COUNTS, 3)),
    ("gamma", lambda: noisy_slope(COUNTS, NAN, COUNTS, 3)),
    ("laws", lambda: descend_noiseless(filled(0.4, 1, 2), 0.1, 1, 1)),
    ("law", lambda: descend_noisy(filled(NAN, 2), 0.5, 0.1, 1, 1)),
    ("slope", lambda: normalised_step(ones(2), ones(3), 0.1)),
    ("copies", lambda: sample_sentences(Task(length=8), 3, 0, copies=9)),
    ("copies", lambda: sample_sentences(Task(length=8), 3, 0, copies=torch.tensor([1, 2]))),
    ("tokens", lambda: Task(tokens=3)),
    ("tokens", lambda: InContextRecall()(torch.tensor([1]))),
    ("tokens", lambda: InContextRecall()(torch.tensor([1.0, 2.0]))),
    ("labels", lambda: InContextRecall().fit(torch.tensor([[1, 2]]))),
    ("labels", lambda: InContextRecall().fit(torch.tensor([[1, 2]]), torch.tensor([1, 2]), batch_size=1)),
    ("batch_size", lambda: InContextRecall().fit(torch.tensor([[1, 2]]), torch.tensor([1]), batch_size=2)),
    ("width", lambda: bump(ones(2), 0.0)),
    ("width", lambda: bump_magnitude(ones(2), 0.0)),
    ("frequencies", lambda: fourier_constant(ones(2), ones(3))),
    ("target", lambda: greedy_fit(filled(NAN, 3), ones(3), 2, 1.0, 1.0)),
    ("target", lambda: greedy_fit(ones(4), ones(3), 2, 1.0, 1.0)),
    ("constant", lambda: greedy_fit(ones(3), ones(3), 2, 1.0, NAN)),
    ("code", lambda: from_bits(filled(NAN, 3))),
    ("code", lambda: from_bits(ones(2, 0))),
    ("matrix", lambda: newton_residuals(torch.zeros(2, 2, dtype=torch.float64), 3)),
    ("matrix", lambda: newton_residuals(ones(2, 3), 3)),
    ("matrix", lambda: newton_program(filled(NAN, 2, 2), 3)),
    ("matrix", lambda: newton_program(torch.zeros(2, 2, dtype=torch.float64), 3)),
    ("start", lambda: power_iterates(EYE, torch.zeros(3, dtype=torch.float64), 2)),
    ("start", lambda: power_iterates(EYE, ones(2), 2)),
    ("code", lambda: program([1], [(0, 9, 0)])),
    ("memory", lambda: program([1.5], [(0, 0, 0)])),  # type: ignore[list-item]
    ("source", lambda: SubleqMachine(3, 4, 4).load(program([8], [(0, 0, 0)]))),
    ("function", lambda: dtfs(filled(NAN, 4))),
    ("function", lambda: dtfs(ones(0))),
    ("coefficients", lambda: synthesis(torch.ones(0, dtype=torch.complex128))),
    ("value", lambda: flow_limit(ones(3, 2), -ones(2))),
    ("embedding", lambda: represent(EYE, ones(3, 2), ones(3, 4))),
    ("embedding", lambda: represent(EYE, ones(3, 2), ones(3, 3))),
    ("symbols", lambda: aggregate_interactions(torch.tensor([0, 3]), EYE, ones(3, 2))),
    ("vectors", lambda: largest_inner_product(ones(1, 3))),
    ("vectors", lambda: largest_inner_product(torch.zeros(2, 3, dtype=torch.float64))),
    ("patch", lambda: patches(ones(1, 3, 4, 4), 3)),
    ("rows", lambda: missed_agreements(ones(3, 2), 2, 2)),
    ("symbols", lambda: versatility(torch.tensor([[0, 5]]), 3)),
    ("x", lambda: HyperAttention(4, 2)(torch.ones(1, 0, 4))),
    ("x", lambda: HyperAttention(4, 2)(torch.ones(1, 3, 5))),
    ("x", lambda: HyperAttention(4, 2)(torch.ones(4))),
    ("x", lambda: HyperFeatureAttention(4, 2)(torch.ones(0, 4))),
    ("x", lambda: LinearHyperAttention(4, 2)(torch.ones(3, 5))),
    ("contexts", lambda: MemorizingAttention(4)(torch.ones(2, 0, 4), torch.ones(2, 4))),
    ("contexts", lambda: MemorizingAttention(4)(torch.ones(3, 2, 4), torch.ones(2, 4))),
    ("queries", lambda: MemorizingAttention(4)(torch.ones(2, 3, 4), torch.ones(2, 5))),
    ("key_padding_mask", lambda: MemorizingAttention(4)(torch.ones(2, 4), torch.ones(4), torch.ones(2))),
    ("labels", lambda: memorize(ones(2, 3, 4), ones(2, 4), ones(2, 5), 1)),
    ("labels", lambda: memorize(ones(2, 3, 4), ones(2, 4), ones(3, 1), 1)),
    ("queries", lambda: memorize(ones(3, 4), ones(0, 4), ones(0, 1), 1)),
    ("examples", lambda: memorize(EYE[:2], ones(4, 3), ones(4, 1), 1)),
    ("num_tokens", lambda: SubleqTransformer(program([1], []), num_tokens=3)),
    ("inputs", lambda: SubleqTransformer(program([1], [])).run({"x": 1})),
    ("states", lambda: UniversalTransformer(parse_machine("a _ -> a _ L"), states=2)),
    ("places", lambda: UniversalTransformer(parse_machine("a _ -> a _ L")).load("_", place=1)),
    ("attn_mask", lambda: HyperAttention(4, 2)(torch.ones(3, 4), attn_mask=torch.ones(3, 3))),
    ("key_padding_mask", lambda: HyperAttention(4, 2)(torch.ones(3, 4), torch.ones(3))),
    ("num_kv_heads", lambda: HyperAttention(6, 3, num_kv_heads=2)),
    ("num_kv_heads", lambda: HyperFeatureAttention(4, 2, num_kv_heads=1, value_product=True)),
    ("order", lambda: HyperFeatureAttention(4, 2, [1])),
    ("order", lambda: HyperFeatureAttention(4, 2, 2.5)),  # type: ignore[arg-type]
    ("window", lambda: HyperAttention(4, 2, window=[3])),
    ("window", lambda: HyperAttention(4, 2, window=[3, 3], is_causal=False)),
    ("window", lambda: window_attention(*[ones(1, 3, 2)] * 5, window=[3])),
    ("queries", lambda: window_attention(*[ones(1, 0, 2)] * 5, window=[3, 3])),
    ("queries", lambda: linear_pair_sum(*[ones(1, 0, 2)] * 5)),
    ("queries", lambda: pair_attention(*[ones(1, 0, 2)] * 5)),
    ("starts", lambda: simulate(torch.tensor([[[0, 9]]]), 5, 1)),
    ("starts", lambda: simulate(torch.zeros(0, 2, 2, dtype=torch.int64), 5, 1)),
    ("codes", lambda: product_code()),
    ("kernel", lambda: convolve(ones(5, 5), ones(2, 2))),
    ("features", lambda: rotate(ones(2, 3))),
    ("keys", lambda: attention(ones(2, 3), ones(2, 4), ones(2, 3))),
    ("values", lambda: attention(ones(2, 3), ones(2, 3), ones(4, 3))),
    ("reference", lambda: relative_error(ones(3), ones(1))),
    ("reference", lambda: relative_error(ones(0), ones(0))),
    ("matrix", lambda: numerical_rank(filled(NAN, 2, 2))),
    ("right", lambda: least_norm_solution(ones(2, 2), ones(3, 1))),
    ("matrix", lambda: least_norm_solution(filled(NAN, 2, 2), ones(2, 1))),
    ("x", lambda: linear_fit_r2(ones(2), ones(2))),
    ("x", lambda: linear_fit_r2(ones(3), ones(3))),
    ("x", lambda: slope(ones(3), ones(3))),
    ("y", lambda: slope(COUNTS, ones(3))),
    ("x", lambda: exponent([0.0, 1.0], [1.0, 1.0])),
]  # fmt: skip


@pytest.fixture(autouse=True)
def without_shape_checks() -> Iterator[None]:
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", before)


@pytest.mark.parametrize(("name", "call"), CALLS)
def test_a_bad_call_is_refused_by_name(name: str, call: Callable[[], Any]) -> None:
    with pytest.raises(ParameterError, match=rf"(?m)^(each of )?{name} must"):
        call()
