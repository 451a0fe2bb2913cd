# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Section 2 · A transformer in a loop
# *Giannou, Rajput, Sohn, Lee, Lee, Papailiopoulos: equations (1a), (1b) and (2), Figure 1, Section 2.*
#
# A transformer of fixed depth takes a fixed number of steps. This paper feeds its output back as its input, so that the
# same few layers can run for as long as a computation needs. The weights never change: what is computed depends on the
# input alone. What must the input contain?

# %%
import torch

from attention_theory.layers import attention_weights
from attention_theory.looped_transformers.machine.layers import DenseHead, DenseLayer, Layer, LoopedTransformer
from attention_theory.looped_transformers.machine.trace import draw_state
from attention_theory.looped_transformers.subleq.assembler import assemble, library, library_text
from attention_theory.looped_transformers.subleq.language import interpret
from attention_theory.looped_transformers.subleq.machine import SubleqMachine
from attention_theory.rows import Rows, combine
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
width = 12  # d, rows of the state in the first part, at least 4
columns = 20  # n, columns of the state in the first part, at least 2
key_rows = 5  # k, rows of K and Q, at least 1
program = "multiply"  # what runs in the second part: a program of the library
bits = 8  # N, bits of an integer, from 8 to 50
inverse_temperature = 30.0  # lambda, at least 20
seed = 0  # seed of every draw, at least 0

# %%
require(width=(width, 4, None), columns=(columns, 2, None), key_rows=(key_rows, 1, None), program=(program, library()))
require(bits=(bits, 8, 50), inverse_temperature=(inverse_temperature, 20.0, None), seed=(seed, 0, None))
require(key_rows_unlike_width=(key_rows != width, {True}))

# %% [markdown]
# ## A tiny example
# The input is a matrix with one column per token, in three parts: a scratchpad, the memory and the commands. We load a
# real program, which multiplies two numbers by repeated addition, and run the loop until it ends.

# %%
text = library_text(program)
print(text)
source_program = assemble(text, bits)
machine = SubleqMachine(max(4, (source_program.columns() - 1).bit_length()), bits)
loaded = machine.load(source_program)
steps = len(interpret(source_program, bits, 2000))
final = machine.run(loaded, steps, inverse_temperature)
cells = len(source_program.memory)
first_command = 1 + cells

# %%
fig, axes = show.axes(1, 2, width=9.5, height=4.6, sharey=True)
for axis, picture, title in zip(axes, (loaded, final), ("at the start", f"after {steps} cycles"), strict=True):
    draw_state(axis, picture, machine.rows, cmap=show.SIGNED)
    for edge in (0.5, first_command - 0.5):
        axis.axvline(edge, color="black", linewidth=1.2)
    axis.set_title(f"{title}: scratchpad | memory | commands", fontsize=9)
show.figure(
    fig,
    name="input",
    caption="The paper's first figure, drawn from a real input: the state that the loop acts on, with the names of "
    "its rows on the left. Orange is -1, blank 0, blue +1. Thick lines separate the scratchpad column, the memory "
    "and the commands. Only the first two parts differ between the two pictures.",
    alt="Two coloured matrices side by side with named row blocks. Commands fill the top right, memory bits the "
    "middle, encodings the bottom; after the run the scratchpad column on the left also holds an instruction, and "
    "some memory bits have changed.",
)

