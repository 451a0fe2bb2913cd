"""Sentences as Chen et al. draw them: a chain of words, in which noise follows the trigger as often as it is the label.

The paper compares its data model with theirs (Sections 2 and 4). There is no condition that the bigram (q, y) occurs:
what follows the trigger is τ with probability α and y otherwise, each time anew.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_theory.in_context_reasoning.task import Sentences, Task
from attention_theory.randomness import Seed, generator
from attention_theory.validation import refuse_unless, require


def chain_sentences(task: Task, count: int, noise: float, seed: Seed) -> Sentences:
    """Chains ``z_1 ... z_H`` of the noisy task, ending in the trigger; τ and y follow it with ratio ``α / (1 - α)``.

    A word that follows no trigger is uniform on the trigger and the fillers of the task; at the last place but one it
    is a filler, since the last word is the trigger and follows none.

    Raises:
        ParameterError: a task without noise, no sentence, or α outside [0, 1].
    """
    refuse_unless(task.noisy, "task must be noisy, got a noiseless one")
    require(count=(count, 1, None), noise=(noise, 0.0, 1.0))
    draw = generator(seed)
    outputs, fillers = task.output_words, task.filler_words
    output = torch.randint(outputs.start, outputs.stop, (count,), generator=draw, device=draw.device)
    free = torch.randint(fillers.start - 1, fillers.stop, (count, task.length), generator=draw, device=draw.device)
    free[:, -2] = torch.randint(fillers.start, fillers.stop, (count,), generator=draw, device=draw.device)
    words = torch.where(free < fillers.start, 0, free)
    is_noise = torch.rand(count, task.length, generator=draw, device=draw.device) < noise
    follows = torch.where(is_noise, task.noise_token, output[:, None])
    for place in range(1, task.length - 1):
        words[:, place] = torch.where(words[:, place - 1] == 0, follows[:, place], words[:, place])
    words[:, -1] = 0
    return Sentences(words, torch.zeros_like(output), output)


def chain_probability(
    tokens: Int[Tensor, "contexts length"], output: int, task: Task, noise: float
) -> Float[Tensor, " contexts"]:
    """The chance of each context under the law of :func:`chain_sentences`, given the output word.

    Raises:
        ParameterError: a task without noise, or α outside [0, 1].
    """
    refuse_unless(task.noisy, "task must be noisy, got a noiseless one")
    require(noise=(noise, 0.0, 1.0))
    fillers = task.filler_words
    before = torch.nn.functional.pad(tokens[:, :-1], (1, 0), value=fillers.start)  # the first word follows none
    filler = (tokens >= fillers.start) & (tokens < fillers.stop)
    free = ((tokens == 0) | filler).double() / (len(fillers) + 1)
    free[:, -2] = filler[:, -2].double() / len(fillers)
    after = noise * (tokens == task.noise_token).double() + (1 - noise) * (tokens == output).double()
    chances = torch.where(before == 0, after, free)
    chances[:, -1] = ((tokens[:, -1] == 0) & (tokens[:, -2] != 0)).double()
    return chances.prod(dim=1)
