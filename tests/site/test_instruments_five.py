"""Five instruments in a real browser: their numbers are the package's, and a keyboard is enough."""

import json
from typing import Any

import pytest
import torch
from axe_playwright_python.sync_playwright import Axe

from attention_theory.hyper_attention.interactions.interactions import aggregate_interactions
from attention_theory.hyper_attention.layers.linear_hyper_attention import aggregate_tuples
from attention_theory.linear_attention.learning.certificate import certificate
from attention_theory.linear_attention.learning.error_bounds import difference_bound
from attention_theory.linear_attention.model.features import certificate_features
from attention_theory.looped_transformers.subleq.assembler import assemble
from attention_theory.looped_transformers.subleq.conformance import conformance
from attention_theory.looped_transformers.subleq.machine import SubleqMachine
from attention_theory.memorization.attention import Examples, KeyQueryHeads, features, predict
from attention_theory.memorization.readout import solve_readout
from bookpress.layout import Layout
from instrument_page import SMALL_TEXT, WCAG

SCALES = [0.01, 1.0, 10.0]
TEXTS = ["Store my labels.", "Store my labels.!"]
TRIPLES = torch.cartesian_prod(torch.arange(3), 3 + torch.arange(3))
SCORES = torch.randn(2, 6, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
TOKENS = torch.randint(-6, 7, (8, 6, 2, 2), generator=torch.Generator().manual_seed(0)).double() / 2
TOKENS[0, 5], TOKENS[1, :, 0] = TOKENS[0, 4], 0  # a copied input; first tokens at the origin
RUNS = [(bits, order, heat) for bits in (4, 8) for order in ("last", "reads") for heat in (1.5, 3.0, 5.0, 9.0)]


def tensor(values: Any) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def broken_bounds(data: Any) -> list[Any]:
    recorded = json.loads((Layout.here().root / "results" / "laptop" / "linear-attention.json").read_text())["values"]
    page = recorded["linear-attention/lemma_4_4_robustness"]["linear-attention/lemma-4-4"]
    ours = []
    for scale in SCALES:
        inputs = scale * tensor(data["inputs"])
        squared = (tensor(data["differences"]) @ certificate_features(inputs).mT).square().sum(dim=1)
        printed = squared.sqrt() / difference_bound(data["epsilon"], data["smallest"], inputs, form="printed")
        correct = squared / difference_bound(data["epsilon"], data["smallest"], inputs)
        ours.append([ratios.amax(dim=1).tolist() for ratios in (printed, correct)])
    assert max(ours[0][0]) == pytest.approx(page["as printed, without the square, by scale: largest ratio"], rel=1e-6)
    return ours


def phrases(_: None) -> list[Any]:
    designs = [aggregate_interactions(TRIPLES, one, torch.eye(6).double())[:, -1] for one in SCORES]
    designs[1] = torch.cat(designs, dim=1)
    effect, vectors = torch.zeros(6, 6, 6), torch.zeros(6, 6, 9)
    for k, (context, query) in enumerate(TRIPLES.tolist()):
        effect[query, context, query] = vectors[context, query, k] = 1
    exact = aggregate_tuples(TRIPLES, effect, vectors, "le")[:, -1].tolist()
    return [*[(design @ torch.linalg.pinv(design)).tolist() for design in designs], exact]


def certificates(_: None) -> list[Any]:
    found = [certificate(tokens) for tokens in TOKENS]
    return [[one.rank, one.smallest, one.null_space[0].abs().tolist() if one.nullity == 1 else [0]] for one in found]


def letters(data: Any) -> list[Any]:
    heads, ours = KeyQueryHeads(tensor(data["keys"]), tensor(data["queries"])), []
    for text in TEXTS:
        some = Examples(tensor(data["context"]), tensor(data["examples"])[: len(text)])
        labels = tensor([[ord(letter)] for letter in text])
        ours.append(predict(heads, solve_readout(features(heads, some), labels, heads.count, 1), some))
    assert (ours[0][:, 0] - tensor([ord(letter) for letter in TEXTS[0]])).abs().max() < 1e-9
    return [one.tolist() for one in ours]


def first_wrong(data: Any) -> list[Any]:
    program, ours = assemble(data["program"]), []
    for bits, order, heat in RUNS:
        machine = SubleqMachine(4, bits, rounded_reads=order == "reads")
        wrong = [conformance(machine, [program], steps, heat, by="layers", beyond=0).wrong for steps in range(1, 10)]
        ours.append(wrong.index(1) + 1 if 1 in wrong else 0)
    return ours


#: For each instrument its data, the package's numbers, its own, a control, and a key that changes something.
CASES: dict[str, tuple[Any, ...]] = {
    "break_it": ("pairs_of_models", broken_bounds, f"""{SCALES}.map((scale) => ["printed", "correct"].map((form) =>
        core.ratios(data, scale).map((one) => one[form])))""", "input[type=range]", "End"),
    "three_words": ("none", phrases, f"""[...[1, 2].map((count) => core.votes({SCORES.tolist()}.slice(0, count))),
        core.phrases.map(core.order3)]""", "button >> nth=4", "Enter"),
    "certificate": ("none", certificates, f"""{TOKENS.tolist()}.map((tokens) => core.certificate(tokens)).map(
        (one) => [one.rank, one.value, one.rank === 5 ? one.direction.map(Math.abs) : [0]])""", "input", "ArrowRight"),
    "store_labels": ("construction", letters, f"""{TEXTS}.map((text) => core.outputs(data, [...text].map((letter) =>
        letter.charCodeAt(0))))""", "input[type=checkbox]", "Space"),
    "temperature": ("orders", first_wrong, f"""{[list(run) for run in RUNS]}.map(([bits, order, heat]) =>
        core.run(data, order, bits, heat).wrong || 0)""", "input[type=range]", "End"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_numbers_are_those_of_the_package_and_a_keyboard_is_enough(opened: Any, name: str) -> None:
    export, numbers, script, control, key = CASES[name]
    page = opened(name, viewport={"width": 390, "height": 900}, reduced_motion="reduce").page
    ours = numbers(page.evaluate(f"instruments.data.{name}.{export} ?? null"))
    given = f"const core = instruments.{name}_core, data = instruments.data.{name}.{export};"
    found = page.evaluate(f"() => {{ {given} return ({script}).flat(9); }}")
    torch.testing.assert_close(
        tensor(found), torch.cat([tensor(one).flatten() for one in flat(ours)]), rtol=1e-6, atol=1e-8
    )
    before = page.locator(".instrument-status").inner_text()
    page.locator(".instrument-room").locator(control).first.press(key)
    assert page.locator(".instrument-status").inner_text() not in ("", before)
    assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")
    assert page.evaluate(SMALL_TEXT) == []
    assert Axe().run(page, options=WCAG | {"preload": False}).response["violations"] == []


def flat(values: Any) -> list[Any]:
    """All numbers in nested lists, one after another."""
    return [number for one in values for number in flat(one)] if isinstance(values, list) else [values]
