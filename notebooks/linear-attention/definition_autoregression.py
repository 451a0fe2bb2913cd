# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Section 5 · Outputs that become tokens, and vectors that become letters
#
# *Yau, Akyürek, Mao, Tenenbaum, Jegelka, Andreas: definitions of Section 5 and Appendix D.*
#
# One layer computes one vector, so how can it compute for many steps? We append the vector to the input and apply the
# layer again. This page makes the loop precise: how letters become vectors, how vectors become letters, and how much
# error we can tolerate on the way.

# %%
import torch

from attention_theory.encodings import one_hot
from attention_theory.linear_attention.certified.bounds import certify_rounding
from attention_theory.linear_attention.model.autoregression import autoregress
from attention_theory.linear_attention.model.literal import mhla_by_sums
from attention_theory.linear_attention.model.mhla import Heads, mhla
from attention_theory.linear_attention.model.rounding import round_letter, round_token, worst_error
from attention_theory.randomness import generator
from attention_theory.validation import require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% [markdown]
# ## A tiny example
#
# Our layer has one head. It multiplies each token by the token's first entry, adds up the results, exchanges the two
# entries of the sum, and multiplies them by the first entry of the last token. We start with the tokens $(1,0)$ and
# $(1,1)$. The sum is $(2,1)$, so the first output is $(1,2)$. We append it and repeat.

# %%
fig, axis = schematic.canvas(height=1.9)
tops = schematic.tokens(axis, ["(1, 0)", "(1, 1)", "(1, 2)", "(3, 3)", "(36, 36)"], (0.7, 0.7), lit=[2, 3, 4], step=2.6)
for number in (1, 2, 3):
    schematic.arrow(axis, tops[number], tops[number + 1], bend=0.35)
schematic.text(axis, (3.1, 0.3), "prompt", size=9)
schematic.text(axis, (9.5, 0.3), "outputs that became tokens", size=9)
show.figure(
    fig,
    name="loop",
    caption="The prompt and the first three outputs. Each output is appended before the next one is computed.",
    alt="Five tokens: (1, 0) and (1, 1) of the prompt, then (1, 2), (3, 3) and (36, 36). Arrows lead from each last "
    "token to the next output.",
)

