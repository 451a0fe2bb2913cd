# %% [markdown]
# # Beyond Theorem 1 · Two heads that cancel, except on their own examples
# *Our addition to Theorem 1 of Mahdavi, Liao and Thrampoulidis (Section 4).*
#
# By Theorem 1, each head stores nearly as many answers as its context has tokens. With a context of two tokens, a head
# therefore seems to store almost nothing. However, the theorem proves more than memorisation requires, because its
# heads serve every set of answers. If we build the heads for the given answers, the number that we can store does not
# depend on the length of the context. We prove this, build the weights, and prove by machine that exact weights exist
# close to them.

# %%
import torch
from torch.func import functional_call, jacrev

from attention_theory.memorization.attention import capacity, features, predict
from attention_theory.memorization.certified.pairs_of_heads import certify_labels
from attention_theory.memorization.examples import sample_examples
from attention_theory.memorization.memorizing_attention import MemorizingAttention, memorize
from attention_theory.memorization.pairs_of_heads import build_pairs, build_single_heads, pair_capacity
from attention_theory.memorization.readout import solve_readout
from attention_theory.numerics import numerical_rank
from attention_theory.randomness import normal
from attention_theory.validation import ParameterError, require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% [markdown]
# ## A tiny example
# Suppose that all examples share a context of two tokens, and that a head reads the number $0$ from the first token and
# $1$ from the second. If its logits are $0$ and $s$, its output is $\sigma(s)=1/(1+e^{-s})$. A second head reads the
# same numbers with a minus sign, and has logit $s'$. Together they give $\sigma(s)-\sigma(s')$.
#
# Let $s=c\,u+q$ and $s'=c\,u-q$, with $c=100$, where $u$ and $q$ depend on the query:
#
# | example | $u$ | $q$ | $s$ | $s'$ | output |
# | --- | --- | --- | --- | --- | --- |
# | 1 | 0 | 1 | 1 | $-1$ | 0.46 |
# | 2 | 0 | $-2$ | $-2$ | 2 | $-0.76$ |
# | 3 | 1 | 3 | 103 | 97 | 0.00 |
# | 4 | $-1$ | 2 | $-98$ | $-102$ | 0.00 |
#
# On examples 1 and 2, we choose the output of the pair through $q$. On examples 3 and 4, it is almost 0 for any
# moderate $q$. A second pair can own these.

# %%
fig, axis = schematic.canvas(height=2.2)
steps = torch.linspace(-6, 6, 121)
for left, centre, words in ((0.8, 0.0, "own example"), (7.6, 6.0, "other example")):
    heights = 1.0 + 2.2 * torch.sigmoid(1.5 * steps)
    axis.plot(left + (steps + 6) / 2.2, heights, color=schematic.QUIET, lw=1.4)
    for shift, colour, name in ((1.0, schematic.BLUE, "s"), (-1.0, schematic.VERMILION, "s'")):
        at = torch.tensor(0.8 * centre + shift * 0.8)
        x, y = left + (at.item() + 6) / 2.2, 1.0 + 2.2 * torch.sigmoid(1.5 * at).item()
        axis.plot([x, x], [0.7, y], color=colour, lw=1.2)
        axis.plot(x, y, "o", color=colour, markersize=7)
        schematic.text(axis, (x, 0.4), name, colour)
    schematic.text(axis, (left + 2.7, 3.8), words)

# %%
show.figure(
    fig,
    name="tiny",
    caption="The output of a head as a function of its logit, marked at the logits s and s' of the two heads of a "
    "pair. The output of the pair is the difference of the two heights.",
    alt="The same rising curve twice. On the left, the two dots are on its steep middle at different heights. On the "
    "right, both are on its flat upper end at the same height.",
)

