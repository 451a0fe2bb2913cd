"""The instruments "Trigger and answer" and "How much fits" in a real browser, opened as files, beside torch."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from playwright.sync_api import Browser, Page

from attention_theory.in_context_reasoning.closed_form import bayes_risk
from attention_theory.in_context_reasoning.cross_entropy import expected_loss
from attention_theory.in_context_reasoning.instrument import _WORDS, reading_sentences, reading_task, weights_at
from attention_theory.in_context_reasoning.model import Architecture, Weights, forward
from attention_theory.in_context_reasoning.task import Sentences, violations
from attention_theory.memorization.attention import capacity, parameter_count
from attention_theory.memorization.construction import blocks
from attention_theory.memorization.exact_rank import _rank_bound, exact_ranks
from attention_theory.memorization.key_width import dimension_count
from attention_theory.randomness import generator

GIVEN = {"trigger_and_answer": "readers", "how_much_fits": "ranks"}


@pytest.fixture(scope="module")
def tables(bare: Path) -> dict[str, Any]:
    """What each instrument is given."""
    scripts = {name: (bare / "_static" / "instruments" / f"{name}.data.js").read_text() for name in GIVEN}
    return {name: json.loads(text.partition(" = ")[2].rstrip(";\n"))[GIVEN[name]] for name, text in scripts.items()}


@pytest.fixture
def reader(opened: Any) -> Page:
    return opened("trigger_and_answer").page


@pytest.fixture
def store(opened: Any) -> Page:
    return opened("how_much_fits").page


@pytest.fixture(scope="module")
def questions(tables: dict[str, Any]) -> list[dict[str, Any]]:
    """A thousand models and sentences: half of the sentences of the task, half of words in any order."""
    table, draw, asked = tables["trigger_and_answer"], generator(20), []

    def pick(most: int) -> int:
        return int(torch.randint(most, (), generator=draw))

    for number in range(1000):
        model = list(table["models"])[pick(3)]
        part = table["models"][model]
        level, time = pick(len(part["noises"])), pick(len(part["times"]))
        if number % 2:
            tokens = torch.randint(len(_WORDS), (pick(29) + 2,), generator=draw).tolist()
            tokens[-1] = 0 if pick(4) else tokens[-1]
        else:
            tokens = reading_sentences(reading_task(part["noises"][level] > 0), 1, draw).tokens[0].tolist()
        noise, steps = part["noises"][level], part["times"][time]
        asked.append({"model": model, "level": level, "time": time, "tokens": tokens, "noise": noise, "steps": steps})
    return asked


def told(page: Page, script: str, given: Any = None) -> Any:
    """What a function of the page says to plain data, carried as text, which is far faster than value by value."""
    return json.loads(page.evaluate(f"(text) => JSON.stringify(({script})(JSON.parse(text)))", json.dumps(given)))


_ANSWERS = """(questions) => {
    const core = window.instruments.trigger_and_answer_core;
    const table = window.instruments.data.trigger_and_answer.readers;
    return questions.map(({ model, level, time, tokens, noise }) => {
        const done = core.forward(core.weightsAt(table, model, level, time), tokens);
        const verdict = core.judge(table, tokens, noise);
        const law = verdict.faults.length ? null : core.bayes(table, verdict.output, noise);
        return { ...done, verdict, law, losses: law && core.losses(done.logits, law) };
    });
}"""


@pytest.fixture(scope="module")
def answers(browser: Browser, bare: Path, questions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the browser says to them."""
    page = browser.new_page()
    page.goto((bare / "trigger_and_answer.html").as_uri())
    page.locator(".instrument-start").click()
    page.locator(".instrument[data-ready]").wait_for()
    found: list[dict[str, Any]] = told(page, _ANSWERS, questions)
    page.close()
    return found


@pytest.mark.slow
def test_the_reader_is_the_transformer_in_torch(
    tables: dict[str, Any], questions: list[dict[str, Any]], answers: list[dict[str, Any]]
) -> None:
    """Attention, the logits of both layers and probabilities on a thousand random sentences, to 1e-10."""
    table, apart = tables["trigger_and_answer"], 0.0
    kept: dict[tuple[str, float, int], Weights] = {}
    for asked, said in zip(questions, answers, strict=True):
        model = asked["model"], asked["noise"], asked["steps"]
        if model not in kept:
            kept[model] = weights_at(table, *model)
        done = forward(torch.tensor([asked["tokens"]]), kept[model], Architecture())
        pairs = [
            (said["attention"], done.weights),
            (said["fromAttention"], done.attention),
            (said["fromFeedForward"], done.feed_forward),
            (said["probabilities"], done.logits.softmax(dim=-1)),
        ]
        for ours, theirs in pairs:
            gap = torch.tensor(ours, dtype=torch.float64) - theirs[0]
            apart = max(apart, gap.abs().max().item())
    assert apart <= 1e-10
    assert len(kept) > 150


