"""The size of a machine: layers, heads, rows, hidden units, parameters and how many of them are not zero."""

from dataclasses import dataclass

from attention_theory.looped_transformers.machine.layers import DenseLayer, LoopedTransformer


@dataclass(frozen=True)
class _LayerSize:
    """The size of one layer: parameters are all entries of its dense matrices, non-zeros those that are not 0."""

    name: str
    heads: int
    hidden: int
    parameters: int
    nonzeros: int


@dataclass(frozen=True)
class _Summary:
    """The size of a machine. ``width`` is the number of rows, ``heads`` the most that one layer has."""

    layers: int
    heads: int
    width: int
    hidden: int
    parameters: int
    nonzeros: int
    by_layer: list[_LayerSize]

    def table(self) -> tuple[list[str], list[list[str | int]]]:
        """Column names and rows, one row a layer and one for the whole."""
        columns = ["layer", "what it does", "heads", "hidden units", "parameters", "non-zero"]
        rows: list[list[str | int]] = [
            [place, one.name, one.heads, one.hidden, one.parameters, one.nonzeros]
            for place, one in enumerate(self.by_layer, start=1)
        ]
        return columns, [*rows, ["all", f"{self.width} rows", self.heads, self.hidden, self.parameters, self.nonzeros]]


def summarise(machine: LoopedTransformer) -> _Summary:
    """Count a machine's parts: heads and hidden units as the widest layer has them, parameters in total."""
    sizes = [
        _LayerSize(layer.name, len(dense.heads), len(dense.b1), *_count(dense))
        for layer, dense in zip(machine.layers, machine.dense, strict=True)
    ]
    return _Summary(
        layers=len(sizes),
        heads=max(size.heads for size in sizes),
        width=machine.rows.size,
        hidden=max(size.hidden for size in sizes),
        parameters=sum(size.parameters for size in sizes),
        nonzeros=sum(size.nonzeros for size in sizes),
        by_layer=sizes,
    )


def _count(layer: DenseLayer) -> tuple[int, int]:
    matrices = [layer.w1, layer.b1, layer.w2, layer.b2]
    matrices += [matrix for head in layer.heads for matrix in (head.key, head.query, head.value)]
    return sum(matrix.numel() for matrix in matrices), sum(int(matrix.count_nonzero()) for matrix in matrices)
