# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lemmas 3 and 4 · Reading and writing by address
# *Giannou, Rajput, Sohn, Lee, Lee, Papailiopoulos: Lemmas 3 and 4, Figures 2 and 3, Appendices B.2 and F.2.*
#
# A computer fetches numbers from addresses and stores numbers there. A transformer has only columns that attend to each
# other. One of them, the *scratchpad*, does the work, and the others are the memory. Can one attention head copy any
# memory column into the scratchpad, and back?

# %%
import math

import torch

from attention_theory.layers import Rule
from attention_theory.looped_transformers.certified.access import certify_read, certify_write
from attention_theory.looped_transformers.machine.access import GATE, accept_read, accept_write, fetch
from attention_theory.looped_transformers.machine.codes import address_bits, position_codes
from attention_theory.looped_transformers.machine.layers import Layer, LoopedTransformer
from attention_theory.looped_transformers.machine.summary import summarise
from attention_theory.rows import Rows
from attention_theory.validation import Form, require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% [markdown]
# ## A tiny example
# Every memory column carries its *code*, a pattern of $\pm1$, as its address. The scratchpad carries a *pointer*, the
# code of the column that it needs. Each code matches itself best: the score of $(1,-1)$ with itself is 2, and with
# $(1,1)$ it is 0.
#
# The scratchpad holds 5 and points to column B, which holds 9. At a high temperature $\lambda$ (in this paper the
# factor on the scores, so high means sharp), these two columns attend to themselves and to each other with weight
# $\frac12$ each, so both receive the mean, 7. Either of them can now compute what the other holds: $5+2(7-5)=9$ and
# $9+2(7-9)=5$.

# %%
fig, axis = schematic.canvas(7.0, 1.9)
tops = schematic.tokens(axis, ["5", "3", "9", "4"], (1.4, 1.1), [0, 2], 3.2)
names = [("scratchpad", "points to + −"), ("A", "code − −"), ("B", "code + −"), ("C", "code + +")]
for (x, y), (name, code) in zip(tops, names, strict=True):
    schematic.text(axis, (x, y - 1.3), name)
    schematic.text(axis, (x, y - 1.75), code, schematic.BLUE if "+ −" in code else schematic.QUIET, 9)
left, right = tops[0], tops[2]
schematic.arrow(axis, (left[0] + 0.2, left[1]), (right[0] - 0.2, right[1]), "weight ½ in both directions", 0.15)
schematic.arrow(axis, (right[0] - 0.2, right[1]), (left[0] + 0.2, left[1]), bend=-0.15)
show.figure(
    fig,
    name="tiny",
    caption="The pointer of the scratchpad matches the code of column B, so these two columns exchange their contents.",
    alt="Four boxes with 5, 3, 9 and 4. Arrows join the first, which is the scratchpad and points to plus minus, with "
    "the third, which has the code plus minus, in both directions.",
)

# %% [markdown]
# The exchange is symmetric. In a read, only the scratchpad keeps its result. In a write, only the target does.
#
# ## The paper states
# <!-- claim looped-transformers/lemma-3 -->
# <blockquote>
#
# **Lemma 3 (Reading by address)** *Appendices B.2 and F.2*
#
# **The paper states.** A transformer with one layer, one head, and width of $O(\log n+d)$ can read data/command vectors
# from the input to the scratchpad from the location pointed to by the position embedding vector in the scratchpad. This
# operation incurs an error which can be driven arbitrarily close to 0 by increasing the temperature of the softmax
# operation.
#
# <details><summary>Slips (1)</summary>
#
# - The proof shows the scratchpad's indicator after the head as $\frac12$. It stays 1, because the value matrix does
#   not touch it.
#
# </details>
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The proof's $\lambda\ge\log(n^3/\epsilon)$ bounds the error of the softmax matrix. The error of
# a read is this error times the size of the data: below $\epsilon$ for bits, but not always for data up to $G$. At
# $n=4$, $\epsilon=\frac12$ and data of size $10^4$, it is 1.8. In fact the error falls like $e^{-2\lambda}$, and with a
# hard maximum it is zero.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim looped-transformers/lemma-4 -->
# <blockquote>
#
# **Lemma 4 (Writing by address)** *Appendices B.2 and F.2*
#
# **The paper states.** A transformer network with a single layer, one head, and width $O(\log n+d)$ can effectively
# write a data vector stored in the scratchpad to a specific location in the input, as designated by a positional
# encoding vector in the scratchpad. This operation incurs an error which can be driven arbitrarily close to 0 by
# increasing the temperature of the softmax operation.
#
# <details><summary>Slips (1)</summary>
#
# - The proof adds both ReLUs, although its construction is meant to be that of Lemma 3. The second must be subtracted:
#   $v:=v+\sigma(2v_\text{new}-2v-Cb)-\sigma(2v-2v_\text{new}-Cb)$. With both added, $[1,-1,1]$ written over $[-1,1,1]$
#   gives $[1,3,1]$.
#
# </details>
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# Each key and each query is the sum of a column's pointer rows and code rows. The scratchpad has no code and the
# memory has no pointers, so the scratchpad and its target have the same key. Their four scores are equal, and higher
# than those with any other column. The value matrix puts the mean $(v_1+v_i)/2$ of the two contents into a buffer, in
# *both* columns.
#
# Then ReLU units add twice the difference between buffer and content. A read does this only in the scratchpad, where
# an indicator $b$ is 1. A write does this only where $b$ is 0, and there only the target has a difference. A large
# constant $C$, the *gate*, switches the other units off. For data of $\pm1$, $C=2$ is enough.
#
# ## See it run
# We build both layers with the rows from the paper's proof. Only their ReLU units differ.

