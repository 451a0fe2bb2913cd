"""Assumptions 1 and 2 on a trained BERT, layer by layer: the record behind the pages of Table 3 and of positions.

    python benchmarks/memorization_weights.py results/memorization/weights.json

It needs the weights, `make weights`, and takes about forty minutes of one core. The pages show the record where the
weights are not installed.
"""

import json
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from torch import Tensor

from attention_theory.data.library_sources import library_sources
from attention_theory.data.tokenizers import load_tokenizer
from attention_theory.memorization.certified.language_models import certify_independent, certify_queries
from attention_theory.memorization.depths import (
    AtDepth,
    cut_positions,
    examine_depths,
    kinds_of_positions,
    predicted_rank,
)
from attention_theory.memorization.kruskal import largest_satisfied
from attention_theory.memorization.language import PretrainedModel, random_language_model, sample_texts
from attention_theory.memorization.published import installed_checkpoint, load_language_model

Encoding = Callable[[str], list[int]]
DRAWS, FEW = 200, 20  # random orders in float32, in float64
SINGLE, DOUBLE = torch.float32, torch.float64
ALL = ("trained", "random", "none")
UNTRAINED = "trained nowhere"  # all weights random
# tokens, kinds of positions, precision, layers, texts, contexts; if 600 contexts pass, the 99 % interval is above 0.99
RUNS = [
    (64, (*ALL, "sinusoidal", UNTRAINED), SINGLE, 6, 600, 600),
    (128, ALL, SINGLE, 6, 400, 100),
    (64, ALL, DOUBLE, 6, 400, 100),
    (64, ("sinusoidal", UNTRAINED), DOUBLE, 1, 400, 100),
    (32, ("trained",), SINGLE, 6, 400, 100),
    (192, ("trained",), SINGLE, 6, 400, 40),
    (512, ("trained",), SINGLE, 1, 400, 0),
]
CUTS, CUT_TEXTS = (1, 8, 16, 32, 48, 64), 60
# certificates in ball arithmetic: of all tokens after each layer, and of the queries of longer texts after one layer
CERTIFIED_TOKENS, CERTIFIED_TEXTS, LONG = 16, 20, 128


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    path, begun = parser.parse_args().path, time.process_time()
    folder = installed_checkpoint()
    if folder is None:
        raise SystemExit("the weights are not installed: make weights")
    model, source = load_language_model(folder), "\n".join(library_sources(leave_out=["encodings"]))
    encode = load_tokenizer(folder)
    certificates = certified(model, source, encode)
    rows: list[dict[str, object]] = []
    for row in measure(model, source, encode):
        rows.append(row)
        note = {"torch": torch.__version__, "device": "CPU", "cpu_seconds": round(time.process_time() - begun)}
        content = {"parameters": {"draws": DRAWS, "float64 draws": FEW}, "provenance": note}
        path.write_text(
            json.dumps({**content, "certificates": certificates, "data": rows}, indent=None).replace("}, {", "},\n {")
            + "\n"
        )
        print(note["cpu_seconds"], {key: row[key] for key in ("tokens", "positions", "precision")}, flush=True)


def certified(model: PretrainedModel, source: str, encode: Encoding) -> list[dict[str, object]]:
    """Certificates for trained and random positions after each layer, and for long texts after one."""
    models = kinds_of_positions(model, 3)
    rows: list[dict[str, object]] = []
    texts = texts_of(source, encode, CERTIFIED_TOKENS, CERTIFIED_TEXTS)
    for kind in ("trained", "random"):
        for depth, certificate in certify_independent(models[kind], texts, range(1, 7)).items():
            rows.append({"positions": kind, "depth": depth, "texts": CERTIFIED_TEXTS, "tokens": CERTIFIED_TOKENS})
            rows[-1] |= {"certificate": certificate.to_json()}
    texts = texts_of(source, encode, LONG, LONG)
    seen = examine_depths(model, texts, SINGLE, DRAWS, 0, 1, 1)[1]
    answer = certify_queries(model, texts, 1)
    rows.append({"positions": "trained", "depth": 1, "texts": LONG, "tokens": LONG, "outcome": answer.outcome})
    rows[-1] |= {"question": answer.question, "by the rule of float32, at most": int(seen.prefixes.max())}
    return rows


def texts_of(source: str, encode: Encoding, tokens: int, count: int) -> Tensor:
    """Texts of the record, in BERT's tokens."""
    return sample_texts(source, "bert", count, tokens, encode, tokens, (101, 102))


def measure(model: PretrainedModel, source: str, encode: Encoding) -> Iterator[dict[str, object]]:
    """The rows of the record, one for each run."""

    models = kinds_of_positions(model, 3)
    models[UNTRAINED] = random_language_model("bert", len(model.words), 512, 384, 12, 5, 6)
    for tokens, kinds, dtype, depth, count, contexts in RUNS:
        texts = texts_of(source, encode, tokens, count)
        for kind in kinds:
            draws = DRAWS if dtype is SINGLE else FEW
            yield row_of(tokens, kind, dtype, examine_depths(models[kind], texts, dtype, draws, contexts, depth, 1))
    texts = texts_of(source, encode, 64, CUT_TEXTS)
    for rank in CUTS:
        for dtype in (SINGLE, DOUBLE):
            found = examine_depths(cut_positions(model, 64, rank), texts, dtype, 1, CUT_TEXTS, seed=1)
            yield row_of(64, f"trained, cut to rank {rank}", dtype, found)


def row_of(tokens: int, kind: str, dtype: torch.dtype, found: list[AtDepth]) -> dict[str, object]:
    """One run, at all depths."""
    return {
        "tokens": tokens,
        "positions": kind,
        "precision": str(dtype).removeprefix("torch."),
        "contexts": len(found[0].contexts),
        "contexts of full rank": [int(at.contexts.sum()) for at in found],
        "smallest ratio": [float(f"{at.ratio:.3g}") for at in found],
        "prefixes": [at.prefixes.sort().values.tolist() for at in found],
        "at 99 %": [largest_satisfied(at.prefixes) for at in found],
        "predicted": [predicted_rank(at.spectrum, dtype) for at in found],
        "repeats": [at.repeats for at in found],
    }


if __name__ == "__main__":
    main()
