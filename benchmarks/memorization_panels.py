"""The printed panels of Figures 2, 4 and 5 at their printed sizes: what every model of a panel memorises.

    python benchmarks/memorization_panels.py results/memorization/panels --device cuda "Figure 2(b), context"

All models of a panel that take equally many steps are trained as one program, with six seeds at every point. A panel
becomes one small JSON file in the folder; a panel whose file is there is left alone. Without a name all are made, the
quickest first. It needs torch, numpy and jaxtyping, and where the package is not installed the folder ``src`` in
``PYTHONPATH``.
"""

import argparse
import json
import re
import sys
import time
from pathlib import Path
from typing import Any

import torch

from attention_theory.memorization.printed_grid import BATCH, CLASSES, RATE, SEEDS, WIDTH, PrintedPanel, printed_panels
from attention_theory.memorization.sweeps import Point, sweep


def file_of(panel: PrintedPanel) -> str:
    """The name of a panel's file: ``figure_2b_context.json``."""
    return re.sub(r"[^a-z0-9]+", "_", re.sub(r"[()]", "", panel.name.lower())) + ".json"


def trained(panel: PrintedPanel, seeds: int, device: str) -> dict[str, Any]:
    """The memorised fraction, or the loss, of every model of a panel, and how it was made."""
    points: list[Point] = [(one.heads, one.tokens, one.examples, one.head_width) for one in panel.settings]
    steps, epochs = (300_000, 0) if panel.long else (50_000, 500)
    begun = time.perf_counter()
    found = sweep(
        points,
        WIDTH,
        seeds,
        steps,
        BATCH,
        RATE,
        shared=panel.shared,
        labels=panel.labels,
        classes=CLASSES,
        device=device,
        epochs=epochs,
        start="xavier",
    )
    value = "memorised" if panel.labels == "classes" else "loss"
    rows = zip(points, found.tolist(), strict=True)
    return {
        "panel": panel.name,
        "device": torch.cuda.get_device_name() if device == "cuda" else "CPU",
        "torch": torch.__version__.partition("+")[0],
        "seconds": round(time.perf_counter() - begun),
        "columns": ["heads", "tokens", "examples", "head_width", f"{value}, seed by seed"],
        "rows": [[*point, [float(f"{one:.6g}") for one in values]] for point, values in rows],
    }


def keep(content: dict[str, Any], target: Path) -> None:
    """Write a row a line, aside, and rename, so that the file is whole whenever it is there."""
    rows = ",\n  ".join(json.dumps(row) for row in content.pop("rows"))
    head = json.dumps(content, indent=1).removesuffix("\n}")
    aside = target.with_suffix(".new")
    aside.write_text(f'{head},\n "rows": [\n  {rows}\n ]\n}}\n', encoding="utf-8")
    aside.replace(target)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path, help="where the files are kept")
    parser.add_argument("panels", nargs="*", help="names of panels, as the files have them; all unless given")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="models at each point")
    parser.add_argument("--hours", type=float, default=float("inf"), help="begin no panel after so many hours")
    chosen = parser.parse_intermixed_args()
    begun = time.monotonic()
    # Figure 3 looks inside its models: benchmarks/memorization_figure_3.py trains it.
    known = {panel.name: panel for panel in printed_panels() if panel.name != "Figure 3"}
    if unknown := set(chosen.panels) - set(known):
        parser.error(f"no panel is called {sorted(unknown)}; there are {list(known)}")
    if chosen.device == "cuda" and not torch.cuda.is_available():
        sys.exit("torch finds no accelerator here: --device cpu takes a core")
    chosen.folder.mkdir(parents=True, exist_ok=True)
    for panel in sorted(
        (known[name] for name in chosen.panels or known), key=lambda one: (not one.shared, one.steps_in_all)
    ):
        target = chosen.folder / file_of(panel)
        if target.exists():
            print(f"{panel.name}: there already", flush=True)
        elif time.monotonic() - begun > 3600 * chosen.hours:
            sys.exit(f"the time is over before {panel.name}; started again, it goes on from there")
        else:
            content = trained(panel, chosen.seeds, chosen.device)
            keep(dict(content), target)
            print(f"{panel.name}: {content['seconds']} s", flush=True)


if __name__ == "__main__":
    main()
