"""Reading and writing by address (Lemmas 3 and 4) with a hard maximum, for all addresses and all real data."""

import torch
from torch import Tensor

from attention_theory.certificates import Answer, Certificate, Control, certify, exhaust, smt
from attention_theory.certificates.certificate import Counterexample
from attention_theory.certificates.smt import Term, z3
from attention_theory.looped_transformers.certified.heads import (
    WholeColumn,
    ask_blind,
    fetched,
    is_column,
    processed,
    whole_column,
)
from attention_theory.looped_transformers.machine.access import GATE, accept_read, accept_write, fetch
from attention_theory.looped_transformers.machine.codes import position_codes
from attention_theory.looped_transformers.machine.layers import Layer
from attention_theory.rows import Rows
from attention_theory.validation import Form

_HEIGHT = 2  # of the data; every row has its own units


def access_layer(kind: str, bits: int, form: Form = "correct") -> Layer:
    """A layer that reads (``read``) or writes (``write``) with the address in its pointer; ``rest`` is for others."""
    rows = Rows(memory=_HEIGHT, scratch=_HEIGHT, pointer=bits, encoding=bits, buffer=_HEIGHT, indicator=1, rest=1)
    layer = Layer(rows, kind)
    fetch(layer, kind, *(rows[name] for name in ("pointer", "encoding", "memory", "scratch", "buffer")))
    (indicator,) = rows["indicator"]
    if kind == "read":
        accept_read(layer, rows["scratch"], rows["buffer"], indicator)
    else:
        accept_write(layer, rows["memory"], rows["buffer"], indicator, form=form)
    return layer


def certify_read(bits: int = 6) -> Certificate:
    """Lemma 3: the scratchpad takes over the data of the column that its pointer names, and nothing else changes."""
    layer = access_layer("read", bits)
    return _certify(layer, bits, "read", layer, f"data may be up to {2 * GATE:g}", 2 * GATE)


def certify_write(bits: int = 6) -> Certificate:
    """Lemma 4: the column that the pointer names takes over the scratchpad's data, and nothing else changes."""
    printed = access_layer("write", bits, "printed")
    return _certify(access_layer("write", bits), bits, "write", printed, "the second unit is added", GATE / 4)


def _certify(layer: Layer, bits: int, kind: str, other: Layer, broken: str, most: float) -> Certificate:
    takes = (
        "the scratchpad takes over the column's data" if kind == "read" else "the column takes over the scratchpad's"
    )

    def run(values: Counterexample) -> tuple[str, bool]:
        before = _columns(layer.rows, bits, values)
        seen = other.dense(before, 1.0, "hardmax")
        wanted = before.clone()
        source, target = ("memory", "scratch") if kind == "read" else ("scratch", "memory")
        place = {"memory": 1, "scratch": 0}
        layer.rows.view(wanted, target)[place[target]] = layer.rows.view(before, source)[place[source]]
        off = (seen - wanted).abs().max().item()
        largest = max(layer.rows.view(before, block).abs().max().item() for block in ("memory", "scratch"))
        return f"a {kind} of data up to {largest:.3g} is off by {off:.3g}", off > 0

    return certify(
        f"In a {kind} with a hard maximum scratchpad and target see each other and themselves, every other column "
        f"itself, and {takes}, exactly; all other rows of all columns are as before, whatever they hold.",
        f"L = {bits}, up to {2**bits} columns; every pointer, all real data up to {GATE / 4:g}; the buffer, the "
        "scratchpad's memory rows and the pointer and scratch rows of all other columns are 0",
        [_ask_scores(layer, bits), _ask_blind(layer), _ask_data(layer, kind, GATE / 4)],
        Control.of(broken, _ask_data(other, kind, most), run),
    )