# %% tags=["parameters"]
columns = 32  # n, from 3 to 512
height = 8  # d, rows of the data, at least 3
inverse_temperature = 40.0  # lambda for exact copies, at least 20
draws = 100  # random states, at least 1
seed = 0  # seed of every draw, at least 0

# %%
require(columns=(columns, 3, 512), height=(height, 3, None), inverse_temperature=(inverse_temperature, 20.0, None))
require(draws=(draws, 1, None), seed=(seed, 0, None))

# %%
bits = address_bits(columns)
rows = Rows(memory=height, scratch=height, pointer=bits, encoding=bits, buffer=height, indicator=1)
indicator = rows["indicator"][0]


def access(kind: str, gate: float = GATE, clear: bool = True, form: Form = "correct") -> Layer:
    """The layer of Lemma 3 (``read``) or of Lemma 4 (``write``)."""
    layer = Layer(rows, kind)
    fetch(layer, kind, *(rows[name] for name in ("pointer", "encoding", "memory", "scratch", "buffer")))
    if kind == "read":
        accept_read(layer, rows["scratch"], rows["buffer"], indicator, gate, clear)
    else:
        accept_write(layer, rows["memory"], rows["buffer"], indicator, gate, form)
    return layer


# %%
def random_state(number: int) -> tuple[torch.Tensor, int]:
    """Random ±1 contents, and the column that the scratchpad points to."""
    generator = torch.Generator().manual_seed(seed + number)
    state = torch.zeros(columns, rows.size, dtype=torch.float64)
    content = torch.randint(0, 2, (columns, height), generator=generator) * 2.0 - 1
    target = int(torch.randint(1, columns, (), generator=generator))
    rows.view(state, "memory")[1:] = content[1:].double()
    rows.view(state, "scratch")[0] = content[0].double()
    rows.view(state, "encoding")[1:] = position_codes(columns)[1:]
    rows.view(state, "pointer")[0] = position_codes(columns)[target]
    rows.view(state, "indicator")[0] = 1
    return state, target


# %%
state, target = random_state(0)
head = access("read").dense.heads[0]
scores = (state @ head.query.mT) @ (state @ head.key.mT).mT
weights = (inverse_temperature * scores).softmax(dim=-1)
square = [weights[i, j].item() for i in (0, target) for j in (0, target)]
alone = (inverse_temperature * (state @ head.query.mT) @ rows.view(state, "encoding").mT).softmax(dim=-1)
uneven = max(abs(alone[i, j].item() - 0.5) for i in (0, target) for j in (0, target))
others = [j for j in range(columns) if j not in (0, target)]


def draw_access(kind: str, axes: list) -> None:
    """The data rows before and after a read or a write, the column that is pointed to dotted."""
    order = [row for name in ("memory", "scratch", "buffer") for row in rows[name]]
    after = access(kind).dense(state, inverse_temperature)
    for axis, picture, title in zip(axes, (state, after), ("before", f"after the {kind}"), strict=True):
        axis.imshow(picture[:, order].mT, aspect="auto", cmap=show.SIGNED, vmin=-1, vmax=1)
        axis.set_yticks([height * (k + 0.5) - 0.5 for k in range(3)], ["memory", "scratch", "buffer"])
        axis.set(title=title, xlabel="column")
        axis.axvline(target, color="0.35", linewidth=1, linestyle=":")