# %% [markdown]
# The input grows by one token per step.
#
# ## The paper states
#
# <!-- claim linear-attention/definition-autoregressive-mhla -->
# <blockquote>
#
# **Definition (Outputs that become tokens)** *Section 5*
#
# **The paper states.** We define the iterative process of $\Phi$-step autoregressive MHLA as follows: starting from
# $t=0$, let the next token $y^{t+1}\in\mathbb R^d$ be: $y^{t+1}=\mathrm{MHLA}_\Theta(Z^t)$ (21), and, for all
# $t\in[\Phi]$, let $Z^{t+1}\in\mathbb R^{d\times(n+1)}$ be the concatenation: $Z^{t+1}=Z^t\circ y^t$ (22).
#
# **What is true.** Each step appends the new output: $Z^{t+1}=Z^t\circ y^{t+1}\in\mathbb R^{d\times(n+t+1)}$.
#
# **What changed.** Eq. 22 appends the output of the previous step, and the size that it gives is right for the first
# step only.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim linear-attention/definition-computation-history -->
# <blockquote>
#
# **Definition (The history of a run)** *Section 5*
#
# **The paper states.** We refer to $\mathrm{CH}_\Theta(Z)=\{Z^t\}_{t\in[\Phi]}$ as the *computation history* of the
# $\Phi$-step autoregressive MHLA. We denote the $t$-th step of the computation history as
# $\mathrm{CH}^t_\Theta(Z)=Z^t$. We will often use the notation $Z_t[:-k]$ to denote the last $k\in\mathbb Z^+$ tokens
# of $Z_t$.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim linear-attention/definition-orthogonal-embeddings -->
# <blockquote>
#
# **Definition (Letters as unit vectors)** *Appendix D*
#
# **The paper states.** Let Embed be a function $\mathrm{Embed}:\Sigma\to\mathbb R^{|\Sigma|}$. Let $\Sigma$ be an
# alphabet and let $e_1,\dots,e_{|\Sigma|}\in\mathbb R^{|\Sigma|}$ be a basis of orthogonal unit vectors. Then for each
# letter $a$ in an alphabet $\Sigma$, we define $\mathrm{Embed}(a)=e_a$ where we associate a different unit vector to
# each letter.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim linear-attention/definition-rounding -->
# <blockquote>
#
# **Definition (Vectors back to letters)** *Appendix D*
#
# **The paper states.** For any vector $v$, let $\mathrm{Round}(v)=e_j$ for $j=\arg\max_{i\in[d]}\langle v,e_i\rangle$.
# Since we use orthogonal unit vectors for token embeddings we will refer to $\mathrm{Round}(v)$ as a token. We will
# often refer to a matrix $Z$ as being equivalent to a series of $n$ tokens $a_1,\dots,a_n$ to mean
# $\mathrm{Round}(Z[:,i])=a_i$ for all $i\in[n]$.
#
# **What is true.** In the rows of each attribute, a vector is rounded to the unit vector of its largest entry, or to
# zero (no letter) if that entry is below $\frac12$. An error of squared norm below $\frac14$ is then always undone.
#
# **What changed.** The definition does not fit its purpose. It never returns the empty value that the construction of
# Appendix C needs, and it keeps only one attribute of a token that has several.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** Among letters alone, without the empty value, an error of squared norm below $\frac12$ is always
# undone. The heads of Lemma 2.2 write tokens with $-1$ and with differences of letters. For them, in Lemmas 5.1 and
# 5.2, each entry is rounded to the nearest integer.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
#
# With a separate unit vector for each letter, the inner product of two tokens is 1 if they hold the same letter, and
# otherwise 0. To read an output, we take its largest entry. The worst error takes from one entry and adds the same
# amount to another. It is harmless below a squared norm of $\frac12$.
#
# However, an attribute of a token may also hold no letter, whereas the largest entry always returns one. We therefore
# return nothing if no entry reaches $\frac12$. Now an error in a single entry can do harm, and the limit is
# $\frac14$.
#
# <details><summary>Proof of Definition (Rounding), what it undoes, and what follows for runs</summary>
#
# *By attribute, with the empty value.* Let $v = u + e$ with $\|e\|^2 < \frac14$, where $u$ holds in the rows of each
# attribute a unit vector or zero. Then $|e_i| < \frac12$ for every entry. In an attribute that holds letter $a$, $v_a =
# 1 + e_a > \frac12$ and $v_b = e_b < \frac12$ for $b \ne a$: the largest entry is that of $a$, and it reaches
# $\frac12$. In one that is empty all entries are below $\frac12$, and it is rounded to zero. The bound is sharp: $e =
# \frac12 e_b$ turns an empty attribute into the letter $b$.
#
# *Letters alone.* Let $v = e_a + e$ with $\|e\|^2 < \frac12$. For $b \ne a$, $v_a - v_b = 1 + \langle e, e_a -
# e_b\rangle \ge 1 - \sqrt2\,\|e\| > 0$, so the largest entry is that of $a$. With $e = \frac12(e_b - e_a)$, of squared
# norm $\frac12$, the two are equal.
#
# *A run of $\Phi$ steps (Lemma 5.1).* Let $Z^0, y^1, y^2, \dots$ be the prompt and the tokens of the true run on a
# random machine and word, and let the learned model be applied to the true history at every step, with the squared
# error $r_t = \|\mathrm{MHLA}_{\hat\Theta}(Z^{t-1}) - y^t\|^2$ and $\varepsilon =
# \frac1\Phi\sum_{t\le\Phi}\mathbb{E}\,r_t$. Suppose $r_t < \frac14$ for all $t \le \Phi$. Then the model that runs by
# itself, and rounds each output before it becomes a token, makes the true run: by induction its tokens before step $t$
# are the true ones, so that its output is off $y^t$ by a squared norm $r_t < \frac14$, which rounding undoes. By
# Markov's inequality $\Pr[r_t \ge \frac14] \le 4\,\mathbb{E}\,r_t$, so that
#
# $$\begin{aligned}
# & \Pr[\text{the run is not the true one}] \\
# &\quad \le \textstyle\sum_{t\le\Phi}\Pr[r_t \ge \tfrac14] \\
# &\quad \le 4\,\textstyle\sum_{t \le \Phi}\mathbb{E}\,r_t = 4\varepsilon\Phi .
# \end{aligned}$$
#
# The errors at the steps need not be independent. Up to a step $t$ the sum runs over the steps so far. $\square$
#
# </details>
#
# ## See it run
#
# The head of the tiny example has $Q=\begin{pmatrix}1&0\\0&0\end{pmatrix}$ and
# $V=\begin{pmatrix}0&1\\1&0\end{pmatrix}$. We run the loop with the new output, and with the output of the previous
# step, as in Eq. 22.

