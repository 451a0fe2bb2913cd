# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Section 5 · Outputs that become tokens, and vectors that become letters
# *Yau, Akyürek, Mao, Tenenbaum, Jegelka, Andreas: definitions of Section 5 and Appendix D.*
#
# To compute for many steps, the layer's output is set behind its input and the layer is applied again. Letters are unit
# vectors; an output is read by rounding it to the nearest one. Four definitions carry all of Section 5: the loop, its
# history, the letters and the rounding. Two of them need a word. The loop as printed appends the output of the step
# before, which is a slip, and rounding as printed cannot say "nothing here".

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

# %% tags=["parameters"]
steps = 5  # tokens appended, from 3 to 8; three of them are worked out by hand
letters = 5  # size of the alphabet that is rounded, at least 2
errors = 2000  # random errors tried at each size, at least 100
seed = 0  # seed of the errors, at least 0

# %%
require(steps=(steps, 3, 8), letters=(letters, 2, None), errors=(errors, 100, None), seed=(seed, 0, None))

# %% [markdown]
# ## The loop, by hand
# A layer computes one new column; set behind the others it becomes the last token of the next step. The sign $\circ$
# sets a column behind a matrix.
#
# <!-- claim linear-attention/definition-autoregressive-mhla -->
# <blockquote>
#
# **Definition (Outputs that become tokens)** *Section 5*
#
# **As printed.** What is appended is the output of the step before, and the size is that after one step:
#
# $$Z^{t+1} = Z^t \circ y^t \in \mathbb{R}^{d \times (n+1)} .$$
#
# **Corrected.** From $Z^0 \in \mathbb{R}^{d \times n}$ on, each step computes $y^{t+1} = \mathrm{MHLA}_\Theta(Z^t)$ and
# sets it behind the input:
#
# $$Z^{t+1} = Z^t \circ y^{t+1} \in \mathbb{R}^{d \times (n+t+1)} .$$
#
# What is appended is the output of this step, and each step makes the input one token longer.
#
# </blockquote>
# <!-- /claim -->
#
# Take one head in two dimensions, with $Q = \begin{pmatrix}1&0\\0&0\end{pmatrix}$, $V =
# \begin{pmatrix}0&1\\1&0\end{pmatrix}$ and the prompt $(1, 0), (1, 1)$. The query is the first entry of the last token,
# so the output is $z_{n1} \sum_j z_{j1}\,(z_{j2}, z_{j1})$. By hand:
#
# $$\begin{aligned}
# y^1 &= (0,1) + (1,1) = (1, 2) , \\
# y^2 &= (0,1) + (1,1) + (2,1) = (3, 3) , \\
# y^3 &= 3\,\big[(0,1) + (1,1) + (2,1) + 3\,(3,3)\big] \\
# &= (36, 36) .
# \end{aligned}$$

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
# Appending $y^{t+1}$, as the rest of the paper does, gives the trace by hand; appending $y^t$ gives another.

# %%
claim = Claim("linear-attention/definition-autoregressive-mhla")
claim.equal("tokens after t steps: n + t", str([len(run[: 2 + t]) for t in range(3)]), "[2, 3, 4]")
as_by_hand = {name: (one[2:5].long() == torch.tensor(by_hand)).all(dim=1).sum() for name, one in traces.items()}
claim.equal("appending the output of the step: tokens as by hand", as_by_hand["y of the step"], 3)
claim.misprint.equal("appending the output of the step before: tokens as by hand", as_by_hand["y before"], 3)
claim.verdict()

# %% [markdown]
# ## A circuit for every length
# The loop applies one layer to inputs of growing length. That is possible because the heads fix a circuit for each
# length.
#
# <!-- claim linear-attention/remark-uniform-circuits -->
# <blockquote>
#
# **Section 2 remark (One set of heads, a circuit for every length)** *Section 2*
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
# We write the circuit down, gate by gate. A gate multiplies or adds two earlier wires, or multiplies a wire by a
# weight. The first wires are the entries of the tokens.


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
# ## The history
# What a run has written is kept, step by step.
#
# <!-- claim linear-attention/definition-computation-history -->
# <blockquote>
#
# **Definition (The history of a run)** *Section 5*
#
# The history of a run of $\Phi$ steps is $\mathrm{CH}_\Theta(Z) = \{Z^t\}_{t \in [\Phi]}$ with entries
# $\mathrm{CH}^t_\Theta(Z) = Z^t$. Each entry begins with all earlier ones; $Z^t[:-k]$ stands for its last $k$ tokens.
#
# </blockquote>
# <!-- /claim -->
#
# The entry $CH^t(Z) = Z^t$ is the run up to step $t$. So every entry begins with all earlier ones, and the text's $Z[:
# -k]$ means the last $k$ tokens. Below, the loop is run afresh for every $t$, with the output of each step computed by
# single sums, and compared with the entries of one long run. In one place (Lemma 2.2 in Section 2) the colon is
# missing; a plain index returns a single token.

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

claim = Claim("linear-attention/definition-computation-history")
lengths = {f"t = {t}": len(one) for t, one in enumerate(entries)}
claim.equal("tokens of entry t: n + t", lengths, {f"t = {t}": 2 + t for t in range(steps + 1)})
claim.equal("entries that are the loop run afresh for t steps", same, steps + 1)
claim.equal("k for which the slice is what the last k steps wrote", written, steps)
claim.control.equal("entries of the loop that appends the output before", same_printed, steps + 1)
claim.verdict()

