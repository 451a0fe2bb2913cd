"""The instruments in a real browser: what they compute beside torch, when they load, how they are worked.

Most of it is tried on a bare page with the instrument's own element, scripts and weights, opened as a file.
"""

import base64
import json
import re
from typing import Any

import numpy as np
import pytest
import torch
from axe_playwright_python.sync_playwright import Axe

from attention_theory.linear_attention.machines.compact import CompactMachine
from attention_theory.linear_attention.machines.turing import (
    pad_table,
    parse_machine,
    random_inputs,
    random_tables,
    simulate,
)
from attention_theory.looped_transformers.subleq.assembler import assemble, library, library_text
from attention_theory.looped_transformers.subleq.frozen import FrozenSubleq
from attention_theory.looped_transformers.subleq.language import SubleqProgram, interpret, random_program
from bookpress.layout import Layout
from bookpress.site.instruments import instrument_pages, instruments_of
from instrument_page import SMALL_TEXT, WCAG, run_to_the_end

PAGES = instrument_pages(Layout.here())
NAMES = [name for page in PAGES for name in instruments_of(page.read_text(encoding="utf-8"))]

#: How many random inputs each instrument is given beside torch, and how many at once.
INPUTS, AT_ONCE = 1_000, 100


def numbers(encoded: str, *shape: int) -> torch.Tensor:
    """float64 values that the page has sent as text."""
    return torch.from_numpy(np.frombuffer(base64.b64decode(encoded), dtype=np.float64).reshape(*shape).copy())


#: Sends float64 values as text.
SEND = """(arrays) => {
    const bytes = new Uint8Array(arrays.reduce((sum, one) => sum + one.byteLength, 0));
    let at = 0;
    for (const one of arrays) {
        bytes.set(new Uint8Array(one.buffer, one.byteOffset, one.byteLength), at);
        at += one.byteLength;
    }
    let text = "";
    for (let k = 0; k < bytes.length; k += 32768) text += String.fromCharCode(...bytes.subarray(k, k + 32768));
    return btoa(text);
}"""


#: Resolves when what a loaded page does at once is done.
TWO_FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


def plain(program: SubleqProgram) -> dict[str, Any]:
    return {"memory": list(program.memory), "code": [list(one) for one in program.code]}


# What every instrument must keep


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_loaded_before_it_is_wanted_and_nothing_goes_wrong(opened: Any, name: str) -> None:
    visit = opened(name, load=False)
    visit.page.evaluate(TWO_FRAMES)
    assert {url.rpartition("/")[2].partition("?")[0] for url in visit.asked} == {
        f"{name}.html",
        "instruments.css",
        "instruments.js",
    }
    assert visit.page.locator(".instrument").inner_text().endswith("What is shown without scripts.")
    visit.page.locator(".instrument-start").press("Enter")
    visit.page.locator(".instrument[data-ready]").wait_for()
    later = {url.rpartition("/")[2] for url in visit.asked}
    assert {f"{name}.js", f"{name}.data.js"} <= later
    assert all(url.startswith("file://") for url in visit.asked)


def test_an_instrument_loads_when_it_is_scrolled_to(opened: Any) -> None:
    visit = opened("turing", load=False)
    visit.page.evaluate("document.querySelector('.instrument').style.marginTop = '3000px'")
    visit.page.mouse.wheel(0, 2900)
    visit.page.locator(".instrument[data-ready]").wait_for()


# A program in a transformer

#: Loads programs into the machine and executes some cycles of each; sends the states.
RUN_SUBLEQ = f"""([programs, cycles, every]) => {{
    const core = instruments.subleq_core, made = core.machine(instruments.data.subleq.subleq), kept = [];
    for (const program of programs) {{
        let state = core.load(made, core.padded(made, program));
        if (every) kept.push(state);
        for (let k = 0; k < cycles; k += 1) {{
            const moments = core.cycle(made, state);
            state = moments[moments.length - 1].state;
            if (every) kept.push(...moments.map((one) => one.state));
        }}
        if (!every) kept.push(state);
    }}
    return ({SEND})(kept);
}}"""


