"""Both ends of every size of the experiments: the value at an end is taken, one beyond is refused by its name."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from attention_theory.linear_attention.experiments.associative_memory import (
    hidden_head,
    memory_teacher,
    mix_memories,
    sample_memories,
)
from attention_theory.linear_attention.experiments.automata import (
    StringForm,
    automata_of_parts,
    random_automata,
    write_strings,
)
from attention_theory.linear_attention.experiments.convergence import final_errors, pass_means
from attention_theory.linear_attention.experiments.decoder import Decoders, DecoderSize
from attention_theory.linear_attention.experiments.deep_students import linear_layers_start, transformer_start
from attention_theory.linear_attention.experiments.dfa_training import Training
from attention_theory.linear_attention.experiments.gram_training import start_heads
from attention_theory.linear_attention.experiments.growth import bend, bend_weights, growth_line, simulated_bends
from attention_theory.linear_attention.experiments.mini_batches import batches_of_runs, shuffled_batches
from attention_theory.linear_attention.experiments.one_layer_students import students_start
from attention_theory.linear_attention.experiments.search_spaces import best_settings, rounding_floor
from attention_theory.linear_attention.experiments.teacher_task import teacher_task, teacher_tasks
from attention_theory.randomness import generator, normal
from ends_of_ranges import hold_ends

TINY = torch.finfo(torch.float64).tiny
ONE = StringForm(1, 1, 1)
TABLES, WORDS = torch.zeros(2, 1, 1, dtype=torch.int64), torch.zeros(2, 1, dtype=torch.int64)
SIZES = {"sizes": [1.0, 2.0, 3.0], "truth": normal(3, seed=0), "spread": 1.0, "runs": 2, "experiments": 2, "seed": 0}
DECODER = {"vocabulary": 5, "width": 4, "heads": 1, "layers": 1}
LINE = {"sizes": [1.0, 2.0, 3.0], "logarithms": normal(2, 3, seed=0), "power": True}
MEMORIES = {"gaussian": torch.zeros(4, 3, 2), "orthogonal": torch.ones(4, 3, 2), "seed": 0}

#: What is called, with what, which argument is moved (and what it is called), to which ends, and beyond them.
CASES: list[tuple[Callable[..., Any], dict[str, Any], str, list[Any], list[Any]]] = [
    (memory_teacher, {}, "width", [1], [0]),
    (hidden_head, {"scale": 1.0}, "width", [3], [2]),
    (sample_memories, {"count": 2, "width": 2, "law": "gaussian", "seed": 0}, "count", [1], [0]),
    (sample_memories, {"count": 2, "width": 2, "law": "orthogonal", "seed": 0}, "width", [1], [0]),
    (sample_memories, {"count": 2, "width": 2, "seed": 0}, "law", ["gaussian", "orthogonal"], ["signs"]),
    (mix_memories, MEMORIES, "share", [0.0, 1.0], [-0.1, 1.1]),
    *[(StringForm, {"states": 2, "letters": 2, "word": 2}, name, [1], [0]) for name in ("states", "letters", "word")],
    (random_automata, {"form": ONE, "seed": 0}, "count", [1], [0]),
    (
        automata_of_parts,
        {"count": 2, "form": StringForm(2, 2, 2), "draws": generator(0)},
        "parts",
        [[0], [3]],
        [[-1], [4], []],
    ),
    (
        write_strings,
        {"words": WORDS, "form": ONE},
        "tables=states",
        [TABLES],
        [torch.zeros(2, 2, 1, dtype=torch.int64)],
    ),
    (
        write_strings,
        {"words": WORDS, "form": ONE},
        "tables=letters",
        [TABLES],
        [torch.zeros(2, 1, 2, dtype=torch.int64)],
    ),
    (write_strings, {"tables": TABLES, "form": ONE}, "words=word", [WORDS], [torch.zeros(2, 2, dtype=torch.int64)]),
    (pass_means, {"history": torch.ones(7)}, "steps_each", [1, 7], [0, 8]),
    (final_errors, {"curves": torch.ones(3, 2)}, "last", [1], [0]),
    (final_errors, {}, "curves=passes", [torch.ones(1, 2)], [torch.ones(0, 2)]),
    (DecoderSize, DECODER, "vocabulary", [2], [1]),
    (DecoderSize, DECODER, "heads", [1, 2], [-1]),
    (DecoderSize, DECODER, "layers", [1], [0]),
    (DecoderSize, DECODER, "width", [2], [0]),
    (DecoderSize, DECODER, "width=width_over_heads", [2, 4], [1, 3]),
    (DecoderSize, DECODER, "feed_forward", [1], [0]),
    (DecoderSize, DECODER, "rotary", [1.0], [0.9]),
    (Decoders, {"size": DecoderSize(2, 2, 1, 1)}, "seeds=decoders", [[0]], [[]]),
    *[(Training, {}, name, [1], [0]) for name in ("batch", "every", "patience")],
    (Training, {}, "tested", [2], [1]),
    (Training, {}, "rate", [1e-7, 1.0], [0.9e-7, 1.1]),
    *[
        (linear_layers_start, {"width": 2, "layers": 2, "heads": 2, "seeds": [0]}, name, [1], [0])
        for name in ("width", "layers", "heads")
    ],
    (linear_layers_start, {"width": 2, "layers": 2, "heads": 2}, "seeds=models", [[0]], [[]]),
    (transformer_start, {"hidden": 2, "seeds": [0]}, "width", [1], [0]),
    (transformer_start, {"width": 2, "seeds": [0]}, "hidden", [2], [1]),
    (transformer_start, {"width": 2, "hidden": 2}, "seeds=models", [[0]], [[]]),
    (start_heads, {"width": 2, "spread": 1.0, "seed": 0}, "counts", [[1], [1, 2]], [[0], [2, 0], []]),
    (start_heads, {"counts": [2], "width": 2, "seed": 0}, "spread", [1e-12], [0.0, -1.0]),
    (bend_weights, {}, "sizes", [[1, 2, 3]], [[1, 2]]),
    (bend_weights, {}, "sizes=steps_between_sizes", [[0, 1e-9, 3]], [[1, 1, 2], [1, 3, 2]]),
    (
        bend,
        {"sizes": [1, 2, 3]},
        "logarithms=sizes_of_the_logarithms",
        [torch.ones(2, 3)],
        [torch.ones(2, 2), torch.ones(2, 4)],
    ),
    (growth_line, LINE, "sizes=each_size", [[1e-9, 1.0, 2.0]], [[0.0, 1.0, 2.0]]),
    (growth_line, LINE | {"sizes": [1.0, 2.0]}, "logarithms=points", [torch.ones(2, 2)], [torch.ones(1, 2)]),
    (growth_line, LINE, "logarithms=sizes_of_the_logarithms", [torch.ones(1, 3)], [torch.ones(2, 2)]),
    *[(simulated_bends, SIZES, name, [1], [0]) for name in ("runs", "experiments")],
    (simulated_bends, SIZES, "spread", [0.0], [-0.1]),
    *[
        (shuffled_batches, {"sequences": 2, "batch": 2, "steps": 2, "seed": 0}, name, [1], [0])
        for name in ("sequences", "batch", "steps")
    ],
    (batches_of_runs, {"sequences": 2, "batch": 2, "steps": 2}, "seeds=runs", [[0]], [[]]),
    (students_start, {"heads": [1], "seeds": [0]}, "width", [1], [0]),
    (students_start, {"width": 2, "seeds": [0]}, "heads", [[1]], [[0], []]),
    (students_start, {"width": 2, "heads": [1]}, "seeds=runs", [[0]], [[]]),
    (rounding_floor, {}, "heads", [1], [0]),
    (best_settings, {"errors": torch.ones(2, 1, 2)}, "floors", [TINY], [0.0]),
    *[
        (teacher_task, {"width": 2, "sequences": 2, "tokens": 2, "seed": 0}, name, [1], [0])
        for name in ("width", "sequences", "tokens")
    ],
    (teacher_task, {"width": 2, "sequences": 2, "tokens": 2, "seed": 0}, "scale", ["deviation", "variance"], ["unit"]),
    (teacher_tasks, {"width": 2, "sequences": 2, "tokens": 2}, "seeds=runs", [[0]], [[]]),
]


@pytest.mark.parametrize(("call", "given", "argument", "taken", "refused"), CASES)
def test_the_ends_are_taken_and_what_is_beyond_is_refused_by_name(
    call: Callable[..., Any], given: dict[str, Any], argument: str, taken: list[Any], refused: list[Any]
) -> None:
    hold_ends(call, given, argument, taken, refused)


def test_how_decoders_are_trained_and_how_large_they_are_by_default() -> None:
    assert Training() == Training(batch=8, rate=0.002, every=96, tested=256, patience=4000)
    size = DecoderSize(5, 6, 1, 2)
    assert (size.inner, size.rotary) == (16, 10_000.0)  # 8/3 of the width, which is no multiple of 8
    assert DecoderSize(5, 24, 1, 1).inner == 64
    assert size.weights == 2 * 6 * (24 + 48)