# %% tags=["parameters"]
steps = 5  # tokens appended, from 3 to 8; three of them are worked out by hand
letters = 5  # size of the alphabet that is rounded, at least 2
errors = 2000  # random errors tried at each size, at least 100
seed = 0  # seed of the errors, at least 0

# %%
require(steps=(steps, 3, 8), letters=(letters, 2, None), errors=(errors, 100, None), seed=(seed, 0, None))

# %%
swap = Heads(
    values=torch.tensor([[[0.0, 1.0], [1.0, 0.0]]], dtype=torch.float64),
    queries=torch.tensor([[[1.0, 0.0], [0.0, 0.0]]], dtype=torch.float64),
)
prompt = torch.tensor([[1.0, 0.0], [1.0, 1.0]], dtype=torch.float64)
by_hand = [[1, 2], [3, 3], [36, 36]]
run = autoregress(lambda tokens: mhla(swap, tokens), prompt, steps)
printed = autoregress(lambda tokens: mhla(swap, tokens), prompt, steps, form="printed")
traces = {"y of the step": run, "y before": printed}
show.table(
    ["step", "by hand", "appending $y^{t+1}$", "appending $y^t$"],
    [[t + 1, by_hand[t], run[2 + t].long().tolist(), printed[2 + t].long().tolist()] for t in range(3)],
)

# %% [markdown]
# The first loop agrees with our calculation by hand. Next, we add errors of many sizes, including the worst ones, to
# letters and to the empty value.

# %%
source = generator(seed)
words = torch.randint(letters, (20, 30), generator=source)
same_letter = (words[:, :, None] == words[:, None, :]).double()
code = one_hot(letters)
crowded = torch.randn(letters, letters - 1, generator=source, dtype=torch.float64)
crowded /= crowded.norm(dim=1, keepdim=True)
told = {name: codes[words] @ codes[words].mT for name, codes in (("unit vectors", code), ("crowded", crowded))}

# %%
tokens = torch.cat([code, torch.zeros(1, letters, dtype=torch.float64)])
blocks = [torch.arange(letters)]
sizes = torch.linspace(0.02, 1.0, 50, dtype=torch.float64)
noise = torch.randn(len(sizes), errors, letters + 1, letters, generator=source, dtype=torch.float64)
noise *= (sizes**0.5)[:, None, None, None] / noise.norm(dim=-1, keepdim=True)


def worst_of(size):
    """The worst error of a squared norm for each letter and for the empty value."""
    holds = [*range(letters), None]
    return torch.stack([worst_error(letters, size, held, (i + 1) % letters) for i, held in enumerate(holds)])


worst = torch.stack([worst_of(float(size)) for size in sizes])
noise = torch.cat([noise, worst[:, None]], dim=1)
right_token = (round_token(tokens + noise, blocks) == tokens).all(dim=-1)  # (sizes, errors, letters and empty)
right_letter = (round_letter(code + noise[:, :, :-1]) == code).all(dim=-1)
plain_empty = (round_letter(noise[:, :, -1]) == 0).all(dim=-1)