@pytest.fixture(scope="module")
def computer() -> FrozenSubleq:
    return FrozenSubleq(layers=10, integers=16, instructions=28, bits=8)


def some_program(number: int) -> SubleqProgram:
    """Random programs of every size, every other one at the limits."""
    return random_program(1 + number % 16, 1 + number % 28, 8, number, wild=bool(number % 2))


@pytest.mark.slow
def test_the_layers_in_the_browser_are_those_in_torch(opened: Any, computer: FrozenSubleq) -> None:
    """A thousand random programs, loaded by the page and by the package: the states after a cycle."""
    page, machine = opened("subleq").page, computer.machine
    shape = machine.load(computer.fitted(some_program(0))).shape
    apart = 0.0
    for first in range(0, INPUTS, AT_ONCE):
        programs = [some_program(number) for number in range(first, first + AT_ONCE)]
        ours = machine.cycle(machine.load([computer.fitted(one) for one in programs]), computer.inverse_temperature)
        sent = page.evaluate(RUN_SUBLEQ, [[plain(one) for one in programs], 1, False])
        apart = max(apart, float((ours - numbers(sent, AT_ONCE, *shape)).abs().max()))
    assert apart <= 1e-12


def test_the_interpreter_in_the_browser_is_the_packages(opened: Any) -> None:
    script = """(programs) => JSON.stringify(programs.map((program) => {
        let at = { counter: 0, memory: program.memory };
        const seen = [];
        while (at.counter !== program.code.length - 1 && seen.length < 30) {
            at = instruments.subleq_core.interpret(program, 8, at);
            seen.push([at.counter, at.memory]);
        }
        return seen;
    }))"""
    programs = [some_program(number) for number in range(300)]
    found = json.loads(opened("subleq").page.evaluate(script, [plain(one) for one in programs]))
    for program, seen in zip(programs, found, strict=True):
        run = interpret(program, 8, 30)
        assert [counter for counter, _ in seen] == run.counters.tolist()
        assert [memory for _, memory in seen] == run.memories.tolist()


#: What both sides must make of a text, or say of it: the package's own tests read the same list.
TEXTS: dict[str, list[dict[str, Any]]] = json.loads(
    (Layout.here().root / "tests" / "program_texts.json").read_text(encoding="utf-8")
)


def test_the_assembler_in_the_browser_is_the_packages(opened: Any) -> None:
    script = """(texts) => texts.map((text) => {
        try {
            const { memory, code } = instruments.subleq_core.assemble(text);
            return { text, memory, code };
        } catch (error) { return { text, fault: error.message }; }
    })"""
    page = opened("subleq").page
    assert page.evaluate(script, [case["text"] for case in TEXTS["subleq"]]) == TEXTS["subleq"]
    texts = [library_text(name) for name in library()]
    for text, found in zip(texts, page.evaluate(script, texts), strict=True):
        assert found == {"text": text, **plain(assemble(text))}


def test_a_program_runs_to_its_end_and_agrees_all_the_way(opened: Any) -> None:
    page = opened("subleq").page
    assert run_to_the_end(page).startswith("✓ The program has halted.")
    assert page.get_by_role("row", name="product 63 63").count() == 1
    page.get_by_label("Text of the program").fill("x = 3\ny = 5\ny -= x\nhalt")
    page.get_by_role("button", name="One instruction").press("Enter")
    assert page.get_by_role("row", name="y 2 2").count() == 1
    page.get_by_label("Text of the program").fill("x = 3\ny -= x\nhalt")
    assert "line 2: unknown cell 'y'" in page.get_by_role("alert").inner_text()


def test_a_wrong_weight_and_a_soft_softmax_are_seen(opened: Any) -> None:
    page = opened("subleq").page
    for disturb in (
        lambda: page.get_by_label("Flip the sign of one weight").check(),
        lambda: page.get_by_label("Inverse temperature").fill("2"),
    ):
        page.reload()
        page.locator(".instrument-start").click()
        page.locator(".instrument[data-ready]").wait_for()
        disturb()
        assert run_to_the_end(page).startswith("✗")


