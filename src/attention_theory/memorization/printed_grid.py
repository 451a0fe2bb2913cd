"""The grid of runs behind Figures 2 to 5 (Section 5.2, Appendices A, H, I): 342 runs a seed.

All at d = 64 with batches of 256. Ranges that the text does not give, and the number of seeds, six, are those of the
commands that the authors publish with their code.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from attention_theory.memorization.synthetic import Labels, Setting

WIDTH, CLASSES, BATCH, RATE, SEEDS = 64, 100, 256, 1e-3, 6

_SWEEP = (1, 5, 10, 20, 30, 40, 50, 60)  # of H, and of n


@dataclass(frozen=True)
class PrintedPanel:
    """One panel of a figure.

    Attributes:
        name: the figure and its horizontal axis.
        settings: one a run, seed 0.
        shared: one context for all examples, or one for each.
        labels: classes or real numbers.
        long: trained for 300,000 steps, whatever the number of examples.
    """

    name: str
    settings: list[Setting]
    shared: bool = True
    labels: Labels = "classes"
    long: bool = False

    def steps(self, setting: Setting) -> int:
        """500 epochs, at least 50,000 steps."""
        return 300_000 if self.long else max(500 * setting.examples // BATCH, 50_000)

    @property
    def steps_in_all(self) -> int:
        """Steps of all runs of one seed together."""
        return sum(self.steps(setting) for setting in self.settings)


def _by_heads(examples: Sequence[int]) -> list[Setting]:
    return [Setting(heads, 32, count, WIDTH) for count, heads in product(examples, _SWEEP)]


def _by_context(examples: Sequence[int]) -> list[Setting]:
    return [Setting(20, tokens, count, WIDTH) for count, tokens in product(examples, _SWEEP)]


def printed_panels() -> list[PrintedPanel]:
    """Every panel of Figures 2, 3, 4 and 5."""
    key_widths = (*range(10, 61, 5), 64)
    by_width = [Setting(30, 32, count, width) for count, width in product((10_000, 15_000, 20_000), key_widths)]
    thousands = [1_000 * count for count in range(10, 131, 10)]
    separate = thousands[2::2]  # 30,000 to 130,000
    return [
        PrintedPanel("Figure 2(a), heads", _by_heads(thousands[:4])),
        PrintedPanel("Figure 2(b), context", _by_context((6_000, 10_000, 14_000, 18_000))),
        PrintedPanel("Figure 2(c), key width", by_width, long=True),
        PrintedPanel("Figure 3", [Setting(4, 32, 550, WIDTH), Setting(8, 32, 1_300, WIDTH)], long=True),
        PrintedPanel("Figure 4, heads, classes", _by_heads(separate), shared=False),
        PrintedPanel("Figure 4, context, classes", _by_context(thousands[1:6]), shared=False),
        PrintedPanel("Figure 4, heads, numbers", _by_heads(thousands[0:9:2]), shared=False, labels="real"),
        PrintedPanel("Figure 4, context, numbers", _by_context(thousands[0:9:2]), shared=False, labels="real"),
        PrintedPanel("Figure 5, heads", _by_heads((10_000, 15_000, 20_000, 25_000, 30_000)), labels="real"),
        PrintedPanel("Figure 5, context", _by_context((10_000, 15_000, 20_000, 25_000)), labels="real"),
    ]