# %%
fig, axis = show.axes(1, 1, width=5.2, height=3.9)
axis.plot(sizes, right_token.double().mean(dim=(1, 2)), label="by attribute, with the empty value", marker="o")
axis.plot(sizes, right_letter.double().mean(dim=(1, 2)), label="largest entry, letters only", marker="s")
axis.plot(sizes, plain_empty.double().mean(dim=1), label="largest entry, on the empty value", marker="^")
axis.axvline(0.25, linestyle="--", color="grey")
axis.axvline(0.5, linestyle="--", color="grey")
axis.set_xlabel("squared norm of the error")
axis.set_ylabel("fraction rounded correctly")
axis.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.17))
show.figure(
    fig,
    name="rounding",
    caption="Fraction of errors that rounding undoes. Rounding with the empty value undoes all errors below 1/4 "
    "(first dashed line), and rounding among letters all errors below 1/2 (second). The largest entry never finds "
    "the empty value.",
    alt="Three curves against the squared norm of the error. Two stay at 1 up to 0.25 and 0.5 and then fall slowly; "
    "the third is 0 everywhere.",
)

# %% [markdown]
# Each of the first two curves leaves 1 exactly at its dashed line. The paper's rule never finds the empty value.
#
# ## How we checked
#
# We compare the loop with a calculation by hand, each entry of the history with a fresh run, and the inner products
# of tokens with those of their letters. The controls are Eq. 22, and random unit vectors in one row fewer. A solver
# proves both limits for every alphabet and every error.

# %%
entries = [run[: 2 + t] for t in range(steps + 1)]
afresh = [prompt]
for _ in range(steps):
    afresh.append(torch.cat([afresh[-1], mhla_by_sums(swap, afresh[-1])[None]]))
same = sum(torch.equal(entry, one) for entry, one in zip(entries, afresh, strict=True))
of_printed = [printed[: 2 + t] for t in range(steps + 1)]
same_printed = sum(torch.equal(entry, one) for entry, one in zip(of_printed, afresh, strict=True))
# What the last steps wrote, k tokens of it, by the slice.
written = sum(torch.equal(run[-k:], run[2 + steps - k :]) for k in range(1, steps + 1))

# %%
claim = Claim("linear-attention/definition-autoregressive-mhla")
claim.equal("tokens after t steps: n + t", str([len(run[: 2 + t]) for t in range(3)]), "[2, 3, 4]")
as_by_hand = {name: (one[2:5].long() == torch.tensor(by_hand)).all(dim=1).sum() for name, one in traces.items()}
claim.equal("appending the output of the step: tokens as by hand", as_by_hand["y of the step"], 3)
claim.misprint.equal("appending the output of the step before: tokens as by hand", as_by_hand["y before"], 3)
claim.verdict()

# %%
claim = Claim("linear-attention/definition-computation-history")
lengths = {f"t = {t}": len(one) for t, one in enumerate(entries)}
claim.equal("tokens of entry t: n + t", lengths, {f"t = {t}": 2 + t for t in range(steps + 1)})
claim.equal("entries that are the loop run afresh for t steps", same, steps + 1)
claim.equal("k for which the slice is what the last k steps wrote", written, steps)
claim.control.equal("entries of the loop that appends the output before", same_printed, steps + 1)
claim.verdict()

# %%
claim = Claim("linear-attention/definition-orthogonal-embeddings")
read_back = (code[words] @ code.T).argmax(dim=-1)
claim.equal("letters of random words that come back", (read_back == words).sum(), words.numel())
unlike = {name: (products - same_letter).abs().max() for name, products in told.items()}
claim.equal("inner products of tokens less 'same letter', largest", unlike["unit vectors"], 0)
claim.control.equal("the same with one row fewer than letters", unlike["crowded"], 0)
claim.verdict()

