"""The full-size run behind Figure 3: H = 4 with T = 550 and H = 8 with T = 1300, 300,000 steps.

    python benchmarks/memorization_figure_3.py results/memorization/figure_3.json --progress PATH

All models, both sizes with every seed, are trained as one panel: on one core, or with ``--device cuda``. Progress is
written every 3,000 steps; started again with the same progress file, the run goes on from there. The result is one
small JSON file.
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
SIZES = {4: 550, 8: 1300}  # H: T
FIRST_EXAMPLES, BINS = 20, 50


def summary(trainer: PanelTrainer) -> list[dict[str, Any]]:
    """What the figure needs of each model."""
    score, settings = trainer.score(), trainer.settings
    by_model = trainer.attention().cpu().split([setting.heads for setting in settings])
    rows = []
    for model, setting in enumerate(settings):
        attention = by_model[model][:, : setting.examples, : setting.tokens]
        found = saturation(attention)
        rows.append(
            {
                "heads": setting.heads,
                "examples": setting.examples,
                "seed": setting.seed,
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
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    chosen = parser.parse_args()

    torch.set_num_threads(1)
    settings = [Setting(H, TOKENS, T, WIDTH, seed) for H, T in SIZES.items() for seed in range(chosen.seeds)]
    data = sample_data_sets(settings, WIDTH, classes=CLASSES).to(chosen.device)
    trainer = PanelTrainer(settings, data, chosen.steps, BATCH, RATE, start="xavier")
    untrained = summary(trainer)
    curves: list[dict[str, Any]] = []
    seconds = 0.0
    if chosen.progress.exists():
        state = torch.load(chosen.progress, weights_only=True)
        trainer.restore(state["trainer"])
        curves, seconds = state["curves"], state["seconds"]
    kept = ("accuracy", "loss", "entropy", "share_saturated", "share_with_a_free_head")
    while trainer.step < chosen.steps:
        started = time.perf_counter()
        trainer.run(until=trainer.step + max(1, chosen.steps // 100))
        seconds += time.perf_counter() - started
        rows = summary(trainer)
        curves.append({"step": trainer.step} | {name: [row[name] for row in rows] for name in kept})
        partial = chosen.progress.with_suffix(".part")
        torch.save({"trainer": trainer.state(), "curves": curves, "seconds": seconds}, partial)
        partial.replace(chosen.progress)
        print(curves[-1], f"{seconds:.0f} s", flush=True)

    result = {
        "notebook": "memorization/figure_3_saturation",
        "parameters": {
            "heads": list(SIZES),
            "examples": list(SIZES.values()),
            "context": TOKENS,
            "width": WIDTH,
            "classes": CLASSES,
            "batch": BATCH,
            "rate": RATE,
            "start": "xavier",
            "steps": chosen.steps,
            "seeds": chosen.seeds,
        },
        "provenance": {
            "script": "benchmarks/memorization_figure_3.py",
            "seconds": round(seconds),
            "torch": torch.__version__,
            "python": platform.python_version(),
            "device": torch.cuda.get_device_name() if chosen.device == "cuda" else "cpu, 1 thread",
            "dtype": "float32",
        },
        "data": {"untrained": untrained, "trained": summary(trainer), "curves": curves},
    }
    chosen.result.parent.mkdir(parents=True, exist_ok=True)
    chosen.result.write_text(json.dumps(result) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