# %% [markdown]
# On an example that the pair owns, the two heads differ. On every other example, both are saturated and agree.
#
# ## The statement
# An example consists of a *context* of $n$ tokens with $d$ numbers each, a *query* $e$ with $d$ numbers, and a label,
# which is one number here. There are $T$ examples. The layer has $H$ heads with keys of width $d_h$ and values of width
# $d_v$.
#
# <!-- claim memorization/pairs-of-heads -->
# <blockquote>
#
# **Beyond Theorem 1 (For pairs of heads, capacity does not depend on the length of the context)** *Section 4, Theorem
# 1*
#
# Let $n\ge2$ and $\kappa\ge2$, let any $\kappa$ of the queries be linearly independent (all of them, if there are
# fewer), and let each context have two tokens that differ. Then a layer with $H$ heads, $d_h\ge1$ and $d_v\ge1$
# memorises every $T\le\lfloor H/2\rfloor(\kappa-1)$ labels in $\mathbb R$. If all examples share one context, the
# labels that $H$ heads reach have measure 0 for $T>H(n-1)(d+1)+1$.
#
# </blockquote>
# <!-- /claim -->
#
# If all examples share one context of at least three tokens, heads need no partners.
#
# <!-- claim memorization/single-heads -->
# <blockquote>
#
# **Beyond Theorem 1 (Heads without partners, for one shared context)** *Section 4, Theorem 1*
#
# Let all examples share one context of $n\ge3$ linearly independent tokens, and let any $\kappa\ge2$ of the queries be
# linearly independent (all of them, if there are fewer). Then a layer with $H$ heads, $d_h\ge2$ and $d_v\ge1$ memorises
# every $T\le H(\kappa-1)$ labels in $\mathbb R$.
#
# </blockquote>
# <!-- /claim -->
#
# We do not know whether heads need partners when each example has its own context. If a label consists of
# $d_\mathrm{out}\le d$ numbers, we can give each of them its own heads. The number of pairs or heads is then divided by
# $d_\mathrm{out}$ and rounded down.
#
# With queries in general position, $\kappa=d$, and single heads memorise $H(d-1)$ labels. The rank of the feature
# matrix $Z$ in Theorem 1 is limited to $H(n-1)+1$ in a shared context. {cite:t}`dana2025memorization` study
# attention-only transformers that associate contexts with next tokens. They improve $H(n-1)+1$ to $Hd_h+d$, and do so
# for contexts of any length.
#
# ## Why it is true
# Choose a vector $v$ such that, in every context, its products with the tokens are not all equal. Give every head the
# key $v$. A head with query weights $a$ then outputs $f(a\cdot e)$, where $f$ increases from the smallest to the
# largest of these products. Each pair owns $\kappa-1$ examples. A vector $u$ exists that is orthogonal to exactly the
# queries of these examples. The heads of the pair have $a=cu\pm q$ and the values $\pm Lv$, with a factor $L$ that is
# large enough for the labels. On the pair's own examples, only $q$ matters, and we can choose $q$ to give them any
# labels. On other examples, both heads tend to the same number as $c$ grows. A small error remains, which depends on
# the vectors $q$ of all pairs. Brouwer's fixed point theorem shows that we can correct it.
#
# In one shared context of three tokens, a head needs no partner. On the examples of other heads it looks at the first
# or the second token, to which it gives the value 0. On the head's examples, the third token carries the answers.
#
# <details><summary>Proof of the capacity of pairs</summary>
#
# *One head.* For two tokens $x\ne x'$ of a context, the $v$ with $v\cdot(x-x')=0$ form a hyperplane. Finitely many
# hyperplanes do not cover $\mathbb R^d$, so some $v$ is such that no $g_t=E^{(t)}v\in\mathbb R^n$ is constant. Put
# $f_t(s)=g_t\cdot\mathrm{softmax}(s\,g_t)$. A head with $W_KW_Q^\top=va^\top$, of rank one, has the logits
# $(a\cdot e^{(t)})\,g_t$ and, with the value vector $Lv$, the output $L\,f_t(a\cdot e^{(t)})$. The derivative $f_t'(s)$
# is the variance of $g_t$ under the softmax weights. It is above 0, because all weights are and $g_t$ is not constant.
# For $s>0$ each weight is at most $e^{-s(\max g_t-g_{ti})}$ and $xe^{-sx}\le1/(es)$, so that
#
# $$0\le\max g_t-f_t(s)\le\sum_i(\max g_t-g_{ti})\,e^{-s(\max g_t-g_{ti})}\le\frac{n-1}{e\,s},$$
#
# and likewise $0\le f_t(-s)-\min g_t\le(n-1)/(es)$. Ties for the largest entry do no harm.
#
# *Own examples.* Cut the examples into blocks $R_p$, $p\le P=\lfloor H/2\rfloor$, of at most $\kappa-1$. The queries of
# $R_p$ are independent and have dual vectors $e_t^*$, $t\in R_p$, with $e_t^*\cdot e^{(s)}=\delta_{ts}$ for $s\in R_p$.
# Let $U_p$ be the space orthogonal to these queries. For $s\notin R_p$, the query $e^{(s)}$ is independent of them, so
# the $u\in U_p$ with $u\cdot e^{(s)}=0$ are a proper subspace of $U_p$. Finitely many of these do not cover $U_p$:
# there is $u_p$ with $u_p\cdot e^{(t)}=0$ for $t\in R_p$ and $u_p\cdot e^{(t)}\ne0$ for all others. Let $\omega>0$ be
# the smallest $|u_p\cdot e^{(t)}|$ over all $p$ and $t\notin R_p$ (if $P=1$, there is none, and nothing to show there).
#
# *The pairs.* For $\xi\in\mathbb R^T$ put $q_p=\sum_{t\in R_p}\xi_te_t^*$. The heads of pair $p$ have the query weights
# $cu_p\pm q_p$ and the value vectors $\pm Lv$; a last head, if $H$ is odd, has the value 0. On $t\in R_p$ the pair
# gives $L\,h_t(\xi_t)$ with $h_t(s)=f_t(s)-f_t(-s)$, which is continuous, increases strictly, and maps $\mathbb R$ onto
# $(-D_t,D_t)$ with $D_t=\max g_t-\min g_t>0$. Let $y$ be the labels, $\eta=1$, and choose $L$ with
# $|y_t|+\eta<L\,D_t$ for all $t$. Let $K$ be the box of all $x$ with $|x_t-y_t|\le\eta$. On $K$ the functions
# $\xi_t(x)=h_t^{-1}(x_t/L)$ are continuous, since the inverse of a continuous, strictly increasing function is. The
# output at $t$ is then $x_t+\varepsilon_{c,t}(x)$, where $\varepsilon_{c,t}$ sums, over the pairs that do not own $t$,
# $L\,(f_t(c\,u_p\cdot e^{(t)}+q_p\cdot e^{(t)})-f_t(c\,u_p\cdot e^{(t)}-q_p\cdot e^{(t)}))$.
#
# *The error is small on the whole box.* $K$ is compact and $q_p$ is continuous on it, so that $|q_p\cdot e^{(t)}|\le B$
# for some $B$, all $p$, $t$ and $x\in K$. For $c\,\omega>B$ both arguments have the sign of $u_p\cdot e^{(t)}$ and are
# at least $c\,\omega-B$ in size. Both values of $f_t$ are within $(n-1)/(e(c\,\omega-B))$ of the same limit and on the
# same side of it. Hence
#
# $$\sup_{x\in K}|\varepsilon_{c,t}(x)|\le\frac{P\,L\,(n-1)}{e\,(c\,\omega-B)},$$
#
# which is at most $\eta$ for large $c$. Keep such a $c$. The map $x\mapsto y-\varepsilon_c(x)$ is continuous and maps
# the box $K$ into itself. By Brouwer's theorem it has a fixed point $x^*$, and the outputs there are
# $x^*+\varepsilon_c(x^*)=y$. Wider keys, queries and values are filled up with zeros; $W_O$ and $W_D$ pass on the sum
# of the heads. $\square$
#
# *The upper bound.* With a shared context of $n$ tokens, head $h$ acts on the query through $EW_{K_h}W_{Q_h}^\top$, of
# which the softmax sees the differences of rows: $(n-1)d$ numbers. The outputs are
# $\sum_h\theta_h\cdot(EV_h)$ with $V_h\in\mathbb R^d$; a constant that is added to $EV_h$ adds the same constant to all
# outputs, which leaves $n-1$ numbers for each head and a single constant: $H(n-1)(d+1)+1$ in all. The labels that are
# reached are the image of this many real parameters under a smooth map. For larger $T$ such an image has measure 0.
# $\square$
#
# </details>
#
# <details><summary>Proof of the capacity of single heads</summary>
#
# Let $E$ be the shared context. Since its $n$ tokens are independent, there are $v,w,v_0\in\mathbb R^d$ with
# $Ev=(0,0,1,0,\dots)$, $Ew=(1,-1,0,\dots)$ and $Ev_0=(1,\dots,1)$. Cut the examples into blocks $R_h$, $h\le H$, of at
# most $\kappa-1$, and take $u_h$, $\omega$ and $q_h=\sum_{t\in R_h}\xi_te_t^*$ as in the proof for pairs. Head $h$ has
# $W_KW_Q^\top=vq_h^\top+c\,wu_h^\top$, of rank at most 2, and the value vector $Lv$; the first head has $Lv+\beta v_0$.
# As softmax weights sum to 1, $v_0$ adds $\beta$ to every output. On a query $e$ the logits are
# $(c\,u_h\cdot e,\,-c\,u_h\cdot e,\,q_h\cdot e,\,0,\dots,0)$, and the head adds $L$ times the weight of the third
# token.
#
# On an own example this weight is $p(\xi_t)=e^{\xi_t}/(e^{\xi_t}+n-1)$, which increases from 0 to 1. On any other, it
# is at most $e^{q_h\cdot e-c|u_h\cdot e|}$. Let $\beta=\min y-2$, $L=\max y-\min y+4$, and let $K$ be the box of all
# $x$ with $|x_t-y_t|\le1$. There $(x_t-\beta)/L$ is between $1/L$ and $1-1/L$, and $\xi_t(x)=p^{-1}((x_t-\beta)/L)$ is
# continuous. With $|q_h\cdot e^{(t)}|\le B$ on the compact $K$, the output at $t$ is $x_t+\varepsilon_{c,t}(x)$ with
# $0\le\varepsilon_{c,t}\le H\,L\,e^{B-c\,\omega}$, which is at most 1 on all of $K$ for large $c$. Brouwer's theorem
# for $x\mapsto y-\varepsilon_c(x)$ gives the weights, as before. $\square$
#
# </details>
#
# ## See it run
# We take the weights of the proof and compute the fixed point by Newton's method.

