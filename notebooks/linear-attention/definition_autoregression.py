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
# <!-- claim linear-attention/definition-autoregressive-mhla -->
# <blockquote>
#
# **Definition (Outputs that become tokens)** *Section 5*
#
# **As printed.** $Z^{t+1} = Z^t \circ y^t \in \mathbb{R}^{d \times (n+1)}$.
#
# **Corrected.** From $Z^0 \in \mathbb{R}^{d \times n}$ on, each step computes $y^{t+1} = \mathrm{MHLA}_\Theta(Z^t)$ and
# sets it behind the input: $Z^{t+1} = Z^t \circ y^{t+1} \in \mathbb{R}^{d \times (n+t+1)}$.
#
# $Z^{t+1} = Z^t \circ y^{t+1} \in \mathbb{R}^{d \times (n+t+1)}$.
#
# </blockquote>
# <!-- /claim -->
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
# <!-- claim linear-attention/definition-rounding -->
# <blockquote>
#
# **Definition (Vectors back to letters)** *Appendix D*
#
# **As printed.** $\mathrm{Round}(v) = e_j$ with $j = \arg\max_i \langle v, e_i \rangle$ over all rows: it never returns
# the empty value that the construction of Appendix C needs.
#
# **Corrected.** In the rows of each attribute, a vector is rounded to the unit vector of its largest entry, or to zero
# (no letter) if that entry is below $1/2$. An error of squared norm below $1/4$ is then always undone; among letters
# alone, without the zero, one below $1/2$ is.
#
# Round attribute by attribute, to zero below the threshold $1/2$.
#
# </blockquote>
# <!-- /claim -->
#
# To compute for many steps, the layer's output is set behind its input and the layer is applied again. Letters are
# unit vectors; an output is read by rounding it to the nearest one. These four definitions carry all of Section 5, and
# two of them need a word: the loop as printed appends the output of the step before, which is a slip, and rounding as
# printed cannot say "nothing here".

# %%
import torch

from attention_theory.encodings import one_hot
from attention_theory.linear_attention.model.autoregression import autoregress, history_entry, last_tokens
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
# One head in two dimensions, with $Q = \begin{pmatrix}1&0\\0&0\end{pmatrix}$,
# $V = \begin{pmatrix}0&1\\1&0\end{pmatrix}$ and the prompt $(1, 0), (1, 1)$. The query is the first entry of the last
# token, so the output is $z_{n1} \sum_j z_{j1}\,(z_{j2}, z_{j1})$. By hand: the prompt gives $(0,1) + (1,1) = (1, 2)$;
# then $(0,1)+(1,1)+(2,1) = (3, 3)$; then $3\,[(0,1)+(1,1)+(2,1)+3\,(3,3)] = (36, 36)$.

# %%
swap = Heads(
    values=torch.tensor([[[0.0, 1.0], [1.0, 0.0]]], dtype=torch.float64),
    queries=torch.tensor([[[1.0, 0.0], [0.0, 0.0]]], dtype=torch.float64),
)
prompt = torch.tensor([[1.0, 0.0], [1.0, 1.0]], dtype=torch.float64)
by_hand = [[1, 2], [3, 3], [36, 36]]
run = autoregress(lambda tokens: mhla(swap, tokens), prompt, steps)
printed = autoregress(lambda tokens: mhla(swap, tokens), prompt, steps, form="printed")
show.table(
    ["step", "by hand", "appending $y^{t+1}$", "appending $y^t$"],
    [[t + 1, by_hand[t], run[2 + t].long().tolist(), printed[2 + t].long().tolist()] for t in range(3)],
)

# %%
claim = Claim("linear-attention/definition-autoregressive-mhla")
claim.check("tokens after t steps: n + t", str([len(history_entry(run, 2, t)) for t in range(3)]), "==", "[2, 3, 4]")
claim.check("the trace by hand", str(run[2:5].long().tolist()), "==", str(by_hand))
claim.misprint("appending the output of the step before", str(printed[2:5].long().tolist()), "==", str(by_hand))
claim.misprint("tokens after two steps, with Z of shape d x (n+1)", len(history_entry(run, 2, 2)), "==", 2 + 1)
claim.verdict()

# %% [markdown]
# ## The history
# The entry $CH^t(Z) = Z^t$ is the run up to step $t$. So every entry begins with all earlier ones, and the text's $Z[:
# -k]$ means the last $k$ tokens. Below, the loop is run afresh for every $t$, with the output of each step computed by
# single sums, and compared with the entries of one long run. In one place (Lemma 2.2 in Section 2) the colon is
# missing; a plain index returns a single token.

# %%
entries = [history_entry(run, 2, t) for t in range(steps + 1)]
afresh = [prompt]
for _ in range(steps):
    afresh.append(torch.cat([afresh[-1], mhla_by_sums(swap, afresh[-1])[None]]))
