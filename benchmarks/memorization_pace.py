"""How fast this machine trains the printed panels of Figures 2 to 5, and what the whole grid costs at that pace.

    python benchmarks/memorization_pace.py results/memorization/pace_cpu.json
    python benchmarks/memorization_pace.py results/memorization/pace_gpu.json --device cuda --seeds 3

Each panel is trained as one program at its printed sizes, all its values of H, n or d_h side by side, for a few steps
after a warm-up: seconds of the core on a CPU, of the clock on a GPU. A step costs the same for any number of examples,
so every model draws from 512. The result is one small JSON file, which the page on the synthetic task shows.

The file is written after every panel. Started again, the program measures the panels that are missing in it; with
``--hours`` it begins none after that time. It needs torch, numpy and jaxtyping, and where the package is not installed
the folder ``src`` in ``PYTHONPATH``.
"""

import argparse
import json
import platform
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

try:
    import torch

    from attention_theory.memorization.printed_grid import BATCH, CLASSES, RATE, WIDTH, PrintedPanel, printed_panels
    from attention_theory.memorization.synthetic import sample_data_sets
    from attention_theory.memorization.trainer import PanelTrainer
except ModuleNotFoundError as missing:
    sys.exit(f"{missing.name} is missing here: torch, numpy and jaxtyping are needed, and src in PYTHONPATH")

EXAMPLES, WARM_UP = 512, 3


def model_steps_a_second(panel: PrintedPanel, device: str, seeds: int, steps: int) -> float:
    """The pace of a panel: models times steps over seconds."""
    shapes = dict.fromkeys(replace(setting, examples=EXAMPLES) for setting in panel.settings)
    settings = [replace(setting, seed=seed) for setting in shapes for seed in range(seeds)]
    data = sample_data_sets(settings, WIDTH, panel.shared, panel.labels, CLASSES).to(device)
    trainer = PanelTrainer(settings, data, WARM_UP + steps, BATCH, RATE)
    trainer.run(until=WARM_UP)
    start = seconds(device)
    trainer.run()
    return len(settings) * steps / (seconds(device) - start)


def seconds(device: str) -> float:
    """Of the core on a CPU; of the clock on a GPU, once it has done what it was given."""
    if device == "cpu":
        return time.process_time()
    torch.cuda.synchronize()
    return time.perf_counter()


def measured_before(result: Path | None, machine: dict[str, Any]) -> list[dict[str, Any]]:
    """The panels that an earlier start of the same measurement has left; another measurement is not written over."""
    if result is None or not result.is_file():
        return []
    found = json.loads(result.read_text(encoding="utf-8"))
    panels: list[dict[str, Any]] = found.pop("panels")
    if found != machine:
        sys.exit(f"{result} was measured otherwise ({found}, here {machine}): remove it to measure again")
    return panels


def keep(result: Path, content: dict[str, Any]) -> None:
    """Write aside and rename, so that the file is whole whenever it is there."""
    aside = result.with_suffix(".new")
    aside.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    aside.replace(result)


def machine_here(device: str, seeds: int, steps: int) -> dict[str, Any]:
    on_gpu = device == "cuda"
    return {
        "device": torch.cuda.get_device_name() if on_gpu else f"CPU ({platform.machine()}), one core",
        "models_side_by_side": seeds,
        "steps_timed": steps,
        "torch": torch.__version__.partition("+")[0],
        "float32_products": torch.get_float32_matmul_precision(),  # "highest": no TF32
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("result", type=Path, nargs="?", help="the file to keep; without one the paces are printed only")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--seeds", type=int, default=1, help="models of each shape side by side")
    parser.add_argument("--steps", type=int, default=0, help="timed steps of each panel; 5 on a CPU, 300 on a GPU")
    parser.add_argument("--hours", type=float, default=float("inf"), help="begin no panel after so many hours")
    chosen = parser.parse_args()
    begun = time.monotonic()
    if chosen.device == "cuda" and not torch.cuda.is_available():
        sys.exit("torch finds no accelerator here: --device cpu measures a core")
    torch.set_num_threads(1)
    machine = machine_here(chosen.device, chosen.seeds, chosen.steps or (5 if chosen.device == "cpu" else 300))
    panels = measured_before(chosen.result, machine)
    known = {one["panel"]: one["model_steps_a_second"] for one in panels}
    for panel in printed_panels():
        if panel.name not in known:
            if time.monotonic() - begun > 3600 * chosen.hours:
                sys.exit(f"the time is over before {panel.name}; started again, it goes on from there")
            known[panel.name] = model_steps_a_second(panel, chosen.device, chosen.seeds, machine["steps_timed"])
            panels.append({"panel": panel.name, "model_steps_a_second": known[panel.name]})
            if chosen.result:
                keep(chosen.result, machine | {"panels": panels})
        hours = panel.model_steps / known[panel.name] / 3600
        print(f"{panel.name:28} {known[panel.name]:10.1f} model-steps a second  {hours:7.1f} h a seed", flush=True)


if __name__ == "__main__":
    main()