# %% [markdown]
# We see the same matrix before and after the run. The commands on the right have not changed. Some memory bits have,
# and the scratchpad now holds an instruction.
#
# ## The paper states
# <!-- claim looped-transformers/definition-architecture -->
# <blockquote>
#
# **Architecture (A layer, and the loop around it)** *Section 2*
#
# **The paper states.** $\text{Attn}(X)=X+\sum_{i=1}^HV^iX\sigma_S(X^\top K^iQ^iX)$ (1a),
# $f(X)=\text{Attn}(X)+W_2\sigma(W_1\text{Attn}(X)+b_1\mathbf 1_n^\top)+b_2\mathbf 1_n^\top$ (1b), where $\sigma_S$ is
# the softmax function applied on the columns of the input matrix, $\lambda\ge0$ is the temperature parameter,
# $\sigma(x)=x\cdot1_{x>0}$ is the ReLU activation.
#
# <details><summary>Slips (1)</summary>
#
# - In the proofs $K^i$ and $Q^i$ are both $k\times d$, so the product $K^iQ^i$ does not exist, and the scores are
#   $X^\top K^{i\top}Q^iX$. The definition gives no shapes. If $K^i$ were $d\times k$, its scores would be right, but
#   the proofs have $(K^iX)^\top Q^iX$.
#
# </details>
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim looped-transformers/definition-input-format -->
# <blockquote>
#
# **Input format (Scratchpad, memory, commands)** *Section 2*
#
# **The paper states.** In Eq. (2), $S$ represents the portion of the input that serves as a "scratchpad", $M$
# represents the portion that acts as memory that can be read from and written to, and $C$ represents the portion that
# contains the commands provided by the user. The $p_1,\dots,p_n$ are positional encodings for the $n$ columns.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** Our machine gives the scratchpad's column no code, as in the paper's equation (5), because no
# pointer needs to lead there.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim looped-transformers/figure-1 -->
# <blockquote>
#
# **Figure 1 (The loop)** *Section 2*
#
# **The paper states.** A sketch of the looped transformer architecture, where the input sequence stores the commands,
# memory where the data is read/written from, and a scratchpad where intermediate results are stored. The input is
# processed by the network and the output is used as the new input, allowing the network to iteratively update an
# implicit state and perform complex computations.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# Three small facts make the layer programmable. A layer without values and hidden units changes nothing. The softmax
# weights in a column sum to 1. Although the residual connection cannot be switched off, a row $x$ can be erased,
# because $x-\sigma(x)+\sigma(-x)=0$.
#
# The factor $\lambda$ multiplies the scores, so a large $\lambda$ means a sharp choice; the paper calls it the
# temperature. In this book tokens are rows, so our state is $X^\top$.
#
# ## See it run
# We build an idle layer, a layer that erases, and one that changes a single row.

# %%
source = torch.Generator().manual_seed(seed)
state = torch.randn(columns, width, generator=source, dtype=torch.float64)
rows = Rows(data=width)
idle, clearing, bent = Layer(rows, "nothing"), Layer(rows, "clear"), Layer(rows, "one hidden unit")
for layer in (idle, bent):
    layer.head("no value", combine(rows["data"]), combine(rows["data"]), values=[])
clearing.clear(rows["data"])
bent.unit("bump", {0: 1.0}, {1: 1.0})


def changed(layer: Layer) -> int:
    """Entries of the state that the layer changes."""
    return int((LoopedTransformer(rows, [layer]).cycle(state, inverse_temperature) != state).sum())


# %% [markdown]
# We write out equation (1a) column by column, in the paper's orientation, and compare it with a head that has random
# matrices.

# %%
key, query = torch.randn(2, key_rows, width, generator=source, dtype=torch.float64)
value = torch.randn(width, width, generator=source, dtype=torch.float64)
nothing = torch.zeros(0, width, dtype=torch.float64)
full = DenseLayer((DenseHead(key, query, value),), nothing, nothing[:, 0], nothing.mT, torch.zeros(width).double())


def by_columns(heat: float) -> torch.Tensor:
    """Equation (1a) written out in the paper's orientation, column by column."""
    paper, columns_out = state.mT, []
    for query_column in paper.mT:
        raised = (heat * (key @ paper).mT @ (query @ query_column)).exp()
        columns_out.append(query_column + value @ paper @ (raised / raised.sum()))
    return torch.stack(columns_out)


weights = attention_weights(0.3 * (state @ query.mT) @ (state @ key.mT).mT)
literal = max((full.attend(state, heat) - by_columns(heat)).abs().max().item() for heat in (0.1, 0.5))
unheated = (full.attend(state, 0.5) - by_columns(1.0)).abs().max().item()

# %% [markdown]
# The proofs use $K$ and $Q$ with $k$ rows each and the scores $(KX)^\top QX$. We compare this with $X^\top KQX$, the
# form in equation (1a).

# %%
try:
    product = tuple((key @ query).shape)
except RuntimeError:
    product = None
square_key, square_query = torch.randn(2, width, width, generator=source, dtype=torch.float64)
meant = state @ square_query.mT @ square_key @ state.mT
printed = state @ square_query.mT @ square_key.mT @ state.mT
tall_key = key.mT  # d x k, the other reading
consistent = (state @ (tall_key @ query) @ state.mT - (state @ key.mT) @ (state @ query.mT).mT).abs().max()

# %% [markdown]
# Finally, we count the columns that the loop changes. Two broken machines serve as controls. In the first, constants
# act in every column; in the second, the scratchpad is not marked.

