"""The full-size run behind Figure 3: H = 4 with T = 550 and H = 8 with T = 1300, 300,000 steps.

    python benchmarks/memorization_figure_3.py results/memorization/figure_3.json --progress PATH

Both models are trained as one panel on one core. Progress is written every 3,000 steps; started again with the same
progress file, the run goes on from there. The result is one small JSON file.
"""

import argparse
import json
import platform
import time
from pathlib import Path
from typing import Any

import torch

from attention_theory.memorization.saturation import saturation
from attention_theory.memorization.synthetic import Setting, sample_data_sets
from attention_theory.memorization.trainer import PanelTrainer

WIDTH, TOKENS, CLASSES, BATCH, RATE = 64, 32, 100, 256, 1e-3
SETTINGS = [Setting(4, TOKENS, 550, WIDTH, seed=0), Setting(8, TOKENS, 1300, WIDTH, seed=0)]
FIRST_EXAMPLES, BINS = 20, 50


def heads_of(model: int) -> slice:
    first = sum(setting.heads for setting in SETTINGS[:model])
    return slice(first, first + SETTINGS[model].heads)


def summary(trainer: PanelTrainer) -> list[dict[str, Any]]:
    """What the figure needs of each model."""
    score, weights = trainer.score(), trainer.attention()
    rows = []
    for model, setting in enumerate(SETTINGS):
        attention = weights[heads_of(model), : setting.examples, : setting.tokens]
        found = saturation(attention)
        rows.append(
            {
                "heads": setting.heads,
                "examples": setting.examples,
                "accuracy": score.accuracy[model].item(),
                "loss": score.loss[model].item(),
                "entropy": torch.special.entr(attention).sum(dim=-1).mean().item(),
                "share_saturated": found.share,
                "share_with_a_free_head": found.share_with_a_free_head,
                "first_examples_saturated": found.saturated[:, :FIRST_EXAMPLES].int().tolist(),
                "examples_by_saturated_heads": found.heads_per_example.bincount(minlength=setting.heads + 1).tolist(),
                "pairs_by_largest_weight": torch.histc(found.largest, BINS, 0, 1).int().tolist(),
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("result", type=Path)
    parser.add_argument("--progress", type=Path, required=True, help="file that the run can be taken up from")
    parser.add_argument("--steps", type=int, default=300_000)
    chosen = parser.parse_args()

    torch.set_num_threads(1)
    trainer = PanelTrainer(SETTINGS, sample_data_sets(SETTINGS, WIDTH, classes=CLASSES), chosen.steps, BATCH, RATE)
    untrained = summary(trainer)
    curves: list[dict[str, Any]] = []
    seconds = 0.0
    if chosen.progress.exists():
        state = torch.load(chosen.progress, weights_only=True)
        trainer.restore(state["trainer"])
        curves, seconds = state["curves"], state["seconds"]
    kept = ("accuracy", "loss", "entropy", "share_saturated", "share_with_a_free_head")
    while trainer.step < chosen.steps:
        started = time.process_time()
        trainer.run(until=trainer.step + max(1, chosen.steps // 100))
        seconds += time.process_time() - started
        rows = summary(trainer)
        curves.append({"step": trainer.step} | {name: [row[name] for row in rows] for name in kept})
        partial = chosen.progress.with_suffix(".part")
        torch.save({"trainer": trainer.state(), "curves": curves, "seconds": seconds}, partial)
        partial.replace(chosen.progress)
        print(curves[-1], f"{seconds:.0f} s", flush=True)

    result = {
        "notebook": "memorization/figure_3_saturation",
        "parameters": {
            "heads": [setting.heads for setting in SETTINGS],
            "examples": [setting.examples for setting in SETTINGS],
            "context": TOKENS,
            "width": WIDTH,
            "classes": CLASSES,
            "batch": BATCH,
            "rate": RATE,
            "steps": chosen.steps,
            "seed": 0,
        },
        "provenance": {
            "script": "benchmarks/memorization_figure_3.py",
            "cpu_seconds": round(seconds),
            "torch": torch.__version__,
            "python": platform.python_version(),
            "device": "cpu, 1 thread",
            "dtype": "float32",
        },
        "data": {"untrained": untrained, "trained": summary(trainer), "curves": curves},
    }
    chosen.result.parent.mkdir(parents=True, exist_ok=True)
    chosen.result.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
