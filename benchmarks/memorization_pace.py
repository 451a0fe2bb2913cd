"""How fast this machine trains the printed panels of Figures 2 to 5, and what the whole grid costs at that pace.

    python benchmarks/memorization_pace.py results/memorization/pace_cpu.json
    python benchmarks/memorization_pace.py results/memorization/pace_gpu.json --device cuda --seeds 3

Each panel is trained as one program at its printed sizes, all its values of H, n or d_h side by side, for a few steps
after a warm-up: seconds of the core on a CPU, of the clock on a GPU. A step costs the same for any number of examples,
so every model draws from 512. The result is one small JSON file, which the page on the synthetic task shows.
"""

import argparse
import json
import platform
import time
from dataclasses import replace
from pathlib import Path

import torch

from attention_theory.memorization.printed_grid import BATCH, CLASSES, RATE, WIDTH, PrintedPanel, printed_panels
from attention_theory.memorization.synthetic import sample_data_sets
from attention_theory.memorization.trainer import PanelTrainer

EXAMPLES, WARM_UP = 512, 3


def model_steps_a_second(panel: PrintedPanel, device: str, seeds: int, steps: int) -> float:
    """The pace of a panel: models times steps over seconds."""
    shapes = dict.fromkeys(replace(setting, examples=EXAMPLES) for setting in panel.settings)
    settings = [replace(setting, seed=seed) for setting in shapes for seed in range(seeds)]
    data = sample_data_sets(settings, WIDTH, panel.shared, panel.labels, CLASSES).to(device)
    trainer = PanelTrainer(settings, data, WARM_UP + steps, BATCH, RATE)
    clock = time.process_time if device == "cpu" else time.perf_counter
    trainer.run(until=WARM_UP)
    start = clock()
    trainer.run()  # the score at its end waits for the device
    return len(settings) * steps / (clock() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("result", type=Path)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--seeds", type=int, default=1, help="models of each shape side by side")
    parser.add_argument("--steps", type=int, default=0, help="timed steps of each panel; 5 on a CPU, 300 on a GPU")
    chosen = parser.parse_args()
    steps = chosen.steps or (5 if chosen.device == "cpu" else 300)
    torch.set_num_threads(1)
    panels = []
    for panel in printed_panels():
        pace = model_steps_a_second(panel, chosen.device, chosen.seeds, steps)
        panels.append({"panel": panel.name, "model_steps_a_second": pace})
        print(f"{panel.name:28} {pace:10.1f} model-steps a second  {panel.model_steps / pace / 3600:7.1f} h a seed")
    on_gpu = chosen.device == "cuda"
    result = {
        "device": torch.cuda.get_device_name() if on_gpu else f"CPU ({platform.machine()}), one core",
        "models_side_by_side": chosen.seeds,
        "steps_timed": steps,
        "torch": torch.__version__.partition("+")[0],
        "panels": panels,
    }
    chosen.result.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
