"""Every sentence of a small task, and the transformer of Lemmas 3.1 and 4.1 on it."""

from collections.abc import Callable, Collection, Sequence

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from attention_theory.certificates import Answer, exhaust
from attention_theory.certificates.certificate import Counterexample
from attention_theory.certificates.exhaust import Batch
from attention_theory.in_context_reasoning.embedding import Embedding, embedding
from attention_theory.in_context_reasoning.model import Architecture, Pass, dense_forward
from attention_theory.in_context_reasoning.reparameterised import reparameterised
from attention_theory.in_context_reasoning.task import Sentences, Task, violations

LINEAR, RELU = Architecture(), Architecture("relu")
#: The names of the two conditions that controls leave out, as :func:`.violations` has them.
NOISE_AFTER_TRIGGER, NOTHING_ELSE = (
    "II: the noise token follows the trigger alone",
    "III: no other word follows a trigger",
)
#: Whether a run is right on each sentence.
Judge = Callable[[Sentences], Bool[Tensor, " sentences"]]


def ask_sentences(task: Task, holds: Judge, words: str, without: Collection[str] = (), unseen: bool = False) -> Answer:
    """Try every sentence of a task that breaks no condition of Definition 2.1 except those ``without``.

    Every sequence of words before the last word is tried with every trigger and every output.
    """
    outputs = task.neutral_words if unseen else task.output_words
    sizes = {"trigger": task.used_triggers, "output": len(outputs)}
    sizes |= {f"z_{place + 1}": task.tokens for place in range(task.length - 1)}

    def right(batch: Batch) -> Bool[Tensor, " members"]:
        sentences = sentences_of(task, batch, unseen)
        broken = [bad for name, bad in violations(sentences, task, unseen).items() if name not in without]
        inside = ~torch.stack(broken).any(dim=0)
        result = ~inside
        result[inside] = holds(sentences.pick(inside))
        return result

    return exhaust.every(sizes, right, words, at_once=100_000)


def sentences_of(task: Task, batch: Batch, unseen: bool = False) -> Sentences:
    """The members of a batch; each ends in its trigger."""
    words = [batch[f"z_{place + 1}"] for place in range(task.length - 1)]
    outputs = task.neutral_words if unseen else task.output_words
    return Sentences(torch.stack([*words, batch["trigger"]], dim=1), batch["trigger"], outputs.start + batch["output"])


def run_at(
    task: Task,
    tokens: Int[Tensor, "sentences length"],
    scales: Sequence[float],
    gamma: float = 0.0,
    architecture: Architecture = LINEAR,
    codes: Embedding | None = None,
) -> Pass:
    """The transformer of the lemmas by Eq. (1), with codes on axes where none are given."""
    codes = codes or embedding(task.tokens, 2 * task.tokens)
    weights = reparameterised(task, codes, torch.tensor(scales, dtype=torch.float64), gamma)
    return dense_forward(tokens, codes, weights, architecture)


def sentence_at(task: Task, values: Counterexample) -> Sentences:
    """The sentence of a counterexample."""
    return sentences_of(task, {name: torch.tensor([value]) for name, value in values.items()})