# %% tags=["parameters"]
heads = 6  # H, from 2 to 16
width = 12  # d, from 4 to 16
seed = 0  # seed of every draw, at least 0

# %%
require(heads=(heads, 2, 16), width=(width, 4, 16), seed=(seed, 0, None))
most = pair_capacity(heads, width)
labels = normal(most, seed=seed + 1)
by_length, alone = {}, {}
for n in range(2, width):
    data = sample_examples(most, n, width, seed=seed + n)
    by_length[n] = build_pairs(data, labels, heads, seed=seed).residual
    if n >= 3:
        more = sample_examples(heads * (width - 1), n, width, seed=seed + n)
        wanted = normal(more.count, seed=seed + 2)
        alone[n] = build_single_heads(more, wanted, heads, seed=seed).residual
print(f"{most} labels, contexts of 2 to {width - 1} tokens: largest residual {max(by_length.values()):.1e}")

# %%
fig, axis = show.axes(height=2.8)
lengths = list(by_length)
axis.plot(lengths, [most] * len(lengths), "o-", label="pairs of heads")
axis.plot(list(alone), [heads * (width - 1)] * len(alone), "^-", label="single heads")
axis.plot(lengths, [capacity(heads, n, width) for n in lengths], "s--", label="Theorem 1: H(n − 1) + 1")
axis.set(xlabel="tokens in the context, n", ylabel="labels memorised", ylim=(0, None))
axis.legend()
show.figure(
    fig,
    name="lengths",
    caption=f"How many labels we can store with {heads} heads and tokens of width {width} in one shared context: by "
    "the built weights, and by Theorem 1.",
    alt="Two level lines, the upper one twice as high. A dashed line starts far below both, rises straight across the "
    "lower one and ends just below the upper one.",
)