# %%
touched = (final != loaded).any(dim=1)
leaky = SubleqMachine(machine.address_bits, bits, form={"constants": "printed"})
leaked = (leaky.run(loaded, steps, inverse_temperature) != loaded).any(dim=1)
silenced = loaded.clone()
machine.rows.view(silenced, "indicator").zero_()
kept = (machine.run(silenced, steps, inverse_temperature) != silenced).any(dim=1)
result = machine.memory(final, source_program).tolist()
wanted = interpret(source_program, bits, 2000).memories[-1].tolist()
print("memory at the end:", ", ".join(f"{name} = {result[place]}" for name, place in source_program.cells.items()))

# %% [markdown]
# ## How we checked
# We compare layers with the equations, and what we unpack from the input with what we packed. As a control, we read
# one column too far.

# %%
claim = Claim("looped-transformers/definition-architecture")
claim.equal("entries changed by a layer without values and units", changed(idle), 0)
cleared = clearing.dense.feed_forward(1e6 * state).abs().max()
claim.equal("largest entry left by x - relu(x) + relu(-x)", cleared, 0.0)
claim.close("largest distance of a softmax sum from 1", weights.sum(1), 1, atol=1e-14)
claim.at_most("a head against (1a) by columns, lambda = 0.1 and 0.5: largest error", literal, 1e-10)
claim.at_most("with a d x k matrix K the printed scores are (K'X)' Q X: largest difference", consistent, 1e-12)
claim.misprint.true("the printed product K Q of two k x d matrices can be formed", product is not None)
claim.misprint.close("where k = d: largest difference of X' K Q X from (K X)' Q X", printed, meant, atol=1e-9)
claim.control.at_most("a head at lambda = 0.5 against (1a) without lambda: largest error", unheated, 1e-10)
claim.control.equal("entries changed by a layer with one hidden unit", changed(bent), 0)
claim.verdict()

# %%
commands = machine.rows.view(loaded, "command")[first_command:].unflatten(1, (3, -1))
code = ((commands > 0) << torch.arange(machine.address_bits)).sum(-1) - torch.tensor([1, 1, first_command])
unpacked = machine.memory(loaded, source_program).tolist()
shifted = machine.memory(loaded.roll(1, dims=0), source_program).tolist()
used = loaded[0].count_nonzero()
claim = Claim("looped-transformers/definition-input-format")
claim.equal("memory read back", str(unpacked), str(list(source_program.memory)))
claim.equal("commands read back", str(code.tolist()), str([list(one) for one in source_program.code]))
claim.equal("the counter points at the first command", machine.counter(loaded, source_program), 0)
label = "rows used in the scratchpad at the start: counter and indicator"
claim.equal(label, used, machine.address_bits + 1)
claim.control.equal("memory read one column further on", str(shifted), str(list(source_program.memory)))
claim.verdict()

# %%
claim = Claim("looped-transformers/figure-1")
claim.equal("columns of the state", len(loaded), 1 + cells + len(source_program.code))
claim.equal("command columns changed by the whole run", touched[first_command:].sum(), 0)
claim.above("memory columns changed", touched[1:first_command].sum(), 0)
claim.true("the scratchpad column is changed", bool(touched[0]))
claim.equal("memory at the end, the interpreter's", str(result), str(wanted))
claim.control.equal("command columns changed if constants act in every column", leaked[first_command:].sum(), 0)
claim.control.above("memory columns changed without the scratchpad's indicator", kept[1:first_command].sum(), 0)
claim.verdict()

# %% [markdown]
# ## What to remember
# - A layer is attention plus one ReLU network, each added to what was there before.
# - A program is a matrix: the loop reads its commands and changes only scratchpad and memory.
#
# ## Exercises
#
# 1. *By hand.* A row holds 3 in one column and $-2$ in another. Compute $x-\sigma(x)+\sigma(-x)$ for both.
#    <details><summary>Solution</summary>
#
#    $3-3+0=0$ and $-2-0+2=0$.
#
#    </details>
# 2. *Predict, then run.* Set `program = "square_root"`. Which parts of the picture change, and which verdicts?
#    <details><summary>Solution</summary>
#
#    The commands, the memory and the number of cycles change. The machine has the same three parts, and no verdict
#    changes.
#
#    </details>
#
# Next: [Appendix B.1](section_b_1_encodings.ipynb), because the loop needs a way to point to a column.