# %% [markdown]
# <!-- claim looped-transformers/figure-2 -->
# <blockquote>
#
# **Figure 2 (A read)** *Appendix B.2*
#
# **The paper states.** A sketch of the read operation. Arrows show command blocks being copied from the part of the
# input that is allocated to commands to the scratchpad. Typically an instruction is another set of pointers. Positional
# encodings and counters are used for tracking what is copied where.
#
# </blockquote>
# <!-- /claim -->

# %%
fig, axes = show.axes(1, 3, width=9.5, height=3.2, gridspec_kw={"width_ratios": [1, 1.3, 1.3]})
axes[0].imshow(weights.mT, cmap="Greys", vmin=0, vmax=1)
axes[0].set(title="attention weights", xlabel="query column", ylabel="key column")
draw_access("read", axes[1:])
for axis in axes:
    axis.grid(False)
show.figure(
    fig,
    name="read",
    caption=f"A read of column {target} (dotted). Left: every column attends to itself, but columns 0 and {target} "
    "divide theirs evenly between the two. Right: the content of the column appears in the scratchpad. Orange is "
    "-1, blank 0, blue +1.",
    alt=f"Three images: a diagonal attention matrix with four half weights at columns 0 and {target}; the state "
    "before; and the state after the read, which differs in one block of column 0.",
)

# %% [markdown]
# We see four weights of $\frac12$ and one column that changes.
#
# <!-- claim looped-transformers/figure-3 -->
# <blockquote>
#
# **Figure 3 (A write)** *Appendix B.2*
#
# **The paper states.** A sketch of the write operation. Arrows show data blocks being copied from the scratchpad to a
# designated location in the part of the input allocated for memory. Positional encodings are used for tracking the
# destination location and ensuring data is written at the correct memory location.
#
# </blockquote>
# <!-- /claim -->

# %%
fig, axes = show.axes(1, 2, width=7.5, height=3.2)
draw_access("write", axes)
for axis in axes:
    axis.grid(False)
show.figure(
    fig,
    name="write",
    caption=f"A write to column {target} (dotted): the scratchpad's content replaces the column's. Orange is -1, "
    "blank 0, blue +1.",
    alt=f"Two images: the state before, and the state after the write, which differs in one block of column {target}.",
)

# %% [markdown]
# This time the target column changes.
#
# ### How exact is it?
# A softmax leaves a little weight on other columns, mostly on those whose code differs in one bit. We compare the
# largest error of a read with the paper's bound, $\epsilon=n^3e^{-\lambda}$.


# %%
def wanted(kind: str, state: torch.Tensor, target: int) -> torch.Tensor:
    """The state after a perfect read or write."""
    after = state.clone()
    if kind == "read":
        rows.view(after, "scratch")[0] = rows.view(state, "memory")[target]
    else:
        rows.view(after, "memory")[target] = rows.view(state, "scratch")[0]
    return after


def wrong(kind: str, rule: Rule = "softmax", **options: float | bool | str) -> int:
    """How many of the random states do not come out as wanted, bit for bit and in every column."""
    layer = access(kind, **options).dense  # type: ignore[arg-type]
    states = [random_state(number) for number in range(draws)]
    after = layer(torch.stack([state for state, _ in states]), inverse_temperature, rule)
    right = torch.stack([wanted(kind, state, target) for state, target in states])
    return int((after != right).flatten(1).any(dim=1).sum())


# %%
def real_error(kind: str) -> float:
    """The largest error in any column with real numbers from -2 to 2 as data, under a hard maximum."""
    worst, generator = 0.0, torch.Generator().manual_seed(seed)
    for number in range(draws):
        state, target = random_state(number)
        for name in ("memory", "scratch"):
            block = rows.view(state, name)
            block *= 2 * torch.rand(block.shape, generator=generator, dtype=torch.float64)
        after = access(kind).dense(state, inverse_temperature, "hardmax")
        worst = max(worst, (after - wanted(kind, state, target)).abs().max().item())
    return worst


# %%
def soft_error(lam: float) -> float:
    """The largest error of what is read in 20 random states."""
    worst, layer = 0.0, access("read").dense
    for number in range(20):
        state, target = random_state(number)
        error = rows.view(layer(state, lam), "scratch")[0] - rows.view(state, "memory")[target]
        worst = max(worst, error.abs().max().item())
    return worst