# %%
below_quarter, below_half = sizes < 0.25, sizes < 0.5
claim = Claim("linear-attention/definition-rounding")
claim.equal("errors below 1/4 that are not undone", (~right_token[below_quarter]).sum(), 0)
claim.equal("errors below 1/2 between letters that are not undone", (~right_letter[below_half]).sum(), 0)
claim.control.equal("errors of 1/4 and more that are not undone", (~right_token[~below_quarter]).sum(), 0)
claim.control.equal("errors of 1/2 and more between letters that are not undone", (~right_letter[~below_half]).sum(), 0)
claim.printed.equal("share of empty tokens that the largest entry leaves empty", plain_empty.double().mean(), 1.0)
claim.certified("all alphabets and errors: 1/4 with the empty value, 1/2 among letters", certify_rounding())
claim.verdict()

# %% [markdown]
# ## Also on this page
#
# ### A circuit for every length
#
# <!-- claim linear-attention/remark-uniform-circuits -->
# <blockquote>
#
# **Section 2 (One set of heads, a circuit for every length)** *Section 2*
#
# **The paper states.** Note that $\mathrm{MHLA}_\Theta$ is a uniform circuit family: it can take inputs of any length
# dimension $n$ and fixed embedding dimension $d$. It is uniform in the sense that there is a polynomial time algorithm
# that maps from the parameters $\Theta$ to the circuit that processes inputs of length $n$.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The circuit for the last column has fewer than $4Hd(n + d)$ gates with two inputs.
#
# </blockquote>
# <!-- /claim -->
#
# We write the circuit gate by gate. A gate adds or multiplies two earlier wires, or multiplies a wire by a weight.


# %%
def circuit(heads, n):
    """The gates of the layer at n tokens, and the wires of its outputs."""
    gates, d = [], heads.width

    def gate(*parts):
        gates.append(parts)
        return n * d + len(gates) - 1

    def total(wires):
        return wires[0] if len(wires) == 1 else gate("+", total(wires[:-1]), wires[-1])

    token, outputs = [[t * d + j for j in range(d)] for t in range(n)], [[] for _ in range(heads.out)]
    for value, query in zip(heads.values.tolist(), heads.queries.tolist(), strict=True):
        asked = [total([gate("w", row[j], token[-1][j]) for j in range(d)]) for row in query]
        scores = [total([gate("*", wire, one) for wire, one in zip(here, asked, strict=True)]) for here in token]
        sums = [total([gate("*", token[t][j], scores[t]) for t in range(n)]) for j in range(d)]
        for output, row in zip(outputs, value, strict=True):
            output.append(total([gate("w", row[j], sums[j]) for j in range(d)]))
    return gates, [total(wires) for wires in outputs]


# %%
def through(gates, outputs, entries):
    """The outputs of a circuit."""
    wires = list(entries)
    for kind, first, second in gates:
        left = first if kind == "w" else wires[first]
        wires.append(left + wires[second] if kind == "+" else left * wires[second])
    return [wires[at] for at in outputs]


draws = generator(seed)
two = Heads(*(torch.randint(-3, 4, (2, 3, 3), generator=draws).double() for _ in range(2)))
by_circuit, by_other, sizes = 0, 0, {}
for n in range(1, 9):
    entries = torch.randint(-3, 4, (n, 3), generator=draws).double()
    gates, outputs = circuit(two, n)
    sizes[f"n = {n}"] = len(gates) / (4 * 2 * 3 * (n + 3))
    by_circuit += through(gates, outputs, entries.flatten().tolist()) == mhla(two, entries).tolist()
    longer = torch.cat([torch.ones(1, 3, dtype=torch.float64), entries])
    by_other += through(gates, outputs, longer.flatten().tolist()) == mhla(two, longer).tolist()

# %%
claim = Claim("linear-attention/remark-uniform-circuits")
claim.equal("lengths at which the circuit gives the layer's outputs, of 8", by_circuit, 8)
claim.below("gates over 4 H d (n + d)", sizes, 1)
claim.control.equal("lengths at which it does for an input of one token more", by_other, 8)
claim.verdict()