same = sum(torch.equal(entry, one) for entry, one in zip(entries, afresh, strict=True))
of_printed = [history_entry(printed, 2, t) for t in range(steps + 1)]
same_printed = sum(torch.equal(entry, one) for entry, one in zip(of_printed, afresh, strict=True))
claim = Claim("linear-attention/definition-computation-history")
claim.check(
    "entry t has n + t tokens", str([len(one) for one in entries]), "==", str([2 + t for t in range(steps + 1)])
)
claim.check("entries that are the loop run afresh for t steps", same, "==", steps + 1)
claim.control("the same where each step appends the output before", same_printed, "==", steps + 1)
claim.check("shape of the last 2 tokens", str(list(last_tokens(run, 2).shape)), "==", "[2, 2]")
claim.control("an index in place of the slice", str(list(run[-2].shape)), "==", "[2, 2]")
claim.verdict()

# %% [markdown]
# ## Letters
# The code of a letter is a unit vector, so inner products tell letters apart exactly.

# %%
code = one_hot(letters)
decoded = (code @ code.T).argmax(dim=1)
clash = code.clone()
clash[1] = clash[0]
claim = Claim("linear-attention/definition-orthogonal-embeddings")
claim.check("largest entry of |Gram matrix - I|", (code @ code.T - torch.eye(letters)).abs().max(), "==", 0.0)
claim.check("letters that come back", (decoded == torch.arange(letters)).sum(), "==", letters)
claim.control(
    "two letters share a code", ((clash @ clash.T).argmax(dim=1) == torch.arange(letters)).sum(), "==", letters
)
claim.verdict()

# %% [markdown]
# ## Rounding
# In print a vector is rounded to the unit vector of its largest entry. Between two letters this is right as long as the
# error has squared norm below $1/2$: the worst error takes from one entry and gives to another in equal parts.
#
# But the programs of Appendix C also use the *empty* value: rows of an attribute that hold no letter. Plain rounding
# always returns a letter. So each attribute is rounded by itself, and to nothing if no entry reaches $1/2$. Now one
# entry alone can do harm, and the squared norm must stay below $1/4$.

# %%
source = generator(seed)
tokens = torch.cat([code, torch.zeros(1, letters, dtype=torch.float64)])
blocks = [torch.arange(letters)]
sizes = torch.linspace(0.02, 1.0, 50, dtype=torch.float64)
noise = torch.randn(len(sizes), errors, letters + 1, letters, generator=source, dtype=torch.float64)
noise *= (sizes**0.5)[:, None, None, None] / noise.norm(dim=-1, keepdim=True)
worst = torch.stack(
    [
        torch.stack(
            [
                worst_error(letters, float(size), i if i < letters else None, (i + 1) % letters)
                for i in range(letters + 1)
            ]
        )
        for size in sizes
    ]
)
noise = torch.cat([noise, worst[:, None]], dim=1)
right_token = (round_token(tokens + noise, blocks) == tokens).all(dim=-1)  # (sizes, errors, letters and empty)
right_letter = (round_letter(code + noise[:, :, :-1]) == code).all(dim=-1)
plain_empty = (round_letter(noise[:, :, -1]) == 0).all(dim=-1)

# %%
fig, axis = show.axes(1, 1, width=7, height=3.2)
axis.plot(sizes, right_token.double().mean(dim=(1, 2)), label="by attribute, with the empty value", marker="o")
axis.plot(sizes, right_letter.double().mean(dim=(1, 2)), label="largest entry, letters only", marker="s")
axis.plot(sizes, plain_empty.double().mean(dim=1), label="largest entry, on the empty value", marker="^")
axis.axvline(0.25, linestyle="--", color="grey")
axis.axvline(0.5, linestyle="--", color="grey")
axis.set_xlabel("squared norm of the error")
axis.set_ylabel("share rounded rightly")
axis.legend()
show.figure(
    fig,
    name="rounding",
    caption="Share of errors that rounding undoes. No error below 1/4 (first dashed line) harms rounding with the "
    "empty value, none below 1/2 (second) harms rounding among letters. The largest entry never finds the empty value.",
    alt="Three curves against the squared norm of the error. Two stay at 1 up to 0.25 and 0.5 and then fall slowly; "
    "the third is 0 everywhere.",
)

# %%
below_quarter, below_half = sizes < 0.25, sizes < 0.5
claim = Claim("linear-attention/definition-rounding")
claim.check("errors below 1/4 that are not undone", (~right_token[below_quarter]).sum(), "==", 0)
claim.check("errors below 1/2 between letters that are not undone", (~right_letter[below_half]).sum(), "==", 0)
claim.control("errors of 1/4 and more that are not undone", (~right_token[~below_quarter]).sum(), "==", 0)
claim.control("errors of 1/2 and more between letters that are not undone", (~right_letter[~below_half]).sum(), "==", 0)
claim.printed("share of empty tokens that the largest entry leaves empty", plain_empty.double().mean(), "==", 1.0)
claim.verdict()
