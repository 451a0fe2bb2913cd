"""Algorithm 1 by its kernel beside Algorithm 1 by its features, on the same samples.

The samples are fewer than the features from d = 12 on, as in the runs of a machine. Both must predict the same.
The features are left out where they and their decomposition would take more than a gigabyte.

    python benchmarks/linear_attention_kernel.py
"""

import resource
from functools import partial

import torch
from torch import Tensor

from attention_theory.linear_attention.learning.kernel import kernel, kernel_fit
from attention_theory.linear_attention.learning.regression import least_squares
from attention_theory.linear_attention.model.features import certificate_features, psi
from attention_theory.linear_attention.model.mhla import mhla, random_heads
from attention_theory.linear_attention.model.parameters import lift_scale
from attention_theory.measure import timed
from attention_theory.numerics import relative_error
from attention_theory.randomness import normal

SAMPLES, FRESH, TOKENS, MOST_BYTES = 400, 100, 6, 1e9


def in_kernel_form(inputs: Tensor, labels: Tensor, fresh: Tensor) -> Tensor:
    """Predictions of the least-norm fit, by the products of samples."""
    return kernel_fit(kernel(inputs, inputs), labels).predict(kernel(fresh, inputs))


def in_features(inputs: Tensor, labels: Tensor, fresh: Tensor) -> Tensor:
    """The same, by the features themselves."""
    scale = lift_scale(inputs.shape[-1])
    row = least_squares(certificate_features(inputs) * scale, labels)
    return certificate_features(fresh) * scale @ row.mT


def main() -> None:
    torch.set_num_threads(1)
    print(f"{'d':>4} {'features':>10} {'form':>9} {'CPU s':>8} {'ratio':>6} {'difference':>11} {'peak MB':>8}")
    for width in (4, 8, 12, 16, 24, 64, 200):
        inputs, fresh = normal(SAMPLES, TOKENS, width, seed=0), normal(FRESH, TOKENS, width, seed=1)
        labels = mhla(random_heads(1, width, seed=2), inputs)

        by_kernel, seconds = timed(partial(in_kernel_form, inputs, labels, fresh))
        _row(width, "kernel", seconds, "", "")

        if 8 * psi(width) * SAMPLES <= MOST_BYTES / 4:
            by_features, slower = timed(partial(in_features, inputs, labels, fresh))
            gap = relative_error(by_kernel, by_features)
            _row(width, "features", slower, f"{slower / seconds:.1f}", f"{gap:.1e}")


def _row(width: int, form: str, seconds: float, ratio: str, gap: str) -> None:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{width:4} {psi(width):10} {form:>9} {seconds:8.3f} {ratio:>6} {gap:>11} {peak:8.0f}")


if __name__ == "__main__":
    main()
