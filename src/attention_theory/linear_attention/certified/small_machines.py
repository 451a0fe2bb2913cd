"""Small machines and programs on every input: automata in heads and in strings, lookups, walks, and cells of a tape."""

from itertools import product
from typing import Any

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from attention_theory.certificates import Answer, Certificate, Control, certify, exhaust
from attention_theory.certificates.certificate import Counterexample
from attention_theory.certificates.exhaust import Batch
from attention_theory.linear_attention.experiments.automata import StringForm
from attention_theory.linear_attention.machines.automaton_executor import AutomatonExecutor
from attention_theory.linear_attention.machines.block_heads import BlockHead, BlockLayer
from attention_theory.linear_attention.machines.example_programs import walk_program
from attention_theory.linear_attention.machines.programs import POSITION, Lookup, LookupProgram, Token
from attention_theory.linear_attention.machines.tape_program import BRANCH_FAULTS, Cell, cells_of, new_tape
from attention_theory.linear_attention.machines.turing import MOVES, simulate
from attention_theory.linear_attention.model.rounding import read_letter
from attention_theory.validation import Form, require

#: Tables of next states, words of letters, start states.
_Automata = tuple[Int[Tensor, "runs states letters"], Int[Tensor, "runs word"], Int[Tensor, " runs"]]


def certify_automata(states: int, letters: int, word: int) -> Certificate:
    """The abstract and Section 5: one set of heads runs every automaton on every word, from every state.

    Args:
        states: q, at least 2. There are q to the power of q v tables.
        letters: v, at least 2.
        word: L.

    Raises:
        ParameterError: a number out of its range.
    """
    require(states=(states, 2, None), letters=(letters, 2, None), word=(word, 1, None))
    task = AutomatonExecutor(states, letters, word)
    sizes = _automaton_sizes(states, letters, word) | {"start": states}

    def visited(batch: Batch, heads: list[BlockHead]) -> tuple[Tensor, Tensor]:
        tables, words, starts = _automata(batch, states, letters)
        layer = BlockLayer(heads, task.width)
        written = layer.run(task.prompts(tables, words, starts), 2 * word)
        places = read_letter(task.rows.view(written[:, task.prompt_tokens - 1 :: 2], "turn"))
        due = torch.arange(word + 1).expand(len(words), -1)
        return torch.cat([task.states_of(written), places], 1), torch.cat([_run(tables, words, starts), due], 1)

    def ask(heads: list[BlockHead]) -> Answer:
        def holds(batch: Batch) -> Bool[Tensor, " members"]:
            ours, due = visited(batch, heads)
            return (ours == due).all(dim=1)

        return exhaust.every(sizes, holds, f"states and places that {len(heads)} heads write are the automaton's")

    def run(values: Counterexample) -> tuple[str, bool]:
        ours, due = (part[0].tolist() for part in visited(_alone(values), task.heads[:-1]))
        return f"states and places {ours}, right are {due}", ours != due

    return certify(
        "The states that the heads write are those of the automaton, and with each they write the next place.",
        f"all automata of {states} states and {letters} letters, all words of {word}, all start states",
        ask(task.heads),
        Control.of("without the head of the last letter", ask(task.heads[:-1]), run),
    )


def certify_strings(states: int, letters: int, word: int) -> Certificate:
    """Section 6.3: the history in a string is the run of the automaton whose table it holds, from state 0.

    Args:
        states: Q, at least 2. There are Q to the power of Q V tables.
        letters: V, at least 2.
        word: L.

    Raises:
        ParameterError: a number out of its range.
    """
    require(states=(states, 2, None), letters=(letters, 2, None), word=(word, 1, None))
    form = StringForm(states, letters, word)

    def follows(batch: Batch, changed: int) -> Bool[Tensor, " members"]:
        tables, words, starts = _automata(batch, states, letters)
        strings = form.write(tables, words, shown=(tables + changed) % states)
        table, history = strings[:, : form.table].unflatten(1, (-1, 5)), strings[:, form.prompt :].unflatten(1, (-1, 5))
        visited = _run(table[..., 3].unflatten(1, (states, letters)), words, starts)
        due = torch.stack([visited[:, :-1], words + states, visited[:, 1:]], dim=-1)
        return (history[..., 1:4] == due).flatten(1).all(dim=1)

    def ask(changed: int, words: str) -> Answer:
        sizes = _automaton_sizes(states, letters, word)
        return exhaust.every(sizes, lambda batch: follows(batch, changed), words)

    def run(values: Counterexample) -> tuple[str, bool]:
        tables, words, _ = _automata(_alone(values), states, letters)
        parts = form.read(form.write(tables, words, shown=(tables + 1) % states)[0])
        wrong = sum(parts.table[before, letter] != after for before, letter, after in parts.history)
        return f"{wrong} triplets of the history do not follow the table", wrong > 0

    return certify(
        "The triplets of a history are the run, from state 0, of the automaton whose table the string holds.",
        f"all automata of {states} states and {letters} letters, all words of {word}",
        ask(0, "the history is the run of the table in the string"),
        Control.of("the string holds another table", ask(1, "the same with another table"), run),
    )