def _ask_scores(layer: Layer, bits: int) -> Answer:
    """Ask whether scratchpad and target see each other and themselves, all others themselves, with scores 2 apart."""
    head, codes = layer.dense.heads[0], position_codes(2**bits, bits)
    cells = torch.zeros(len(codes), layer.rows.size, dtype=torch.float64)
    layer.rows.view(cells, "encoding")[:] = codes
    scratchpads = torch.zeros_like(cells)
    layer.rows.view(scratchpads, "pointer")[:] = codes
    columns = torch.cat([cells, scratchpads])
    products = (columns @ head.query.mT) @ (columns @ head.key.mT).mT

    def holds(batch: exhaust.Batch) -> Tensor:
        pointer, scratchpad = batch["pointer"], 2**bits + batch["pointer"]
        from_scratchpad = batch["cell"] == 2**bits
        asking = torch.where(from_scratchpad, scratchpad, batch["cell"])
        scores = torch.cat([products[asking, : 2**bits], products[asking, scratchpad][:, None]], dim=1)
        of_pair = from_scratchpad | (batch["cell"] == pointer)
        met = torch.arange(2**bits + 1) == torch.where(of_pair, pointer, batch["cell"])[:, None]
        met[:, -1] = of_pair
        return torch.where(met, scores == bits, scores <= bits - 2).all(dim=1)

    words = "the scores of each cell, and of the scratchpad as the last one, towards all columns and the scratchpad"
    return exhaust.every({"pointer": 2**bits, "cell": 2**bits + 1}, holds, words)


def _ask_blind(layer: Layer) -> Answer:
    addresses = [*layer.rows["pointer"], *layer.rows["encoding"]]
    return ask_blind(layer.dense.heads, addresses, addresses)


def _ask_data(layer: Layer, kind: str, most: float) -> Answer:
    """The data that the head fetches and the units change: the scratchpad, its target and another column, all rows."""
    rows, head = layer.rows, layer.dense.heads[0]
    kept, scratch, other = (_data(name) for name in ("memory", "scratch", "other"))
    empty = {"scratchpad": ("memory", "encoding", "buffer"), "target": ("scratch", "pointer", "buffer", "indicator")}
    empty["other"] = empty["target"]
    known = {name: {row: z3.RealVal(0) for block in blocks for row in rows[block]} for name, blocks in empty.items()}
    known["scratchpad"] |= dict(zip(rows["scratch"], scratch, strict=True)) | {rows["indicator"][0]: z3.RealVal(1)}
    known["target"] |= dict(zip(rows["memory"], kept, strict=True))
    known["other"] |= dict(zip(rows["memory"], other, strict=True))
    columns = {name: whole_column(name, rows.size, values) for name, values in known.items()}
    pair = [columns["scratchpad"], columns["target"]]
    changed: dict[str, WholeColumn] = {name: {} for name in columns}
    if kind == "read":
        changed["scratchpad"] = dict(zip(rows["scratch"], kept, strict=True))
    else:
        changed["target"] = dict(zip(rows["memory"], scratch, strict=True))
    claims = []
    for name, column in columns.items():
        seen = fetched(column, [(head, [column] if name == "other" else pair)])
        claims += is_column(processed(layer.dense, seen), column, changed[name])
    given = [smt.within(value, -most, most) for value in (*kept, *scratch, *other)]
    return smt.prove(given, z3.And(claims), f"a {kind}: all rows of the scratchpad, its target and another column")


def _data(name: str) -> list[Term]:
    return [z3.Real(f"{name} {place}") for place in range(_HEIGHT)]


def _columns(rows: Rows, bits: int, values: Counterexample) -> Tensor:
    """The scratchpad, which points to column 1, that column and another, with the data of a counterexample."""
    codes = position_codes(3, bits)
    state = torch.zeros(3, rows.size, dtype=torch.float64)
    rows.view(state, "encoding")[1:] = codes[1:]
    rows.view(state, "pointer")[0] = codes[1]
    rows.view(state, "indicator")[0] = 1
    for column, (block, name) in enumerate((("scratch", "scratch"), ("memory", "memory"), ("memory", "other"))):
        data = [float(values.get(str(term), 0)) for term in _data(name)]
        rows.view(state, block)[column] = torch.tensor(data, dtype=torch.float64)
    return state