# %% [markdown]
# Pairs store the same number of labels at every length, and single heads store twice as many. For contexts shorter than
# about $d/2$, Theorem 1 promises fewer labels than the pairs store. Next we compare several sizes.

# %%
sizes = [(6, 2, 8, True), (6, 2, 8, False), (8, 3, 10, True), (10, 2, 12, True), (4, 4, 12, True)]
runs = {}
for H, n, d, shared in sizes:
    data = sample_examples(pair_capacity(H, d), n, d, shared, seed=seed + 10)
    wanted = normal(data.count, seed=seed + 11)
    runs[H, n, d, shared] = data, wanted, build_pairs(data, wanted, H, seed=seed)
show.table(
    ["$(H, n, d)$", "contexts", "labels stored", "Theorem 1", "rank Z", "residual"],
    [
        (
            str(size[:3]),
            "shared" if size[3] else "separate",
            data.count,
            capacity(*size[:3]),
            int(numerical_rank(features(made.heads, data))),
            made.residual,
        )
        for size, (data, wanted, made) in runs.items()
    ],
)

# %% [markdown]
# For a shared context, the rank of $Z$ is at most the number in Theorem 1, yet the pairs fit more labels. This is no
# contradiction: rank $T$ is needed only if the same heads must fit every set of labels.
#
# ## How we checked
# As a control, we keep the heads of each shared context and fit the best read-out to *other* labels. It must miss them.
# The certificates start from the built weights. Ball arithmetic then proves, by Krawczyk's version of Brouwer's
# argument, that some real weights close to them fit all labels exactly.