def test_a_program_that_never_halts_is_told_so_and_a_long_one_can_be_stopped(opened: Any) -> None:
    page = opened("subleq").page
    text = page.get_by_label("Text of the program")
    text.fill("s: goto s\nhalt")
    assert "never halts" in run_to_the_end(page)
    text.fill(
        "n = -100\none = 1\nm = 0\nagain: m -= one\nm -= one\nn -= m if <= 0 goto again\nn -= one\ngoto again\nhalt"
    )
    page.get_by_role("button", name="To the end").click()
    page.get_by_role("button", name="Stop").click()
    assert re.match(r"✓ After \d+ instructions?: both at", page.locator(".instrument-status").inner_text())
    assert page.get_by_role("button", name="To the end").is_enabled()


# A Turing machine in one layer

#: Runs machines for some steps; sends every token after the prompt as [token, row, amount], and the tapes beside.
RUN_TURING = """([tables, words, places, steps]) => {
    const core = instruments.turing_core, made = core.layer(instruments.data.turing.turing);
    return JSON.stringify(tables.map((table, number) => {
        const prompt = core.embed(made, core.padded(made, table), words[number], places[number]);
        const history = core.begin(made, prompt), cells = words[number].length;
        while (history.tokens.length < prompt.length + core.tokensUntil(steps, cells)) {
            core.append(history, core.next(made, history).token);
        }
        let at = { cells: words[number], head: places[number], state: 0 };
        for (let k = 0; k < steps; k += 1) at = core.simulate(core.padded(made, table), at, false);
        const entries = history.tokens.flatMap((token, k) => token.map(([row, amount]) => [k, row, amount]));
        return { entries, tape: core.read(made, history.tokens.slice(-cells - steps)), at };
    }));
}"""  # as one text, since a browser sends many small lists slowly


@pytest.mark.slow
def test_the_tokens_in_the_browser_are_those_in_torch(opened: Any) -> None:
    """A thousand random machines of all sizes: prompt and every token, entry by entry, and the tape they spell out."""
    page, machine = opened("turing").page, CompactMachine(8, 4, 12, 60)
    wrong = 0
    for first in range(0, INPUTS, AT_ONCE):
        batch = first // AT_ONCE
        states, letters, cells, steps = 1 + batch % 8, 1 + batch % 4, 1 + batch, 2 + batch % 4
        small = random_tables(AT_ONCE, states, letters, batch)
        words, places = random_inputs(AT_ONCE, letters, cells, 100 + batch)
        tables = torch.stack([pad_table(one, 8, 4) for one in small])
        ours = machine.run(machine.embed(tables, words, places), steps)
        last = machine.read(ours[:, -cells - steps :])
        found = json.loads(page.evaluate(RUN_TURING, [small.tolist(), words.tolist(), places.tolist(), steps]))
        for number, one in enumerate(found):
            theirs = torch.zeros_like(ours[number])
            token, row, amount = torch.tensor(one["entries"]).T
            theirs[token, row] = amount.to(theirs.dtype)
            read = [one["tape"]["letters"], one["tape"]["states"]]
            wrong += not torch.equal(ours[number], theirs)
            wrong += read != [last.letters[number].tolist(), last.states[number].tolist()]
            tape = torch.nn.functional.pad(words[number], (0, steps))
            run = simulate(tables[number], tape, int(places[number]), steps)
            wrong += one["at"]["cells"] != run.letters[-1].tolist()
    assert wrong == 0


