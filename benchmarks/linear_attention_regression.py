"""Algorithm 1 by summed statistics beside the regression as it is written (Eqs. 8 to 10).

Every position of every sequence is a sample. The fast form takes them all; the literal form, with a column for every
entry of the matrix, takes a subset, and its time per sample is set beside that of the fast form. Both must find the
teacher's coefficients.

    python benchmarks/linear_attention_regression.py
"""

import resource
from functools import partial

import torch

from attention_theory.linear_attention.learning.regression import learn
from attention_theory.linear_attention.model.literal import literal_regression
from attention_theory.linear_attention.model.mhla import mhla_every_token, random_heads, stack_lengths
from attention_theory.linear_attention.model.parameters import coefficients, distance, head_matrix
from attention_theory.measure import timed
from attention_theory.randomness import generator, normal

SEQUENCES, POSITIONS, LITERAL_SEQUENCES = 2048, 100, 4


def main() -> None:
    torch.set_num_threads(1)
    print(f"{'d':>2} {'form':>8} {'samples':>8} {'CPU s':>8} {'µs/sample':>10} {'distance':>9} {'peak MB':>8}")
    for width in (2, 4):
        source = generator(width)
        teacher = random_heads(1, width, source, scale=width**-0.5)
        tokens = normal(SEQUENCES, POSITIONS, width, seed=source) / POSITIONS**0.5
        labels = mhla_every_token(teacher, tokens, is_causal=True)

        learned, fast = timed(partial(learn, tokens, labels))
        _row(width, "fast", SEQUENCES * POSITIONS, fast, distance(learned.heads, teacher).item())

        prefixes = [sequence[: t + 1] for sequence in tokens[:LITERAL_SEQUENCES] for t in range(POSITIONS)]
        some = labels[:LITERAL_SEQUENCES].flatten(0, 1)
        matrix, literal = timed(partial(literal_regression, stack_lengths(prefixes), some))
        gap = coefficients(matrix) - coefficients(head_matrix(teacher))
        _row(width, "literal", len(prefixes), literal, gap.norm().item())
        ratio = literal / len(prefixes) / (fast / SEQUENCES / POSITIONS)
        print(f"   ratio of times per sample at d = {width}: {ratio:.0f}")


def _row(width: int, form: str, samples: int, seconds: float, distance_of_p: float) -> None:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    each = 1e6 * seconds / samples
    print(f"{width:2} {form:>8} {samples:8} {seconds:8.3f} {each:10.2f} {distance_of_p:9.1e} {peak:8.0f}")


if __name__ == "__main__":
    main()