# %% [markdown]
# For the upper bound, we differentiate the outputs of small layers with respect to all their weights. The rank of this
# derivative is the number of independent directions in which the outputs can move, so it must be at most
# $H(n-1)(d+1)+1$.

# %%
moves, bounds = {}, {}
for H, n, d in [(2, 2, 3), (3, 2, 4), (2, 3, 4)]:
    bounds[H, n, d] = H * (n - 1) * (d + 1) + 1
    data = sample_examples(bounds[H, n, d] + 10, n, d, seed=seed + 17)
    layer = MemorizingAttention(d, H, 1, dtype=torch.float64)
    weights = {name: normal(*part.shape, seed=seed + 18 + k) for k, (name, part) in enumerate(layer.named_parameters())}
    derivative = jacrev(lambda given, layer, data: functional_call(layer, given, (data.contexts, data.queries))[:, 0])
    parts = derivative(weights, layer, data).values()
    moves[H, n, d] = int(numerical_rank(torch.cat([part.flatten(1) for part in parts], dim=1), rtol=1e-10))
print("rank of the derivative:", moves, "bound:", bounds)

# %%
random_contexts = torch.linspace(0.1, 30, 60)[:, None, None].double() * normal(60, 200, 5, seed=seed + 13)
distance = random_contexts.amax(dim=-1) - (random_contexts.softmax(dim=-1) * random_contexts).sum(dim=-1)
saturation = (distance * torch.e / 4).max().item()  # s (max g - f(s)) e / (n - 1), with s g in the place of g
others = {}
for (H, n, d, shared), (data, _, made) in runs.items():
    if shared:
        other = normal(data.count, 1, seed=seed + 12)
        best = solve_readout(features(made.heads, data), other, H, 1)
        others[H, n, d] = (predict(made.heads, best, data) - other).abs().max().item()

# %%
claim = Claim("memorization/pairs-of-heads")
claim.at_most("every length of context: largest residual", by_length, 1e-9)
for (H, n, d, shared), (data, wanted, made) in runs.items():
    case = f"{(H, n, d)}, {'shared' if shared else 'separate'}"
    claim.at_most(f"{case}: residual of {data.count} labels", made.residual, 1e-9)
    claim.certified(f"{case}: exact weights", certify_labels(data, wanted, made))
