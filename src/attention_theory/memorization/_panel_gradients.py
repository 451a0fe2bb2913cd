"""The gradient of a panel's losses, written out (Section 5.2, Appendix A).

A training is thousands of steps on small tensors, where autograd's bookkeeping and its general softmax cost more than
the arithmetic. By hand a softmax that only weighs values v has a short gradient: with weights a, the answer
m = sum a v and the loss's derivative g by m, the derivative by a logit is a g (v - m).
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_theory.memorization.panel import Attended, Panel, attend, read_out
from attention_theory.training import Parameters


@torch.no_grad()
def gradients(
    panel: Panel,
    weights: Parameters,
    queries: Float[Tensor, "models batch width"],
    contexts: Float[Tensor, "models tokens width"] | Float[Tensor, "models batch tokens width"],
    labels: Int[Tensor, "models batch"] | Float[Tensor, "models batch"],
) -> Parameters:
    """The derivatives of every model's mean loss on its batch: cross-entropy, or the squared error of a real output."""
    attended = attend(panel, weights, queries, contexts)
    read, outputs = read_out(panel, weights, attended.answers)
    by_outputs = _by_outputs(outputs, labels)
    by_read = panel.each(attended.answers, by_outputs.mT)
    found = {
        "output": panel.each(by_read, weights["decode"].mT)[:, 0],
        "decode": panel.over(weights["output"][:, None], by_read),
        "decode_bias": by_outputs.sum(dim=-1),
    }
    by_values = attended.attention * panel.each(read, by_outputs)
    by_logits = (attended.values - attended.answers).mul_(by_values)
    by_maps = panel.each(by_logits, attended.asked)
    by_row_values = by_values.sum(dim=-1, keepdim=True)
    if contexts.ndim == 4:
        own_maps = panel.by_run(_by_own_maps, by_logits, attended.asked, contexts)
        own_values = panel.by_run(_by_own_values, by_values, contexts)
        by_maps = torch.cat([own_maps, by_maps], dim=1)
        by_row_values = torch.cat([own_values, by_row_values], dim=1)
    by_rows = _by_rows(panel, weights, attended, by_maps, by_row_values, found)
    if contexts.ndim == 3:
        found["embed"] += contexts.mT @ by_rows
    else:
        found["embed"] += by_rows[:, : panel.width]
        by_rows = by_rows[:, panel.width :]
    found["embed_bias"] += by_rows.sum(dim=1)
    return found


def _by_outputs(
    outputs: Float[Tensor, "models outputs batch"], labels: Tensor
) -> Float[Tensor, "models outputs batch"]:
    batch = labels.shape[1]
    if outputs.shape[1] == 1:
        return (outputs - labels[:, None]) * (2 / batch)
    shares = outputs.softmax(dim=1)
    one = shares.new_ones(()).expand(labels[:, None].shape)
    return shares.scatter_add_(1, labels[:, None], -one).mul_(1 / batch)


def _by_rows(
    panel: Panel,
    weights: Parameters,
    attended: Attended,
    by_maps: Float[Tensor, "heads rows width_and_one"],
    by_values: Float[Tensor, "heads rows 1"],
    found: Parameters,
) -> Float[Tensor, "models rows width"]:
    """Back from the maps and the values of the rows: adds the heads' own derivatives and those by the query's map."""
    by_into = panel.each(by_maps, attended.query_map).mul_(panel.width**-0.5)
    by_keyed = by_into @ weights["queries"]
    by_query_map = panel.over(by_maps, attended.into)
    found["embed"], found["embed_bias"] = by_query_map[:, :-1].contiguous(), by_query_map[:, -1].contiguous()
    found["keys"] = attended.rows.mT @ by_keyed
    found["queries"] = by_into.mT @ attended.keyed
    found["values"] = (attended.rows.mT @ by_values)[..., 0]
    return panel.total(by_keyed @ weights["keys"].mT + by_values * weights["values"][:, None])


def _by_own_maps(
    by_logits: Float[Tensor, "models heads tokens batch"],
    asked: Float[Tensor, "models batch width_and_one"],
    contexts: Float[Tensor, "models batch tokens width"],
) -> Float[Tensor, "models_heads width width_and_one"]:
    carried = by_logits.permute(0, 3, 1, 2).contiguous() @ contexts
    return (carried.flatten(2).mT @ asked).unflatten(1, carried.shape[2:]).flatten(0, 1)


def _by_own_values(
    by_values: Float[Tensor, "models heads tokens batch"], contexts: Float[Tensor, "models batch tokens width"]
) -> Float[Tensor, "models_heads width 1"]:
    return (by_values.mT.flatten(2) @ contexts.flatten(1, 2)).flatten(0, 1)[..., None]