def test_it_knows_the_sentences_of_the_task_and_the_bayes_answer(
    questions: list[dict[str, Any]], answers: list[dict[str, Any]]
) -> None:
    """A sentence is one of the task if some output word, seen or unseen, breaks no condition of Definition 2.1."""
    kinds = set()
    for asked, said in zip(questions, answers, strict=True):
        task = reading_task(asked["noise"] > 0)
        words = torch.arange(task.tokens)
        tokens = torch.tensor([asked["tokens"]]).expand(task.tokens, -1)
        candidates = Sentences(tokens, torch.zeros_like(words), words)
        fits = {
            unseen: ~torch.stack(list(violations(candidates, task, unseen).values())).any(dim=0)
            for unseen in (False, True)
        }
        verdict = said["verdict"]
        of_task = bool((fits[False] | fits[True]).any())
        assert of_task == (not verdict["faults"]), (asked, verdict)
        kinds.add((of_task, verdict["seen"]))
        if not of_task:
            continue
        output = verdict["output"]
        assert (fits[False] | fits[True]).nonzero().flatten().tolist() == [output]
        assert bool(fits[False][output]) == verdict["seen"]
        expected = torch.zeros(task.tokens, dtype=torch.float64)
        expected[output] += 1 - asked["noise"]
        expected[-1] += asked["noise"]
        assert torch.equal(torch.tensor(said["law"], dtype=torch.float64), expected)
        logits, noise = torch.tensor([said["logits"]], dtype=torch.float64), asked["noise"]
        loss = expected_loss(logits, torch.tensor([output]), len(_WORDS) - 1, noise).item()
        assert said["losses"]["loss"] == pytest.approx(loss, abs=1e-10)
        assert said["losses"]["least"] == pytest.approx(bayes_risk(asked["noise"]), abs=1e-12)
    assert kinds >= {(True, True), (True, False), (False, False)}


def test_each_condition_is_named_where_it_fails(reader: Page) -> None:
    script = """([tokens, noise]) => window.instruments.trigger_and_answer_core.judge(
        window.instruments.data.trigger_and_answer.readers, tokens, noise).faults"""
    cases = {
        ("she to Bob and", 0.2): ["end"],
        ("she and to", 0.2): ["I"],
        ("the she to Bob and to", 0.2): ["II"],
        ("the she to Bob and to", 0.0): [],
        ("to the to Bob and to", 0.2): [],
        ("to the to Bob and to", 0.0): ["III"],
        ("to Rome to Bob and to", 0.2): ["III"],
        ("to Rome and to to", 0.2): ["III"],
    }
    for (text, noise), faults in cases.items():
        tokens = [_WORDS.index(word) for word in text.split()]
        assert told(reader, script, [tokens, noise]) == faults, text


def test_a_sentence_is_written_by_buttons_by_hand_and_by_chance(reader: Page) -> None:
    box = reader.locator("#ta-text")
    shown = reader.locator(".ta-words .ta-word")
    reader.locator("[data-act=clear]").click()
    assert shown.all_inner_texts() == ["to"]
    assert "no word follows" in reader.locator("#ta-note").inner_text()
    for word in ("she", "to", "Bob"):
        reader.locator(f".ta-key:text-is('{word}')").click()
    assert box.input_value() == "she to Bob"
    assert shown.all_inner_texts() == ["she", "to", "Bob", "to"]
    box.fill("She sends, to LIMA <b>x</b>")
    assert shown.all_inner_texts() == ["she", "sends", "to", "Lima", "to"]
    assert "16 words: b, x." in reader.locator("#ta-note").inner_text()
    reader.locator("[data-act=draw]").click()
    assert "A sentence of the task" in reader.locator("#ta-note").inner_text()
    reader.locator("[data-act=unseen]").click()
    assert "an unseen answer" in reader.locator("#ta-note").inner_text()
    box.fill(" ".join(["she"] * 200))
    assert shown.count() == 32


def shares_of_bob(reader: Page) -> tuple[float, float]:
    """What the reader says of Bob, in percent: the model's answer and the Bayes answer."""
    said = reader.locator("[data-part=result]").inner_text()
    model, bayes = (float(share) for share in re.findall(r"Bob with ([\d.]+) %", said))
    return model, bayes


