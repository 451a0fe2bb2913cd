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
# The paper builds computers out of one network: an encoder transformer of constant depth with fixed weights, whose
# output is fed back as its next input. What it computes depends on the input alone. The input is a matrix $X$ with one
# column for each token; some columns are a *scratchpad*, some are *memory*, the rest are the *commands*. This page
# writes down one layer, packs a program into an input, and runs the loop on it.
#
# In this book tokens are rows, so our state is $X^\top$. The paper's "rows" get names, and so do the heads and hidden
# units of each layer. The dense matrices come out of these names, and they are what runs.

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
# ## One layer
# <!-- claim looped-transformers/definition-architecture -->
# <blockquote>
#
# **Architecture (A layer, and the loop around it)** *Section 2*
#
# **As printed.** The scores read $X^\top K^i Q^i X$.
#
# **Corrected.** A layer takes $X \in \mathbb R^{d\times n}$, one column a token, to $f(X) = A + W_2\,\sigma(W_1 A + b_1
# 1^\top) + b_2 1^\top$ with $A = X + \sum_i V^i X\,\sigma_S\big((K^iX)^\top Q^iX\big)$, where $\sigma$ is the ReLU and
# $\sigma_S$ the softmax of each column of its argument times $\lambda$. A looped transformer feeds its output back as
# its input.
#
# With $K^i$ and $Q^i$ as the proofs have them they are $X^\top K^{i\top} Q^i X$: the product $K^iQ^i$ of two $k\times
# d$ matrices does not exist, and where $k=d$ it is another matrix. (The definition gives no shapes. With a $K^i$ of
# $d\times k$, the transpose of the proofs', the printed scores are right.)
#
# </blockquote>
# <!-- /claim -->
#
# $\sigma_S$ is the softmax of each column, and $\lambda$, which the paper calls the temperature, *multiplies* the
# scores: a high temperature is a hard choice. Three small facts are used all the time. A layer without values and
# hidden units changes nothing. A softmax column sums to 1. And since the residual cannot be switched off, a row $x$ is
# overwritten by cancelling it: $x - \sigma(x) + \sigma(-x)$ is zero, and exactly so in floating point.

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
# A head with random matrices is then compared with equation (1a), written out in the paper's orientation, column by
# column.

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
# In equation (1a) the scores are printed as $X^\top K^iQ^iX$, and no shapes are given. By itself that is a score: with
# a $K$ of $d\times k$ it is what is meant, $K$ being the transpose of what the proofs call so. But in the proofs $K$
# and $Q$ have $k$ rows each: $K=Q=[0\ 0\ I\ I\ 0\ 0]$, and the scores are $(KX)^\top QX$. Then $KQ$ cannot be formed;
# and where $K$ and $Q$ are square it is not what is meant.

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
# With the proofs' $K$ the printed scores must fail, as a product and where $k=d$; with its transpose they must be
# right. The control is a head whose scores are not multiplied by $\lambda$.

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

# %% [markdown]
# A layer is what equation (1a) says once the proofs' $K$ is transposed in it, which the proofs do without saying so.
#
# ## A program as an input
# <!-- claim looped-transformers/definition-input-format -->
# <blockquote>
#
# **Input format (Scratchpad, memory, commands)** *Section 2*
#
# The input is $X = [S\;|\;M\;|\;C]$ above the row of encodings $p_1 \dots p_n$: $s$ scratchpad columns, $m$ memory
# columns and $n-m-s$ columns of commands, each column with the code of its own place.
#
# </blockquote>
# <!-- /claim -->
#
# The machine of Lemma 1, which comes later, serves as the example. Its program is text. The columns of the loaded state
# are one scratchpad column, the memory cells, and the instructions; below each memory cell and each instruction stands
# the binary code of the column's own number, which serves as its address. The scratchpad's column has no
# code here, as in the paper's equation (5), though equation (2) gives it one: no pointer has to lead there.

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

# %% [markdown]
# Here are the state from which the program runs and the one to which it comes, as the paper draws them: rows down,
# columns across.

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
    caption="The paper's first figure, drawn from a real input: the state that the loop acts on, rows named at the "
    "left. Orange is -1, blank 0, blue +1. Thick lines part the scratchpad column, the memory and the commands. Only "
    "the first two parts differ between the two pictures.",
    alt="Two coloured matrices side by side with named row blocks. Commands fill the top right, memory bits the "
    "middle, encodings the bottom; after the run the scratchpad column on the left is filled and some memory bits "
    "have changed.",
)

# %% [markdown]
# Packing must lose nothing. Reading one column further on must not give the same program.

# %%
commands = machine.rows.of(loaded, "command")[first_command:].unflatten(1, (3, -1))
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

# %% [markdown]
# Memory and commands come back as they were put in.
#
# ## What the loop touches
# <!-- claim looped-transformers/figure-1 -->
# <blockquote>
#
# **Figure 1 (The loop)** *Section 2*
#
# A sketch: the input holds scratchpad, memory and commands; a cycle reads commands, changes scratchpad and memory, and
# its output is the next input.
#
# </blockquote>
# <!-- /claim -->
#
# What the sketch says can be counted: the loop reads commands and never changes them, it changes scratchpad and memory,
# and its output is its next input. Two broken machines show that this is not for nothing. If constants act in every
# column, the commands are overwritten; without the indicator, the row that is 1 in the scratchpad alone, memory stays
# as it was.

# %%
touched = (final != loaded).any(dim=1)
leaky = SubleqMachine(machine.address_bits, bits, form={"constants": "printed"})
leaked = (leaky.run(loaded, steps, inverse_temperature) != loaded).any(dim=1)
silenced = loaded.clone()
machine.rows.of(silenced, "indicator").zero_()
kept = (machine.run(silenced, steps, inverse_temperature) != silenced).any(dim=1)
result = machine.memory(final, source_program).tolist()
wanted = interpret(source_program, bits, 2000).memories[-1].tolist()
print("memory at the end:", ", ".join(f"{name} = {result[place]}" for name, place in source_program.cells.items()))

# %% [markdown]
# The picture holds if the first machine leaves all commands alone and its memory ends as an interpreter's.

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
# The loop does what the sketch shows: it reads the commands, changes scratchpad and memory, and comes to the
# interpreter's result.
#
# ## What was learned
# A layer is attention and one ReLU network, each added to what was there; with weights that never change, the input
# decides what is computed. A program is a matrix: its columns are scratchpad, memory and commands, and the loop changes
# the first two only. Of the two equations one has a slip, a transpose that is missing from the scores.
#
# ## To try
# - Set `program = "square_root"`: other commands, the same machine and the same three parts; the root of 90 comes out.
# - Set `inverse_temperature = 20.0`: all verdicts stay; the weights that remain on wrong columns are too small to see.