def certify_lookups() -> Certificate:
    """Lemma C.1: the head of a lookup writes the sum of the values found, for all functions and tokens of two letters.

    A token holds a letter or nothing in each attribute; a function may be undefined at one letter. A token comes before
    the one that asks, and both may hold the key.
    """
    images = product(range(3), repeat=2)
    functions = [{at: to for at, to in enumerate(image) if to < 2} for image in images if min(image) < 2]
    sizes = {"query": len(functions), "write": len(functions), "source": 3}
    sizes |= {f"{attribute} {token}": 3 for token in range(2) for attribute in ("key", "value")}

    def outputs(batch: Batch, form: Form) -> tuple[Tensor, Tensor]:
        letters = {name: torch.stack([batch[f"{name} {token}"] for token in range(2)], 1) for name in ("key", "value")}
        letters["source"] = batch["source"]
        ours, due = torch.zeros(2, len(batch["source"]), 2, dtype=torch.int64).unbind()
        for chosen in torch.stack([batch["query"], batch["write"]], dim=1).unique(dim=0):
            members = (torch.stack([batch["query"], batch["write"]], dim=1) == chosen).all(dim=1)
            lookup = Lookup("source", "key", "value", "out", *(functions[number] for number in chosen.tolist()))
            program = LookupProgram({"source": 2, "key": 2, "value": 2, "out": 2}, [lookup])
            held = {name: values[members] for name, values in letters.items()}
            ours[members], due[members] = _by_head(program, form, held), _by_lookup(lookup, held)
        return ours, due

    def ask(form: Form) -> Answer:
        def holds(batch: Batch) -> Bool[Tensor, " members"]:
            ours, due = outputs(batch, form)
            return (ours == due).all(dim=1)

        words = f"the head ({form} placement) writes the sum of the values found"
        return exhaust.every(sizes, holds, words, at_once=3**5)

    def run(values: Counterexample) -> tuple[str, bool]:
        ours, due = (part[0].tolist() for part in outputs(_alone(values), "printed"))
        return f"the head writes {ours}, the lookup {due}", ours != due

    return certify(
        "The head of a lookup writes the sum of the values whose keys are the query: the value, if one token holds it.",
        "two letters in every attribute, all functions that are defined at one letter or both, two tokens",
        ask("correct"),
        Control.of("the blocks are placed as in the paper's proof", ask("printed"), run),
    )


def certify_walks(nodes: int, marks: int, steps: int) -> Certificate:
    """Algorithm 3: the heads of a program write the program's own tokens, positions included, on every graph.

    Args:
        nodes: of the graph, each with an arrow to any node.
        marks: letters of the labels.
        steps: tokens written.

    Raises:
        ParameterError: a number below 1.
    """
    require(nodes=(nodes, 1, None), marks=(marks, 1, None), steps=(steps, 1, None))
    program = walk_program(nodes, marks, nodes + 1 + steps)
    sizes = {f"arrow {node}": nodes for node in range(nodes)} | {f"label {node}": marks for node in range(nodes)}
    sizes["here"] = nodes

    def prompt(values: dict[str, int]) -> list[Token]:
        parts = {"points": "arrow", "label": "label"}
        graph: list[Token] = [
            {POSITION: node, "node": node, **{name: values[f"{part} {node}"] for name, part in parts.items()}}
            for node in range(nodes)
        ]
        return [*graph, {POSITION: nodes, "here": values["here"]}]

    def tokens(batch: Batch, heads: list[BlockHead]) -> tuple[Tensor, Tensor]:
        members = [dict(zip(batch, one, strict=True)) for one in torch.stack(list(batch.values()), dim=1).tolist()]
        given = torch.stack([program.embed(prompt(one)) for one in members])
        due = torch.stack([program.embed(program.run(prompt(one), steps)) for one in members])
        return BlockLayer(heads, program.rows.size).run(given, steps), due

    def ask(heads: list[BlockHead]) -> Answer:
        def holds(batch: Batch) -> Bool[Tensor, " members"]:
            ours, due = tokens(batch, heads)
            return (ours == due).flatten(1).all(dim=1)

        return exhaust.every(sizes, holds, f"all tokens that {len(heads)} heads write are those of the program")

    def run(values: Counterexample) -> tuple[str, bool]:
        ours, due = (program.read(part[0, -1:])[0] for part in tokens(_alone(values), program.heads()[:-1]))
        return f"the last token is {ours}, right is {due}", ours != due

    return certify(
        "Every token that the heads write is the program's, with its position.",
        f"a walk of {steps} steps on all graphs of {nodes} nodes with an arrow and one of {marks} labels at each node, "
        "from every node",
        ask(program.heads()),
        Control.of("without the head for line 5", ask(program.heads()[:-1]), run),
    )


class _Watched(Tensor):
    """A transition table that keeps which of its rules were read."""

    read: set[tuple[int, int]]

    def __getitem__(self, place: Any) -> Tensor:
        self.read.add(place)
        return self.as_subclass(Tensor)[place]