# %%
grid = torch.arange(1.0, 18.5, 0.5, dtype=torch.float64)
error = torch.tensor([soft_error(float(lam)) for lam in grid], dtype=torch.float64)
middle = (grid >= 4) & (grid <= 14) & (error > 1e-14)  # above rounding
line = torch.stack([grid[middle], torch.ones(int(middle.sum()), dtype=torch.float64)], dim=1)
slope = torch.linalg.lstsq(line, error[middle].log()[:, None], driver="gels").solution[0, 0]
promised = columns**3 * (-grid).exp()

# %%
fig, axis = show.axes(width=7, height=3.2)
axis.semilogy(grid, promised, "--", color=show.COLOURS[1], label=r"paper's bound: $\epsilon = n^3 e^{-\lambda}$")
axis.semilogy(grid, error.clamp(min=1e-18), "o-", label="measured")
axis.set_xlabel(r"temperature $\lambda$")
axis.set_ylabel("largest error of what is read")
axis.legend()
show.figure(
    fig,
    name="read-error",
    caption="The largest error of a read over 20 random states. The paper's bound holds with room to spare; the "
    "measured slope is -2.",
    alt="Two falling curves on a logarithmic axis: the paper's bound with slope minus one, and far below it the "
    "measured error with slope minus two, down to rounding at a temperature of about 18.",
)

# %% [markdown]
# We see two straight lines. The measured one falls twice as fast, like $e^{-2\lambda}$.
#
# The bound concerns the softmax matrix. Data of size $G$ multiply the error by $G$, as we check with data of size
# $10^4$.

# %%
asked, size = 0.5, 1e4
codes_of_three = torch.tensor([[1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]], dtype=torch.float64)
keys = torch.cat([codes_of_three[2:], codes_of_three])  # the first is the scratchpad's pointer
of_four = torch.softmax(math.log(4**3 / asked) * keys @ keys[0], 0)
read_large = 2 * of_four @ (size * torch.tensor([0.0, -1.0, -1.0, 1.0], dtype=torch.float64))
large_error = (read_large - size).abs()

# %% [markdown]
# ### A sign in the proof of Lemma 4
# In the proof, both ReLU units of a write are *added*. The update is then $|2(v_\text{new}-v_\text{old})|$, and a bit
# that should fall from 1 to $-1$ rises to 3.


# %%
def write_three(form: Form) -> list[float]:
    """Write [1, -1, 1] over [-1, 1, 1]: what the target column holds afterwards, in its first three rows."""
    state, target = random_state(0)
    rows.view(state, "scratch")[0, :3] = torch.tensor([1.0, -1.0, 1.0], dtype=torch.float64)
    rows.view(state, "memory")[target, :3] = torch.tensor([-1.0, 1.0, 1.0], dtype=torch.float64)
    after = access("write", form=form).dense(state, inverse_temperature, "hardmax")
    return [round(value) for value in rows.view(after, "memory")[target, :3].tolist()]


three = {form: write_three(form) for form in ("correct", "printed")}
print(f"[1, -1, 1] over [-1, 1, 1]: {three['correct']}, and with both units added, as printed, {three['printed']}")

# %% [markdown]
# ## How we checked
# We compare every entry with a perfect copy, for bits and for real numbers. A solver proves that both copies are
# exact for a hard maximum, six address bits, every pointer and all real data within the gate's range. As controls we
# lower the gate, keep the old buffer, and remove the indicator or the pointer.

# %%
sizes = {kind: summarise(LoopedTransformer(rows, [access(kind)])) for kind in ("read", "write")}
no_indicator, aim = random_state(0)
rows.view(no_indicator, "indicator")[0] = 0
unread = access("read").dense(no_indicator, inverse_temperature)
missed = (rows.view(unread, "scratch")[0] - rows.view(no_indicator, "memory")[aim]).abs().max()
reader = access("read").dense
behind_head = [reader.attend(random_state(number)[0], inverse_temperature) for number in range(20)]
kept = {f"state {number}": rows.view(after, "indicator")[0, 0].item() for number, after in enumerate(behind_head)}
in_hard_read = wrong("read", "hardmax")

# %%
for figure, kind in (("figure-2", "read"), ("figure-3", "write")):
    claim = Claim(f"looped-transformers/{figure}")
    moved = (access(kind).dense(state, inverse_temperature) != state).any(dim=1).nonzero().flatten().tolist()
    claim.at_most("the four shared weights, largest distance from 1/2", max(abs(w - 0.5) for w in square), 1e-12)
    claim.at_least("the other columns' weight on themselves, smallest", weights[others, others].min(), 1 - 1e-12)
    claim.equal("columns that change", len(moved), 1)
    claim.equal("the column that changes", max(moved, default=-1), 0 if kind == "read" else target)
    claim.control.at_most("keys without the pointer: largest distance of the four from 1/2", uneven, 1e-12)
    claim.verdict()

