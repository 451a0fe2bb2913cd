"""Hostile calls, each refused by the name of the parameter: shapes, empty input, NaN and infinities, conditions.

Numbers outside of their ranges, and what is empty, not finite or of another shape where a call can be made from the
annotations, are tried in ``test_ranges.py``. The shape checker of the tests is off here, as it is
for a user of the package.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch

import attention_theory
from arguments import modules
from attention_theory.bridges.stored_sentences import store
from attention_theory.data.token_files import Corpus, _Tokens
from attention_theory.hyper_attention.language._stacked import StackedModels
from attention_theory.hyper_attention.language.language_model import LanguageModel
from attention_theory.hyper_attention.language.pretraining import Course, Training
from attention_theory.hyper_attention.layers.hyper_attention import HyperAttention
from attention_theory.hyper_attention.layers.hyper_feature_attention import HyperFeatureAttention
from attention_theory.hyper_attention.layers.linear_hyper_attention import linear_hyper_attention
from attention_theory.hyper_attention.layers.linear_sums import LinearHyperAttention
from attention_theory.hyper_attention.layers.tuple_softmax import tuple_attention
from attention_theory.hyper_attention.worlds.coupled_features import CoupledHead, Factor, Weight, layer_of
from attention_theory.in_context_reasoning.recall import InContextRecall
from attention_theory.in_context_reasoning.task import Task, sample_sentences
from attention_theory.in_context_reasoning.variants import VARIANTS, TrainingRun
from attention_theory.linear_attention.experiments.automata import StringForm
from attention_theory.linear_attention.experiments.one_layer_students import run_heads
from attention_theory.linear_attention.experiments.run_data import RunData
from attention_theory.linear_attention.learning.certificate import certificate_of
from attention_theory.linear_attention.machines.automaton_executor import AutomatonExecutor
from attention_theory.linear_attention.machines.block_heads import BlockHead, BlockLayer
from attention_theory.linear_attention.machines.compact import CompactMachine
from attention_theory.linear_attention.machines.programs import Lookup, LookupProgram
from attention_theory.linear_attention.machines.recurrent_layer import RecurrentLayer
from attention_theory.linear_attention.machines.universal_transformer import UniversalTransformer
from attention_theory.linear_attention.model.linear_attention import LinearAttention
from attention_theory.linear_attention.model.mhla import random_heads as linear_heads
from attention_theory.looped_transformers.blocks.approximation import root_sigmoids
from attention_theory.looped_transformers.blocks.base import run_block
from attention_theory.looped_transformers.blocks.column_sums import ColumnSumBlock
from attention_theory.looped_transformers.machine.adder import add
from attention_theory.looped_transformers.machine.codes import from_bits
from attention_theory.looped_transformers.machine.layers import Layer
from attention_theory.looped_transformers.subleq.language import program, random_program
from attention_theory.looped_transformers.subleq.machine import SubleqMachine
from attention_theory.looped_transformers.subleq.runner import SubleqRunner
from attention_theory.looped_transformers.subleq.transformer import SubleqTransformer
from attention_theory.memorization.attention import Examples, predict, random_heads, random_readout
from attention_theory.memorization.certified.language_models import certify_independent
from attention_theory.memorization.construction import build_heads
from attention_theory.memorization.examples import sample_examples
from attention_theory.memorization.language import random_language_model, sample_texts
from attention_theory.memorization.memorizing_attention import MemorizingAttention
from attention_theory.memorization.saturation import saturation, saturation_by_model
from attention_theory.memorization.single_head import silent_direction
from attention_theory.memorization.synthetic import Setting
from attention_theory.rows import Rows
from attention_theory.trends import slope
from attention_theory.validation import ParameterError

#: The package with all its modules, and its rooms: a function is called by its place.
package: Any = attention_theory
assert [*modules()]
hyper, linear, looped = package.hyper_attention, package.linear_attention, package.looped_transformers
memory, recall = package.memorization, package.in_context_reasoning


def ones(*shape: int) -> torch.Tensor:
    return torch.ones(*shape, dtype=torch.float64)


def filled(value: float, *shape: int) -> torch.Tensor:
    return torch.full(shape, value, dtype=torch.float64)


def language_model(separate_output: bool = False) -> LanguageModel:
    return LanguageModel(11, 7, 24, lambda width: HyperAttention(width, separate_output=separate_output))


NAN, EYE = math.nan, torch.eye(3, dtype=torch.float64)
COUNTS, HEADS = torch.tensor([1.0, 2.0]), linear_heads(1, 3, 0)
EXAMPLES = sample_examples(3, 2, 3)
TASK = Task(8, 1, 2, 8)
RUN = TrainingRun(VARIANTS["Origin-ReLU-FA"], 0.2, 0.1)
STRINGS, COMPACT = StringForm(2, 2, 3), CompactMachine(2, 2, 3, 4)
TABLE, WORD, PLACE = (torch.zeros(1, *shape, dtype=torch.int64) for shape in ((2, 2, 3), (3,), ()))
TOKENS, COURSE = _Tokens([np.zeros(9, dtype=np.uint16)], 3), Course([0], [1.0], [1.0])
CORPUS, TRAINING = Corpus(TOKENS, TOKENS, "nine tokens"), Training(1, 2, 3, 1e-2, 0, 2, 1, 1)
NOISY = sample_sentences(replace(TASK, noisy=True), 5, 0)
BERT = random_language_model("bert", 9, 14, 12, 3, 0)

#: Shapes of masks that do not fit three sequences of five tokens.
BAD_MASKS = {
    "key_padding_mask": [(4, 3, 5), (3, 1), (5,), (3, 6)],
    "attn_mask": [(4, 3, 5, 5), (1, 5), (3, 5, 1), (6, 6)],
}

#: The name that is refused, and a call that has to refuse it.
CALLS: list[tuple[str, Callable[[], Any]]] = [
    ("contexts", lambda: Examples(ones(3), ones(4, 3))),
    ("contexts", lambda: Examples(ones(0, 3), ones(4, 3))),
    ("heads", lambda: predict(random_heads(1, 4, 2, 0), random_readout(1, 4, 1, 1, 0), EXAMPLES)),
    ("examples", lambda: build_heads(sample_examples(9, 2, 3), 1, 2)),
    ("examples", lambda: build_heads(Examples(ones(2, 3), ones(3, 3)), 2, 2)),
    ("width", lambda: memory.positions.smallest_singular_ratio(2, 3)),
    ("texts", lambda: certify_independent(BERT, torch.zeros(13, 4, dtype=torch.int64))),
    ("texts", lambda: certify_independent(BERT, torch.zeros(2, 13, dtype=torch.int64))),
    ("depths", lambda: certify_independent(BERT, torch.zeros(2, 4, dtype=torch.int64), (2,))),
    ("examples", lambda: memory.averaging.cancelling_examples(sample_examples(1, 2, 6))),
    ("examples", lambda: memory.averaging.cancelling_examples(sample_examples(2, 1, 6))),
    ("settings", lambda: saturation_by_model(filled(1 / 3, 3, 6, 3), [Setting(2, 3, 4, 5)])),
    ("width", lambda: memory.transformer.random_layer(5, 2, 0)),
    ("moment", lambda: certificate_of(torch.tensor([[1.0, 5.0], [0.0, 2.0]], dtype=torch.float64))),
    ("labels", lambda: linear.learning.regression.fit_linear_attention(ones(3, 2, 3), ones(3))),
    ("key_padding_mask", lambda: LinearAttention(4, last_token=True)(torch.ones(3, 4), torch.ones(3))),
    ("attn_mask", lambda: LinearAttention(4, last_token=True)(torch.ones(3, 4), attn_mask=torch.ones(3, 3).bool())),
    ("attn_mask", lambda: LinearAttention(4, last_token=True)(torch.ones(3, 4), need_weights=True)),
    ("words", lambda: STRINGS.write(STRINGS.random_automata(1, 0)[0], torch.tensor([[0, 0]]))),
    ("width", lambda: linear.experiments.decoder.DecoderSize(7, 15, 2, 1)),
    ("seeds", lambda: linear.experiments.teacher_task.Tasks.draw(2, 1, 5, [])),
    ("sizes", lambda: linear.experiments.growth.bend([2, 3], ones(2))),
    ("sizes", lambda: linear.experiments.growth.bend([2, 3, 3], ones(3))),
    ("kinds", lambda: run_heads(RunData.draw(2, 1, 0, 8, 10, 4, 1), [(1, 0.0, 1.0)])),
    ("lengths", lambda: linear.learning.learned_machine._prefix_kernel(ones(1, 3, 2), ones(1, 3, 2), [2, 1], [1])),
    ("tokens", lambda: linear.model.mhla.mhla(HEADS, ones(0, 3))),
    ("tokens", lambda: linear.model.mhla.mhla(HEADS, ones(2, 4))),
    ("sequences", lambda: linear.model.mhla.stack_lengths([ones(2, 3), ones(2, 4)])),
    ("tokens", lambda: linear.model.features.certificate_features(ones(0, 3))),
    ("tokens", lambda: linear.model.features.cubic_features(ones(0, 3))),
    ("matrix", lambda: linear.model.parameters.antisymmetric_twin(ones(1, 1), 0)),
    ("matrix", lambda: linear.model.parameters.coefficients(ones(4, 5))),
    ("matrix", lambda: linear.model.parameters.coefficients(ones(5, 4))),
    ("matrix", lambda: linear.model.parameters.heads_from_matrix(filled(NAN, 4, 4))),
    ("word", lambda: linear.machines.turing.write_tape(linear.machines.turing.parse_machine("a _ -> a _ L"), "___", 2)),
    ("tables", lambda: AutomatonExecutor(2, 2, 3).prompts(TABLE, WORD, PLACE)),
    ("words", lambda: AutomatonExecutor(2, 2, 3).prompts(TABLE[..., 0], WORD[:, :2], PLACE)),
    ("tables", lambda: COMPACT.embed(TABLE[:, :, :1], WORD, PLACE)),
    ("tables", lambda: COMPACT.embed(TABLE + 3, WORD, PLACE)),
    ("words", lambda: COMPACT.embed(TABLE, WORD.repeat(1, 2), PLACE)),
    ("tables", lambda: linear.machines.universal.UniversalMachine(2, 2, 3, 1).embed(TABLE[:, :, :1], WORD, PLACE)),
    ("lookups", lambda: LookupProgram({"a": 2}, [Lookup("a", "a", "b", "a")])),
    ("prompt", lambda: BlockLayer([BlockHead(*[torch.arange(1)] * 4)], 2).run(ones(1, 1, 3), 1)),
    ("prompt", lambda: RecurrentLayer([BlockHead(*[torch.arange(1)] * 4)], 4).run(ones(1, 2, 5), 1)),
    ("prompt", lambda: RecurrentLayer([BlockHead(*[torch.arange(1)] * 4)], 4).run(ones(1, 0, 4), 1)),
    ("table", lambda: linear.machines.turing.simulate(torch.tensor([[[5, 0, 0]]]), torch.tensor([0, 0]), 0, 2)),
    ("tape", lambda: linear.machines.turing.simulate(torch.tensor([[[0, 0, 0]]]), torch.tensor([0, 7]), 0, 2)),
    ("alpha", lambda: recall.closed_form.odds(1.0)),
    ("alpha", lambda: recall.certified.coin.certify_coin_bound(Fraction(1, 2))),
    ("cases", lambda: recall.certified.margins.certify_hard_margin([recall.direction.instance(6, 4, 3)])),
    ("outputs", lambda: recall.certified.margins.certify_more_outputs([1])),
    ("task", lambda: recall.certified.sentences.certify_scores(replace(TASK, noisy=True))),
    ("task", lambda: recall.certified.sentences.certify_noisy_logits(TASK)),
    ("gamma", lambda: recall.closed_form.noisy_slope(COUNTS, 800.0, COUNTS, 3)),
    ("gamma", lambda: recall.closed_form.noisy_slope(COUNTS, NAN, COUNTS, 3)),
    ("laws", lambda: recall.descent.descend_noiseless(filled(0.4, 1, 2), 0.1, 1, 1)),
    ("law", lambda: recall.descent.descend_noisy(filled(0.4, 2), 0.5, 0.1, 1, 1)),
    ("copies", lambda: sample_sentences(Task(length=8), 3, 0, copies=9)),
    ("copies", lambda: sample_sentences(Task(length=8), 3, 0, copies=torch.tensor([1, 2]))),
    ("tokens", lambda: InContextRecall()(torch.tensor([1]))),
    ("tokens", lambda: InContextRecall()(torch.tensor([1.0, 2.0]))),
    ("labels", lambda: InContextRecall().fit(torch.tensor([[1, 2]]))),
    ("labels", lambda: InContextRecall().fit(torch.tensor([[1, 2]]), torch.tensor([1, 2]), batch_size=1)),
    ("batch_size", lambda: InContextRecall().fit(torch.tensor([[1, 2]]), torch.tensor([1]), batch_size=2)),
    ("code", lambda: from_bits(filled(NAN, 3))),
    ("code", lambda: from_bits(ones(2, 0))),
    ("matrix", lambda: looped.programs.newton.newton_residuals(torch.zeros(2, 2, dtype=torch.float64), 3)),
    ("matrix", lambda: looped.programs.newton.newton_residuals(ones(2, 3), 3)),
    ("matrix", lambda: looped.programs.newton.newton_program(filled(NAN, 2, 2), 3)),
    ("start", lambda: looped.programs.power_iteration.power_iterates(EYE, torch.zeros(3, dtype=torch.float64), 2)),
    ("code", lambda: program([1], [(0, 3, 0)])),
    ("code", lambda: program([1], [(0, 2, 2)])),
    ("code", lambda: looped.subleq.minsky.translate([looped.subleq.minsky.Add(1)], [0])),
    ("code", lambda: looped.subleq.minsky.translate([looped.subleq.minsky.Sub(0, 2)], [0])),
    ("columns", lambda: looped.machine.codes.position_codes(9, bits=3)),
    ("integers", lambda: looped.machine.codes.to_bits(torch.tensor([2.7]), 4)),
    ("integers", lambda: looped.machine.codes.to_bits(torch.tensor([True]), 4)),
    ("code", lambda: from_bits(ones(63))),
    ("terms", lambda: add(Layer(Rows(a=2), "bad"), [(range(2), 1)] * 3, range(2))),
    ("programs", lambda: SubleqMachine(3, 4).load([random_program(1, 2, 4, 0), random_program(2, 1, 4, 0)])),
    ("machine", lambda: SubleqRunner(SubleqMachine(5, 4, scratch=2), [random_program(3, 3, 4, 0)])),
    ("machine", lambda: SubleqRunner(SubleqMachine(4, 8, depth=4, real=True), [random_program(2, 3, 4, 0)])),
    ("the machine", lambda: SubleqRunner(SubleqMachine(5, 4, dtype=torch.float32), [random_program(3, 3, 4, 0)])),
    ("the machine", lambda: looped.machine.sparse_layers.SparseLayers(SubleqMachine(4, 4, dtype=torch.float32), 30.0)),
    ("machine", lambda: looped.certified.subleq_cycle.certify_cycle(SubleqMachine(3, 3, 4, real=True))),
    ("machine", lambda: looped.certified.one_layer.certify_one_layer(looped.subleq.one_layer.OneLayerMachine(2, 3))),
    ("setting", lambda: run_block(ColumnSumBlock("root", root_sigmoids(0.1, 4.0)), *ones(2, 1, 2, 2))),
    ("a", lambda: looped.blocks.sigmoid_sums.OwnColumns(ones(1, 3))),
    ("source", lambda: SubleqMachine(3, 4, 4).load(program([8], [(0, 0, 0)]))),
    ("value", lambda: hyper.interactions.flow.flow_limit(ones(3, 2), -ones(2))),
    ("embedding", lambda: hyper.interactions.interactions.represent(EYE, ones(3, 2), ones(3, 3))),
    ("length", lambda: hyper.certified.data.certify_unseen_direction(4, 4)),
    ("lrs", lambda: hyper.interactions.gram.descend(ones(2, 2, 2), ones(2, 2, 2), ones(2, 2), [(0.1, 0.1)], 15)),
    ("kinds", lambda: hyper.language.pretraining._pretrain([], CORPUS, TRAINING, [0])),
    ("seeds", lambda: hyper.language.pretraining._pretrain([[language_model()]], CORPUS, TRAINING, [0, 1])),
    ("others", lambda: hyper.language.pretraining.gaps([COURSE], [COURSE] * 2)),
    ("kinds", lambda: StackedModels([])),
    ("kinds", lambda: StackedModels([[]])),
    ("models", lambda: StackedModels([[language_model()], [language_model()] * 2])),
    ("models", lambda: StackedModels([[language_model(separate_output=True)]])),
    ("documents", lambda: package.data.library_sources.ascii_documents(["one"], validation_every=2)),
    ("patch", lambda: package.data.photographs.patches(ones(1, 3, 4, 4), 3)),
    ("rows", lambda: hyper.interactions.projections.missed_agreements(ones(3, 2), 2, 2)),
    ("values and features", lambda: hyper.interactions.projections.agreements(13, 2)),
    ("period", lambda: hyper.interactions.fourier.position_code(7)),
    ("embed_dim", lambda: HyperAttention(8, 3)),
    ("embed_dim / num_heads", lambda: HyperFeatureAttention(12, 3, [1, 2, 3])),
    ("tensor", lambda: hyper.layers.linear_hyper_attention.shared_factors_of(torch.arange(8.0).reshape(2, 2, 2))),
    ("score and value", lambda: linear_hyper_attention(ones(4, 3), ones(3, 3, 3), ones(3, 2))),
    ("keys and values", lambda: tuple_attention(ones(2, 2), [ones(2, 2)] * 8, [ones(2, 2)] * 8)),
    ("keys and values", lambda: tuple_attention(ones(2, 2), [ones(2, 2)] * 2, [ones(2, 2)])),
    ("head", lambda: layer_of(CoupledHead([], []), [2])),
    ("head", lambda: layer_of(CoupledHead([Factor(0, 0, EYE)], [Weight(0, ones(3))] * 2), [3])),
    ("dictionary", lambda: hyper.worlds.genotype.activation_score({1: [7]}, 5)),
    ("activators of allele 1", lambda: hyper.worlds.genotype.activation_score({1: [2, 2]}, 5)),
    ("activators of allele 1", lambda: hyper.worlds.genotype.activation(torch.tensor([1, 2]), {1: [2, 2]}, 5)),
    ("corners", lambda: hyper.worlds.parallelogram.parallelogram_defect(ones(6, 1), range(3))),
    ("offsets", lambda: hyper.worlds.vision.pattern_score(4, 4, [(0, 0), (0, 0)])),
    ("offsets", lambda: hyper.worlds.vision.pattern_score(1, 1, [])),
    ("offsets", lambda: hyper.worlds.vision.count_at_offsets(ones(4, 4), [])),
    ("x", lambda: HyperAttention(4, 2)(torch.ones(1, 0, 4))),
    ("x", lambda: HyperAttention(4, 2)(torch.ones(1, 3, 5))),
    ("x", lambda: HyperAttention(4, 2)(torch.ones(4))),
    ("contexts", lambda: MemorizingAttention(4)(torch.ones(2, 0, 4), torch.ones(2, 4))),
    ("contexts", lambda: MemorizingAttention(4)(torch.ones(3, 2, 4), torch.ones(2, 4))),
    ("queries", lambda: MemorizingAttention(4)(torch.ones(2, 3, 4), torch.ones(2, 5))),
    ("key_padding_mask", lambda: MemorizingAttention(4)(torch.ones(2, 4), torch.ones(4), torch.ones(2))),
    ("examples", lambda: memory.memorizing_attention.memorize(EYE[:2], ones(4, 3), ones(4, 1), 1)),
    ("source", lambda: SubleqTransformer.compile("x = 7\nhalt").run({"x": 1000})),
    ("steps", lambda: SubleqTransformer(program([1], [])).run(steps=-1)),
    ("real", lambda: SubleqTransformer(program([1], []), num_layers=1, real=True)),
    ("functions", lambda: package.nn.FleqTransformer.compile("halt", {}, 3, functions=("add", "cube"))),
    ("num_layers", lambda: attention_theory.compile("x = 1", num_layers=10, target="fleq")),
    ("letters", lambda: UniversalTransformer.compile("a 0 -> a 1 L\na _ -> a _ L", letters=2)),
    ("inputs", lambda: SubleqTransformer(program([1], [])).run({"x": 1})),
    ("places", lambda: UniversalTransformer(linear.machines.turing.parse_machine("a _ -> a _ L")).load("_", place=1)),
    ("attn_mask", lambda: HyperAttention(4, 2)(torch.ones(3, 4), attn_mask=torch.ones(3, 3))),
    ("num_kv_heads", lambda: HyperAttention(6, 3, num_kv_heads=2)),
    ("num_kv_heads", lambda: HyperFeatureAttention(4, 2, num_kv_heads=1, value_product=True)),
    ("order", lambda: HyperFeatureAttention(4, 2, [1])),
    *(
        (name, lambda block=block, shape=shape, name=name: block(8)(ones(3, 5, 8), **{name: torch.zeros(shape).bool()}))
        for block in (HyperAttention, HyperFeatureAttention, LinearAttention, LinearHyperAttention)
        for name, shapes in BAD_MASKS.items()
        for shape in shapes
    ),
    ("state", lambda: SubleqTransformer(program([1], []))(ones(3, 5))),
    ("tokens", lambda: UniversalTransformer.compile("a _ -> a _ L", 2)(ones(3, 5))),
    ("is_causal", lambda: HyperAttention(4, 2, window=[3, 3])(torch.ones(3, 4), is_causal=False)),
    ("window", lambda: HyperAttention(4, 2, window=[3])),
    ("window", lambda: HyperAttention(4, 2, window=[3, 3], is_causal=False)),
    ("window", lambda: hyper.layers._window_attention.window_attention(*[ones(1, 3, 2)] * 5, window=[3])),
    ("queries", lambda: hyper.layers._window_attention.window_attention(*[ones(1, 0, 2)] * 5, window=[3, 3])),
    ("queries", lambda: hyper.layers.linear_sums.linear_pair_sum(*[ones(1, 0, 2)] * 5)),
    ("queries", lambda: hyper.layers.pair_attention.pair_attention(*[ones(1, 0, 2)] * 5)),
    ("starts", lambda: hyper.worlds.collisions.simulate(torch.zeros(0, 2, 2, dtype=torch.int64), 5, 1)),
    ("kernel", lambda: hyper.worlds.vision.convolve(ones(5, 5), ones(2, 2))),
    ("kernel", lambda: hyper.worlds.vision.convolve(ones(5, 5), ones(3, 5))),
    ("features", lambda: package.encodings.rotate(ones(2, 3))),
    ("keys", lambda: package.layers.attention(ones(2, 3), ones(2, 4), ones(2, 3))),
    ("values", lambda: package.layers.attention(ones(2, 3), ones(2, 3), ones(4, 3))),
    ("reference", lambda: package.numerics.relative_error(ones(3), ones(1))),
    ("reference", lambda: package.numerics.relative_error(ones(0), ones(0))),
    ("x", lambda: package.trends.linear_fit_r2(ones(2), ones(2))),
    ("x", lambda: package.trends.linear_fit_r2(ones(3), ones(3))),
    ("x", lambda: slope(ones(3), ones(3))),
    ("y", lambda: slope(COUNTS, ones(3))),
    ("x", lambda: package.trends.exponent([0.0, 1.0], [1.0, 1.0])),
    ("task", lambda: recall.chain.chain_sentences(TASK, 5, 0.2, 0)),
    ("task", lambda: recall.chain.chain_probability(torch.zeros(1, 8, dtype=torch.long), 1, TASK, 0.5)),
    ("alpha", lambda: recall.descent.algorithm_1(NOISY, NOISY.output, replace(TASK, noisy=True), 0.1, 3)),
    ("task", lambda: recall.descent.algorithm_1(NOISY, NOISY.output, TASK, 0.1, 3)),
    ("radius", lambda: recall.finite_sample.kl_bound(0.05, 0.05)),
    ("radius", lambda: recall.finite_sample.kl_bound(0.05, -0.1)),
    ("copies", lambda: sample_sentences(TASK, 3, 0, copies=0)),
    ("copies", lambda: sample_sentences(TASK, 3, 0, copies=1.5)),  # type: ignore[arg-type]
    ("noise_copies", lambda: sample_sentences(replace(TASK, noisy=True), 3, 0, noise_copies=-1)),
    ("noise", lambda: recall.task.draw_labels(NOISY, TASK, torch.tensor([0.5]), 0)),
    ("tokens", lambda: recall.task.recover_output(torch.tensor([[3, 4, 5, 0]]), Task(length=4))),
    ("runs", lambda: recall.training.train_on_sample([RUN], replace(TASK, noisy=True), 64, 1, 16, counted=True)),
    ("task", lambda: recall.training.train_on_sample([], TASK, 64, 1, 16)),
    ("examples", lambda: build_heads(sample_examples(8, 2, 4, shared=False), 2, 4, general_position=True)),
    ("examples", lambda: memory.rank_certificate.rank_certificate(sample_examples(13, 4, 6), heads=4)),
    ("attention", lambda: saturation(torch.tensor([[[NAN, 1.0]]]))),
    ("attention", lambda: saturation(torch.tensor([[[3.0, 4.0]]]))),
    ("attention", lambda: saturation(torch.tensor([[[1.5, -0.5]]]))),
    ("head_width", lambda: memory.single_head.fit_targets(sample_examples(3, 3, 5), filled(1 / 3, 3, 3)).as_head(2)),
    ("decisive", lambda: memory.single_head.saturating_scale(torch.zeros(1, 3).double(), filled(1.0, 1, 3), 0.1)),
    ("silent", lambda: silent_direction(sample_examples(12, 4, 8), torch.arange(12) < 8, torch.arange(12) >= 8, 0)),
    ("every model", lambda: memory.sweeps.sweep([(1, 2, 100)], 4, 1, 5, 8, 1e-2)),
    ("vectors", lambda: memory.kruskal.kruskal_rank(memory.examples.integer_vectors(8, 6, seed=0, largest=10_000))),
    ("count", lambda: sample_texts("a few words", "gpt2", 5, 10, lambda text: [1, 2], seed=0)),
    ("count", lambda: sample_texts("a " * 5000, "gpt2", 5, 10, lambda text: [1] * len(text.split()), seed=0)),
    ("source", lambda: sample_texts(" " * 10_000, "gpt2", 5, 10, lambda text: [], seed=0)),
    ("key_padding_mask", lambda: MemorizingAttention(4)(torch.ones(2, 4), torch.ones(4), torch.ones(3).bool())),
    ("examples", lambda: store(torch.tensor([[0, 1], [1, 0], [0, 1]]), torch.tensor([0, 1, 0]), 4, 4, 0)),
    ("task", lambda: package.bridges.stored_sentences.sentence_count(replace(TASK, noisy=True))),
    ("task", lambda: package.bridges.stored_sentences.understood(NOISY, replace(TASK, noisy=True))),
    ("rows of flag", lambda: Rows(memory=3, flag=0)),
    ("values", lambda: package.trends.line_of_the_mean(ones(3), ones(3, 2))),
    ("x", lambda: slope([1], [1])),
]  # fmt: skip


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize(("name", "call"), CALLS)
def test_a_bad_call_is_refused_by_name(name: str, call: Callable[[], Any]) -> None:
    with pytest.raises(ParameterError, match=rf"(?m)^(each of )?{name} must"):
        call()