def test_the_reader_is_worked_by_the_keyboard(reader: Page) -> None:
    table = reader.locator(".ta-answer tbody")
    reader.locator("#ta-time").focus()
    reader.keyboard.press("Home")
    assert reader.locator("output[for=ta-time]").inner_text() == "= 0"
    assert "prefers none" in reader.locator("[data-part=result]").inner_text()
    before = table.inner_text()
    reader.keyboard.press("End")
    assert reader.locator("output[for=ta-time]").inner_text() == "= 200"
    assert table.inner_text() != before
    learned, best = shares_of_bob(reader)
    assert best == 80
    assert learned == pytest.approx(best, abs=2)
    reader.locator("input[value=scales]").focus()
    reader.keyboard.press("ArrowDown")
    assert reader.locator("input[value=query-key]").is_checked()
    assert "1024 trained numbers" in reader.locator("[data-part=facts]").inner_text()
    word = reader.locator(".ta-words button").nth(2)
    word.focus()
    reader.keyboard.press("Enter")
    assert "(word 3)" in reader.locator("[data-part=score]").inner_text()


@pytest.mark.slow
def test_the_table_has_the_ranks_that_are_found_anew(store: Page, tables: dict[str, Any]) -> None:
    """A thousand entries at other draws, the heads asked for and no more; and all entries against their bound."""
    table, draw = tables["how_much_fits"], generator(21)
    script = """(asked) => asked.map((one) => window.instruments.how_much_fits_core.rank(
        window.instruments.data.how_much_fits.ranks, one))"""
    asked = [
        {name: table[key][int(torch.randint(len(table[key]), (), generator=draw))] for name, key in _LISTS.items()}
        | {"contexts": ("shared", "separate")[int(torch.randint(2, (), generator=draw))]}
        for _ in range(1000)
    ]
    shown = told(store, script, asked)
    for number, (one, rank) in enumerate(zip(asked, shown, strict=True)):
        H, n, d, k = (one[name] for name in _LISTS)
        assert exact_ranks(H, n, d, k, one["contexts"] == "shared", 100 + number)[-1] == rank, one
    everything = _all_sizes(table)
    bounds = [_rank_bound(one["heads"], one["tokens"], one["width"], one["contexts"] == "shared") for one in everything]
    assert told(store, script, everything) == bounds


_LISTS = {"heads": "heads", "tokens": "tokens", "width": "widths", "headWidth": "head_widths"}


def _all_sizes(table: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"heads": H, "tokens": n, "width": d, "headWidth": k, "contexts": contexts}
        for contexts in ("shared", "separate")
        for n in table["tokens"]
        for d in table["widths"]
        for k in table["head_widths"]
        for H in table["heads"]
    ]


@pytest.mark.slow
def test_the_counts_beside_the_rank_are_the_packages(store: Page, tables: dict[str, Any]) -> None:
    everything = _all_sizes(tables["how_much_fits"])
    script = """(asked) => asked.map((one) => { const core = window.instruments.how_much_fits_core;
        const counts = [core.promised, core.most, core.parameters, core.directions, core.covered, core.blocks];
        return counts.map((count) => count(one)); })"""
    for one, found in zip(everything, told(store, script, everything), strict=True):
        H, n, d, k = (one[name] for name in _LISTS)
        shared = one["contexts"] == "shared"
        promised = capacity(H, n, k)
        directions = dimension_count(H, n, d, k, shared) if 2 <= n < d else None
        shares = [[part.start, part.stop] for part in blocks(promised, H, min(n, k))]
        counts = [promised, _rank_bound(H, n, d, shared), parameter_count(H, d, k, 1, 1), directions, n < d, shares]
        assert found == counts, one


def test_the_store_is_worked_by_the_keyboard_and_by_columns(store: Page) -> None:
    said = store.locator("[data-part=said]")
    assert "17 examples fit" in said.inner_text()
    store.locator("#hmf-heads").focus()
    store.keyboard.press("ArrowRight")
    assert "21 examples fit" in said.inner_text()
    assert store.locator("[data-part=stairs] rect.hmf-own").count() == 21
    store.locator("input[value=separate]").focus()
    store.keyboard.press("Space")
    assert "40 examples fit" in said.inner_text()
    store.locator("input[name=hmf-axis][value=width]").check()
    store.locator("[data-part=chart] [data-size='0']").click()
    assert "Theorem 1 says nothing" in said.inner_text()
    assert "10 examples fit" in said.inner_text()