data, wanted, made = runs[sizes[0]]
door = memorize(data.contexts, data.queries, wanted[:, None], sizes[0][0], method="pairs")
at_door = (door(data.contexts, data.queries)[:, 0] - wanted).abs().max().item()
claim.at_most("the same by memorize(..., method='pairs'): residual", at_door, 1e-9)
claim.at_most("rank of the derivative by all weights, less the bound", max(moves[k] - bounds[k] for k in moves), 0)
claim.control.at_most("shared contexts, same heads, other labels: smallest residual", min(others.values()), 1e-9)
claim.at_most("saturation, 12,000 contexts: distance over (n - 1)/(e s)", saturation, 1, of="proof")
claim.verdict()

# %%
single, single_others, proofs = {}, {}, {}
for H, n, d in [(6, 3, 8), (8, 3, 10), (10, 4, 12), (4, 4, 12)]:
    data = sample_examples(H * (d - 1), n, d, seed=seed + 14)
    wanted, other = normal(data.count, seed=seed + 15), normal(data.count, 1, seed=seed + 16)
    made = build_single_heads(data, wanted, H, seed=seed)
    case = f"{(H, n, d)}: {data.count} labels, Theorem 1 has {capacity(H, n, d)}"
    single[case], proofs[H, n, d] = made.residual, certify_labels(data, wanted, made)
    best = solve_readout(features(made.heads, data), other, H, 1)
    single_others[case] = (predict(made.heads, best, data) - other).abs().max().item()

# %%
claim = Claim("memorization/single-heads")
claim.at_most("every length of context: largest residual", alone, 1e-9)
claim.at_most("largest residual", single, 1e-9)
for case, certificate in proofs.items():
    claim.certified(f"{case}: exact weights", certificate)
claim.control.at_most("same heads, other labels: smallest residual", min(single_others.values()), 1e-9)
claim.at_most("weights in the proof's form: the same residual", max(single.values()), 1e-9, of="proof")
claim.verdict()

# %% [markdown]
# If a query occurs twice in the same context with different labels, no layer can fit both. The construction then
# reports which assumption fails.

# %%
data, wanted, made = runs[sizes[0]]
repeated = data.queries.clone()
repeated[1] = repeated[0]
try:
    memorize(data.contexts, repeated, wanted[:, None], sizes[0][0], method="pairs")
except ParameterError as error:
    print(error)

# %% [markdown]
# ## What to remember
# - Heads that are built for the given labels can store far more labels than the rank of $Z$.
# - Two heads with opposite values cancel wherever both are saturated at the same token.
# - If any $\kappa$ queries are independent, pairs store $\lfloor H/2\rfloor(\kappa-1)$ numbers, for every length
#   $n\ge2$ of the context.
#
# ## Exercises
#
# 1. *By hand.* Add an example with $u=0$ and the output $0.9$ to those that the pair of the tiny example owns. Which
#    $q$ do you need? Which outputs can the pair not give?
#    <details><summary>Solution</summary>
#
#    From $\sigma(q)-\sigma(-q)=2\sigma(q)-1=0.9$ we get $\sigma(q)=0.95$ and $q=\ln19\approx2.94$. The outputs are
#    always between $-1$ and $1$. Larger labels need larger values, $\pm L$ instead of $\pm1$.
#
#    </details>
# 2. *Predict, then run.* Set `heads = 7`. How many labels do the pairs now store, and where does Theorem 1 overtake
#    them?
#    <details><summary>Solution</summary>
#
#    The pairs still store $3\cdot11=33$, since the seventh head has no partner. Single heads store 77. Theorem 1
#    promises $7(n-1)+1$, which is 29 at $n=5$ and 36 at $n=6$. It overtakes the pairs at six tokens; with six heads, it
#    does so at seven tokens.
#
#    </details>
#
# Next: [Table 3](table_3_language.ipynb). Do real models satisfy the assumptions? If all tokens are in general
# position, [even the rank grows in proportion to $Hd$](conjecture_i_1_general_position.ipynb).