# %% [markdown]
# ## Letters
# With a unit vector of its own for each letter, the inner product of two tokens tells whether they hold the same
# letter, and nothing else.
#
# <!-- claim linear-attention/definition-orthogonal-embeddings -->
# <blockquote>
#
# **Definition (Letters as unit vectors)** *Appendix D*
#
# $\mathrm{Embed}: \Sigma \to \mathbb{R}^{|\Sigma|}$ gives every letter a unit vector of its own, $\mathrm{Embed}(a) =
# e_a$.
#
# </blockquote>
# <!-- /claim -->
#
#  For random words we compare every pair of places by inner product and check the result
# against the words. With one row fewer than there are letters no choice of vectors can do it; random unit vectors are
# tried.

# %%
source = generator(seed)
words = torch.randint(letters, (20, 30), generator=source)
same_letter = (words[:, :, None] == words[:, None, :]).double()
code = one_hot(letters)
crowded = torch.randn(letters, letters - 1, generator=source, dtype=torch.float64)
crowded /= crowded.norm(dim=1, keepdim=True)
told = {name: codes[words] @ codes[words].mT for name, codes in (("unit vectors", code), ("crowded", crowded))}

claim = Claim("linear-attention/definition-orthogonal-embeddings")
read_back = (code[words] @ code.T).argmax(dim=-1)
claim.equal("letters of random words that come back", (read_back == words).sum(), words.numel())
unlike = {name: (products - same_letter).abs().max() for name, products in told.items()}
claim.equal("inner products of tokens less 'same letter', largest", unlike["unit vectors"], 0)
claim.control.equal("the same with one row fewer than letters", unlike["crowded"], 0)
claim.verdict()

# %% [markdown]
# Positions are unit vectors as well, and an embedding can hold what a circuit has computed.
#
# <!-- claim linear-attention/remark-embeddings -->
# <blockquote>
#
# **Section 5 remark (Positions as unit vectors, and circuits in an embedding)** *Section 5, after Lemma 2.2*
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
# **Beyond the paper.** For orthogonal vectors it is $T$ exactly. An ID that is unique, and not orthogonal to the
# others, needs only $\log_2T$ rows of $\pm1$, but then a look-up finds other tokens also.
#
# </blockquote>
# <!-- /claim -->
#
# As an example we take words of six letters 0 and 1, and ask whether the number of ones is odd. The embedding computes
# it with one gate for each letter, and sets it into the last token. One head then has to copy it.

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
# ## Rounding
# In the paper a vector is rounded to the unit vector of its largest entry. Between two letters this is right as long as
# the error has squared norm below $1/2$: the worst error takes from one entry and gives to another in equal parts.
#
# But the programs of Appendix C also use the *empty* value: rows of an attribute that hold no letter. Plain rounding
# always returns a letter. So each attribute is rounded by itself, and to nothing if no entry reaches $1/2$. Now one
# entry alone can do harm, and the squared norm must stay below $1/4$.
#
# <!-- claim linear-attention/definition-rounding -->
# <blockquote>
#
# **Definition (Vectors back to letters)** *Appendix D*
#
# **As printed.** Over all rows,
#
# $$\mathrm{Round}(v) = e_j , \quad j = \arg\max_i v_i .$$
#
# A definition is not false. This one does not fit what it is for: it never returns the empty value that the
# construction of Appendix C needs, and of a token with several attributes it keeps one.
#
# **Corrected.** In the rows of each attribute, a vector is rounded to the unit vector of its largest entry, or to zero
# (no letter) if that entry is below $1/2$. An error of squared norm below $1/4$ is then always undone; among letters
# alone, without the zero, one below $1/2$ is. (The heads of Lemma 2.2 write tokens with $-1$ and with differences of
# letters, for which the definition is not made: for Lemmas 5.1 and 5.2 each entry is rounded to the nearest whole
# number.)
#
# Round attribute by attribute, to zero below the threshold $1/2$.
#
# </blockquote>
# <!-- /claim -->
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

# %% [markdown]
# The worst errors are among those tried, so each curve leaves 1 exactly where the proof says.

# %%
fig, axis = show.axes(1, 1, width=5.2, height=3.9)
axis.plot(sizes, right_token.double().mean(dim=(1, 2)), label="by attribute, with the empty value", marker="o")
axis.plot(sizes, right_letter.double().mean(dim=(1, 2)), label="largest entry, letters only", marker="s")
axis.plot(sizes, plain_empty.double().mean(dim=1), label="largest entry, on the empty value", marker="^")
axis.axvline(0.25, linestyle="--", color="grey")
axis.axvline(0.5, linestyle="--", color="grey")
axis.set_xlabel("squared norm of the error")
axis.set_ylabel("share rounded rightly")
axis.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.17))
show.figure(
    fig,
    name="rounding",
    caption="Share of errors that rounding undoes. No error below 1/4 (first dashed line) harms rounding with the "
    "empty value, none below 1/2 (second) harms rounding among letters. The largest entry never finds the empty value.",
    alt="Three curves against the squared norm of the error. Two stay at 1 up to 0.25 and 0.5 and then fall slowly; "
    "the third is 0 everywhere.",
)

# %% [markdown]
# Below the two thresholds nothing goes wrong; from them on something does. The rule as printed never finds the empty
# value.
#
# A solver settles both limits for every alphabet and every error.

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
# ## What was learned
# Section 5 rests on four small definitions. Two of them are right; the loop is misprinted by one step; and rounding has
# to know the empty value, which halves the squared error that it can undo. A squared error below $1/4$ is undone for
# certain, and from there comes the 4 in Lemma 5.1.
#
# ## To try
# - Set `letters = 2`: random errors above the thresholds do more harm to rounding with the empty value, and less among
#   letters; the thresholds stay.
# - Set `letters = 12`: with more rows a random error seldom points at one letter, and the curves fall later.