# %% [markdown]
# ### What an embedding can hold
#
# <!-- claim linear-attention/remark-embeddings -->
# <blockquote>
#
# **Section 5 (Positions as unit vectors, and circuits in an embedding)** *Section 5, after Lemma 2.2*
#
# **The paper states.** A naive embedding scheme represents letters in an alphabet as orthogonal unit vectors. This
# makes it easy to contrive embedding schemes that incorporate arbitrary polynomial-sized circuits which could compute
# whether $x\in\mathcal L(M)$. We adopt positional encodings that are simply orthogonal unit vectors. Thus, in order to
# give each of $T$ tokens a unique ID, we would require $O(T)$ dimensional positional embeddings.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** Orthogonal vectors need exactly $T$ dimensions. IDs that are unique but not orthogonal need only
# $\lceil\log_2T\rceil$ rows of $\pm1$, but then a look-up also finds other tokens.
#
# </blockquote>
# <!-- /claim -->
#
# As an example, we ask whether a word of six letters has an odd number of ones. The embedding computes the answer
# with one gate per letter and puts it into the last token, so one head has only to copy it.

# %%
every = torch.cartesian_prod(*[torch.tensor([0, 1])] * 6)
parity = torch.zeros(len(every), dtype=torch.int64)
for letter in every.mT:
    parity = parity ^ letter
embedded = torch.zeros(len(every), 7, 5, dtype=torch.float64)  # rows: the letter, the parity, the last token
embedded[:, :6, :2] = one_hot(2)[every]
embedded[:, 6, 2:4], embedded[:, 6, 4] = one_hot(2)[parity], 1
keep = torch.diag(torch.tensor([0.0, 0, 1, 1, 0], dtype=torch.float64))[None]
last = torch.diag(torch.tensor([0.0, 0, 0, 0, 1], dtype=torch.float64))[None]
without = embedded.clone()
without[:, 6, 2:4] = 0
right = {
    name: (mhla(Heads(keep, last), tokens)[:, 2:4] == one_hot(2)[parity]).all(dim=1).sum()
    for name, tokens in (("with", embedded), ("without", without))
}

# %%
ranks = {f"T = {count}": int(torch.linalg.matrix_rank(one_hot(count))) for count in range(1, 13)}
claim = Claim("linear-attention/remark-embeddings")
claim.equal("rank of T positions", ranks, {f"T = {count}": count for count in range(1, 13)})
claim.control.equal("one row fewer: largest product of two unit vectors", unlike["crowded"], 0)
claim.equal("parity in the embedding: words that one head answers", right["with"], len(every))
claim.control.equal("the same head without it", right["without"], len(every))
claim.verdict()

# %% [markdown]
# ## What to remember
#
# - A layer computes for many steps because its output becomes the next token.
# - Letters are orthogonal unit vectors, so an inner product compares two letters.
# - With the empty value, rounding undoes every squared error below $\frac14$. This is the origin of the 4 in [Lemma
#   5.1](lemma_5_1_learned_executor.ipynb).
#
# ## Exercises
#
# 1. *By hand.* Compute the second output of the tiny example.
#
#    <details><summary>Solution</summary>
#
#    The tokens are $(1,0)$, $(1,1)$ and $(1,2)$, and all first entries are 1. The sum is $(3,3)$. If we exchange its
#    entries and multiply them by 1, the first entry of the last token, it is still $(3,3)$.
#
#    </details>
#
# 2. *Predict, then run.* Set `letters = 12`. Do the curves leave 1 earlier, later or at the same place?
#
#    <details><summary>Solution</summary>
#
#    They leave 1 at the same place, because the worst errors are among those that we try. After that they fall more
#    slowly, since a random error in more rows rarely points at one letter.
#
#    </details>
#
# Next: [Turing machines in a prompt](definition_turing_machines.ipynb). The loop can now run a program.