def test_rules_are_read_as_the_package_reads_them(opened: Any) -> None:
    script = """(texts) => texts.map((text) => {
        try { return { text, ...instruments.turing_core.parse(text) }; }
        catch (error) { return { text, fault: error.message }; }
    })"""
    page = opened("turing").page
    assert page.evaluate(script, [case["text"] for case in TEXTS["turing"]]) == TEXTS["turing"]
    examples = page.evaluate(
        "[...document.querySelectorAll('.instrument select option')].slice(0, -1).map(e => e.value)"
    )
    texts = []
    for name in examples:
        page.get_by_label("Example").select_option(name)
        assert page.get_by_role("alert").inner_text() == ""
        texts.append(page.get_by_label("Rules").input_value())
    for text, found in zip(texts, page.evaluate(script, texts), strict=True):
        ours = parse_machine(text)
        assert (found["states"], found["letters"]) == (list(ours.states), list(ours.letters))
        assert found["table"] == ours.table.tolist()


def test_every_example_runs_to_its_end_and_agrees_all_the_way(opened: Any) -> None:
    page = opened("turing").page
    ends = {
        "add one": "accept",
        "an even number of ones": "reject",
        "as many zeros as ones": "accept",
        "a busy beaver": "accept",
    }
    for name, end in ends.items():
        page.get_by_label("Example").select_option(name)
        assert run_to_the_end(page).startswith(f"✓ The machine rests in {end}.")
    page.get_by_label("Rules").fill("go _ -> go _ L")
    page.get_by_label("Word").fill("__")
    assert run_to_the_end(page).startswith("✓ The head has left the tape and is lost.")
    page.get_by_label("Word").fill("_x")
    assert "does not know the letter x" in page.get_by_role("alert").inner_text()


def test_a_wrong_weight_of_the_layer_is_seen(opened: Any) -> None:
    page = opened("turing").page
    page.get_by_label("Flip the sign of one weight").check()
    assert run_to_the_end(page).startswith("✗")


# For everybody


@pytest.mark.slow
@pytest.mark.parametrize("name", ["subleq", "turing"])
def test_pictures_follow_the_theme(opened: Any, name: str) -> None:
    page = opened(name).page
    drawn = "[...document.querySelectorAll('.instrument canvas')].map(one => one.toDataURL())"
    light = page.evaluate(drawn)
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    assert light
    page.wait_for_function(f"light => ({drawn}).every((dark, number) => dark !== light[number])", arg=light)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["subleq", "turing"])
def test_less_motion_is_respected_and_run_can_be_stopped(opened: Any, name: str) -> None:
    calm = opened(name, reduced_motion="reduce").page
    calm.get_by_role("button", name="Run", exact=True).click()
    assert calm.get_by_role("button", name="Pause").count() == 0
    calm.wait_for_function(
        "[...document.querySelectorAll('button')].find((one) => /end/.test(one.innerText))?.disabled"
    )
    page = opened(name).page
    page.get_by_role("button", name="Run", exact=True).click()
    page.get_by_role("button", name="Pause").click()
    assert page.get_by_role("button", name="Run", exact=True).count() == 1


@pytest.mark.slow
def test_the_instruments_of_the_site_open_on_every_screen(screen: Any) -> None:
    """On the built pages, in the theme's own colours, beside contents and navigation."""
    wrong = {}
    for path in [page for page in screen.site.pages if page.startswith("instruments/")]:
        screen.open(path)
        for place in screen.page.locator(".instrument").all():
            start = place.locator(".instrument-start")
            if start.count():  # one that is in view opens by itself
                start.click()
        screen.page.wait_for_function("[...document.querySelectorAll('.instrument')].every(e => e.dataset.ready)")
        wide = screen.page.evaluate("document.scrollingElement.scrollWidth - innerWidth")
        wrong[path] = [*screen.faults, *screen.strangers, *(["too wide"] if wide > 0 else [])]
        wrong[path] += screen.page.evaluate(SMALL_TEXT)
        found = Axe().run(screen.page, options=WCAG).response["violations"]
        wrong[path] += [f"{one['id']}: {node['html'][:160]}" for one in found for node in one["nodes"][:3]]
        screen.faults.clear()  # the audit itself asks for style sheets that are not there
    assert {path: faults for path, faults in wrong.items() if faults} == {}
