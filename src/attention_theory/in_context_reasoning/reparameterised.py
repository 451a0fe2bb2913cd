"""The weights that Lemmas 3.1 and 4.1 construct, for any codes."""

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.in_context_reasoning.embedding import Embedding
from attention_theory.in_context_reasoning.model import Weights
from attention_theory.in_context_reasoning.task import Task
from attention_theory.validation import require_shape


def key_directions(task: Task, codes: Embedding) -> Float[Tensor, "triggers width width"]:
    """The matrices that the scales λ multiply in W, one per used trigger.

    Noiseless: ``E(k) Ẽ(k)^T`` (Lemma 3.1). Noisy: ``E(q) (Ẽ(q) - E(τ))^T`` (Lemma 4.1).
    """
    keys = codes.previous[: task.used_triggers]
    if task.noisy:
        keys = keys - codes.word[task.noise_token]
    return torch.einsum("qd,qe->qde", codes.word[: task.used_triggers], keys)


def _feed_forward(task: Task, codes: Embedding, gamma: float) -> Float[Tensor, "width width"]:
    """F: zero in the noiseless task, ``E(τ) (γ E(q) + Ẽ(q))^T`` in the noisy one (Lemma 4.1)."""
    if not task.noisy:
        return codes.word.new_zeros(codes.word.shape[1], codes.word.shape[1])
    return torch.outer(codes.word[task.noise_token], gamma * codes.word[0] + codes.previous[0])


def reparameterised(task: Task, codes: Embedding, scales: Float[Tensor, " triggers"], gamma: float = 0.0) -> Weights:
    """V = I, ``W = sum_q λ_q`` times its direction, and F: Lemma 3.1, or Lemma 4.1 if the task is noisy.

    Raises:
        ParameterError: not one scale for each used trigger.
    """
    require_shape(scales=(scales, (task.used_triggers,)))
    identity = torch.eye(codes.word.shape[1], dtype=codes.word.dtype, device=codes.word.device)
    query_key = torch.einsum("q,qde->de", scales, key_directions(task, codes))
    return Weights(identity, query_key, _feed_forward(task, codes, gamma))