# %%
claim = Claim("looped-transformers/lemma-3")
claim.equal("states read wrong with hardmax, any column", in_hard_read, 0)
claim.equal("states read wrong with softmax, any column", wrong("read"), 0)
claim.at_most("real numbers, hardmax: largest error, any column", real_error("read"), 1e-14)
claim.at_most("error over the promise, largest", (error / promised).max(), 1.0)
claim.at_most("data of size 1e4, four columns: error over 1e4 times the promise", large_error / (size * asked), 1.0)
claim.control.at_most("the same: error over the promise", large_error / asked, 1.0)
claim.equal("slope of the logarithm of the error", slope, -2.0, tolerance=0.05)
claim.equal("layers and heads", f"{sizes['read'].layers} and {sizes['read'].heads}", "1 and 1")
claim.equal("rows: 3 d + 2 L + 1", sizes["read"].width, 3 * height + 2 * bits + 1)
claim.equal("states read wrong with the gate C = 2, the least that will do", wrong("read", gate=2.0), 0)
claim.equal("the proof's matrices, hardmax: states read wrong", in_hard_read, 0, of="proof")
claim.equal("indicator of the scratchpad behind its head", kept, 1.0, of="proof")
claim.misprint.equal("the same as printed", kept, 0.5, of="proof")
claim.control.equal("states read wrong with the gate C = 1", wrong("read", gate=1.0), 0)
claim.control.equal("states read wrong without clearing the buffer", wrong("read", clear=False), 0)
claim.control.equal("nothing is read where the indicator is 0: error", missed, 0.0)
claim.certified("hard maximum: 6 bits, every pointer, all real data", certify_read())
claim.verdict()

# %%
claim = Claim("looped-transformers/lemma-4")
claim.equal("states written wrong with hardmax, any column", wrong("write", "hardmax"), 0)
claim.equal("states written wrong with softmax, any column", wrong("write"), 0)
claim.at_most("real numbers, hardmax: largest error, any column", real_error("write"), 1e-14)
claim.equal("layers and heads", f"{sizes['write'].layers} and {sizes['write'].heads}", "1 and 1")
label = "[1, -1, 1] written over [-1, 1, 1]"
claim.equal(f"{label}, second unit subtracted", str(three["correct"]), "[1, -1, 1]", of="proof")
claim.misprint.equal(f"{label}, both units added", str(three["printed"]), "[1, -1, 1]", of="proof")
claim.misprint.equal("states written wrong with both units added", wrong("write", form="printed"), 0, of="proof")
claim.control.equal("states written wrong with the gate C = 1", wrong("write", gate=1.0), 0)
claim.number("the printed form gives 3 where -1 is due", three["printed"][1])
claim.certified("hard maximum: 6 bits, every pointer, all real data", certify_write())
claim.verdict()

# %% [markdown]
# ## Where the paper differs
# For data up to $G$, the proof's bound needs $\epsilon/G$ in place of $\epsilon$.
#
# ## What to remember
# - A pointer is a copy of an address, so one head can connect the two columns.
# - Both columns receive the mean, and ReLU units decide which of them takes the other's content.
# - The error of a read falls like $e^{-2\lambda}$.
#
# ## Exercises
#
# 1. *By hand.* The scratchpad holds $-1$ and its target holds 1. What do the two units of a write add to the target,
#    and what do we obtain if both are added?
#    <details><summary>Solution</summary>
#
#    The mean is 0, so the units are $\sigma(2\cdot0-2\cdot1)=0$ and $\sigma(2\cdot1-2\cdot0)=2$. Subtracting the second
#    gives $1-2=-1$, as it should. Adding it gives 3.
#
#    </details>
# 2. *Predict, then run.* Set `columns = 200`. By how much do the paper's bound and the error rise?
#    <details><summary>Solution</summary>
#
#    The bound rises by a factor of $(200/32)^3\approx244$. Only columns one bit away matter for the error, and there
#    are up to 8 in place of 5, so we expect a factor of about $8/5$. Here it is about 1.75, since the largest error
#    depends on which of these neighbours hold other data.
#
#    </details>
#
# Next: [Lemma 1](lemma_1_subleq.ipynb). Reading, adding and writing are most of a SUBLEQ computer.