def certify_branches(states: int, letters: int, window: int = 4) -> Certificate:
    """Algorithm 7: the four branches make the next tape of every table, tape, state and place of the head.

    The branches read no rule but that of the head's state and letter, so that one rule is tried for all tables.

    Args:
        states, letters: of the machines.
        window: cells; with 4 some cell between two others is next to no head.

    Raises:
        ParameterError: a number out of its range.
    """
    require(states=(states, 1, None), letters=(letters, 1, None), window=(window, 4, None))
    sizes = {f"letter {cell}": letters for cell in range(window)} | {"place": window, "start": states}
    sizes |= {"state": states, "letter": letters, "move": len(MOVES)}

    def tapes(values: Counterexample, form: Form) -> tuple[list[Cell], list[Cell]]:
        tape = torch.tensor([values[f"letter {cell}"] for cell in range(window)])
        place, start = values["place"], values["start"]
        rule = (start, values[f"letter {place}"])
        table = torch.zeros(states, letters, 3, dtype=torch.int64)
        table[rule] = torch.tensor([values[name] for name in ("state", "letter", "move")])
        run = simulate(table, tape, place, 1, start=start)
        before, after = (cells_of(run.letters[t], run.states[t], states) for t in (0, 1))
        watched = table.as_subclass(_Watched)
        watched.read = set()
        found = new_tape(watched, before, form, BRANCH_FAULTS[-1:])
        return found if watched.read <= {rule} else [], after

    def ask(form: Form) -> Answer:
        def holds(batch: Batch) -> Bool[Tensor, " members"]:
            members = torch.stack(list(batch.values()), dim=1).tolist()
            pairs = [tapes(dict(zip(batch, one, strict=True)), form) for one in members]
            return torch.tensor([ours == due for ours, due in pairs])

        return exhaust.every(sizes, holds, "the branches make the next tape, and read no other rule")

    def run(values: Counterexample) -> tuple[str, bool]:
        ours, due = tapes(values, "printed")
        return f"the last cell is {ours[-1]}, right is {due[-1]}", ours != due

    return certify(
        "The four branches make the next configuration of a Turing machine.",
        f"all tables of {states} states and {letters} letters, with heads that may stay; all tapes of {window} cells, "
        "places and states",
        ask("correct"),
        Control.of("no branch for the other cells", ask("printed"), run),
    )


def _automaton_sizes(states: int, letters: int, word: int) -> dict[str, int]:
    rules = {f"rule {state} {letter}": states for state in range(states) for letter in range(letters)}
    return rules | {f"letter {place}": letters for place in range(word)}


def _automata(batch: Batch, states: int, letters: int) -> _Automata:
    tables = torch.stack([values for name, values in batch.items() if name.startswith("rule")], dim=1)
    words = torch.stack([values for name, values in batch.items() if name.startswith("letter")], dim=1)
    starts = batch.get("start", torch.zeros_like(words[:, 0]))
    return tables.unflatten(1, (states, letters)), words, starts


def _run(
    tables: Int[Tensor, "runs states letters"], words: Int[Tensor, "runs word"], starts: Int[Tensor, " runs"]
) -> Int[Tensor, "runs times"]:
    """The states that automata visit, by the definition."""
    visited = [starts]
    for letter in words.mT:
        visited.append(tables[torch.arange(len(tables)), visited[-1], letter])
    return torch.stack(visited, dim=1)


def _by_head(program: LookupProgram, form: Form, letters: dict[str, Tensor]) -> Int[Tensor, "members out"]:
    """The letter that the head of a program of one lookup writes; the last letter stands for nothing."""
    rows, hot = program.rows, torch.eye(3, dtype=torch.int8)[:, :2]
    prompt = torch.zeros(len(letters["source"]), 2, rows.size, dtype=torch.int8)
    rows.view(prompt, "key")[:], rows.view(prompt, "value")[:] = hot[letters["key"]], hot[letters["value"]]
    rows.view(prompt, "source")[:, -1] = hot[letters["source"]]
    return rows.view(BlockLayer(program.heads(form), rows.size).run(prompt, 1)[:, -1:], "out")[:, 0].long()


def _by_lookup(lookup: Lookup, letters: dict[str, Tensor]) -> Int[Tensor, "members out"]:
    """The sum of the values found, by the definition of a lookup."""
    query, write = ({at: at for at in range(2)} if part is None else part for part in (lookup.query, lookup.write))
    asked = torch.tensor([query.get(letter, -1) for letter in range(3)])[letters["source"]]
    written = torch.tensor([write.get(letter, 2) for letter in range(3)])[letters["value"]]
    found = letters["key"] == asked[:, None]
    return (found[..., None] * torch.eye(3, dtype=torch.int64)[written][..., :2]).sum(dim=1)


def _alone(values: Counterexample) -> Batch:
    """A counterexample as a batch of one."""
    return {name: torch.tensor([value]) for name, value in values.items()}
