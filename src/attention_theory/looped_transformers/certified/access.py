"""Reading and writing by address (Lemmas 3 and 4) with a hard maximum, for all addresses and all real data."""

import torch
from torch import Tensor

from attention_theory.certificates import Answer, Certificate, Control, certify, exhaust, smt
from attention_theory.certificates.certificate import Counterexample
from attention_theory.certificates.smt import Term, z3
from attention_theory.looped_transformers.machine.access import GATE, accept_read, accept_write, fetch
from attention_theory.looped_transformers.machine.codes import position_codes
from attention_theory.looped_transformers.machine.layers import Layer
from attention_theory.rows import Rows
from attention_theory.validation import Form

_HEIGHT = 2  # of the data; every row has its own units


def access_layer(kind: str, bits: int, form: Form = "correct") -> Layer:
    """A layer that reads (``read``) or writes (``write``) with the address in its pointer."""
    rows = Rows(memory=_HEIGHT, scratch=_HEIGHT, pointer=bits, encoding=bits, buffer=_HEIGHT, indicator=1)
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
        layer.rows.of(wanted, target)[place[target]] = layer.rows.of(before, source)[place[source]]
        off = (seen - wanted).abs().max().item()
        largest = max(layer.rows.of(before, block).abs().max().item() for block in ("memory", "scratch"))
        return f"a {kind} of data up to {largest:.3g} is off by {off:.3g}", off > 0

    return certify(
        f"In a {kind} with a hard maximum scratchpad and target have their largest scores for each other and "
        f"themselves, and where the mean of the two is fetched {takes}, exactly; another column, which sees itself, "
        "stays.",
        f"L = {bits}, up to {2**bits} columns; every pointer, all real data up to {GATE / 4:g}",
        [_ask_scores(layer, bits), _ask_units(layer, kind, GATE / 4)],
        Control.of(broken, _ask_units(other, kind, most), run),
    )


def _ask_scores(layer: Layer, bits: int) -> Answer:
    """Whether scratchpad and target see each other and themselves, all others themselves, with scores 2 apart."""
    head, codes = layer.dense.heads[0], position_codes(2**bits, bits)
    cells = torch.zeros(len(codes), layer.rows.size, dtype=torch.float64)
    layer.rows.of(cells, "encoding")[:] = codes

    def holds(batch: exhaust.Batch) -> Tensor:
        scratch = torch.zeros(len(batch["pointer"]), layer.rows.size, dtype=torch.float64)
        layer.rows.of(scratch, "pointer")[:] = codes[batch["pointer"]]
        asking = torch.where(batch["from"][:, None].bool(), cells[batch["pointer"]], scratch)
        itself = ((scratch @ head.key.mT) * (asking @ head.query.mT)).sum(-1)
        scores = (asking @ head.query.mT) @ (cells @ head.key.mT).mT
        met = torch.arange(len(codes)) == batch["pointer"][:, None]
        best = (scores == bits).eq(met).all(-1) & itself.eq(bits)
        return best & scores.where(~met, -9.0).le(bits - 2).all(-1)

    words = "the scores of the scratchpad (from = 0), and of a cell with its address, towards all columns"
    return exhaust.every({"pointer": 2**bits, "from": 2}, holds, words)


def _ask_units(layer: Layer, kind: str, most: float) -> Answer:
    """Whether the units finish what the head has fetched: half of scratchpad and target, or a column itself."""
    rows, built = layer.rows, layer.dense
    kept, scratch, other = (_data(name) for name in ("memory", "scratch", "other"))
    half = [(a + b) / 2 for a, b in zip(kept, scratch, strict=True)]
    zero = [z3.RealVal(0)] * _HEIGHT
    claims = []
    for memory, own, fetched, indicator in (
        (zero, scratch, half, 1),  # the scratchpad
        (kept, zero, half, 0),  # the column with the pointer's address
        (other, zero, other, 0),  # another, which sees itself
    ):
        state = {rows["indicator"][0]: z3.RealVal(indicator)}
        for name, content in (("memory", memory), ("scratch", own), ("buffer", fetched)):
            state |= dict(zip(rows[name], content, strict=True))
        after = smt.feed_forward(built.w1, built.b1, built.w2, built.b2, state)
        new_scratch = kept if kind == "read" and indicator else own
        new_memory = scratch if kind == "write" and memory is kept else memory
        for name, content in (("memory", new_memory), ("scratch", new_scratch), ("buffer", zero)):
            claims += [after[row] == value for row, value in zip(rows[name], content, strict=True)]
    given = [smt.within(value, -most, most) for value in (*kept, *scratch, *other)]
    return smt.prove(given, z3.And(claims), f"the units of a {kind}: scratchpad, target and another column")


def _data(name: str) -> list[Term]:
    return [z3.Real(f"{name} {place}") for place in range(_HEIGHT)]


def _columns(rows: Rows, bits: int, values: Counterexample) -> Tensor:
    """The scratchpad, which points to column 1, that column and another, with the data of a counterexample."""
    codes = position_codes(3, bits)
    state = torch.zeros(3, rows.size, dtype=torch.float64)
    rows.of(state, "encoding")[1:] = codes[1:]
    rows.of(state, "pointer")[0] = codes[1]
    rows.of(state, "indicator")[0] = 1
    for column, (block, name) in enumerate((("scratch", "scratch"), ("memory", "memory"), ("memory", "other"))):
        data = [float(values.get(str(term), 0)) for term in _data(name)]
        rows.of(state, block)[column] = torch.tensor(data, dtype=torch.float64)
    return state
