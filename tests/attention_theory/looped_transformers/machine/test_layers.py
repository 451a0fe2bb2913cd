import torch

from attention_theory.looped_transformers.machine.layers import Layer, LoopedTransformer
from attention_theory.randomness import normal
from attention_theory.rows import Rows, combine, moves


def as_printed(layer: Layer, columns: torch.Tensor, inverse_temperature: float) -> torch.Tensor:
    """Eqs. (1a) and (1b) on the paper's matrix X, rows by columns, entry by entry where it matters."""
    dense, x = layer.dense, columns
    attended = x.clone()
    for head in dense.heads:
        scores = (head.key @ x).T @ (head.query @ x)
        weights = torch.empty_like(scores)
        for j in range(x.shape[1]):
            exponentials = [torch.exp(inverse_temperature * scores[i, j]) for i in range(x.shape[1])]
            weights[:, j] = torch.stack(exponentials) / sum(exponentials)
        attended = attended + head.value @ x @ weights
    return attended + dense.w2 @ torch.relu(dense.w1 @ attended + dense.b1[:, None]) + dense.b2[:, None]


def example() -> tuple[Rows, Layer]:
    rows = Rows(data=2, copy=2, code=3)
    layer = Layer(rows, "copy")
    layer.head(
        "look", keys=combine(rows["code"]), queries=combine(rows["code"]), values=moves(rows["data"], rows["copy"])
    )
    layer.unit("double", {0: 2.0, 4: -1.0}, {2: 1.0}, bias=0.5)
    layer.clear(rows["data"])
    layer.constant({6: 1.5})
    return rows, layer


def test_a_layer_is_equations_1a_and_1b() -> None:
    rows, layer = example()
    state = normal(4, rows.size, seed=0)
    ours = LoopedTransformer(rows, [layer]).cycle(state, inverse_temperature=0.7)
    torch.testing.assert_close(ours, as_printed(layer, state.T, 0.7).T, rtol=1e-13, atol=1e-13)


def test_an_empty_layer_is_the_identity_bit_for_bit() -> None:
    rows = Rows(data=5)
    layer = Layer(rows, "nothing")
    layer.head("idle", keys=combine(rows["data"]), queries=combine(rows["data"]), values=[])
    state = normal(4, 5, seed=0)
    assert torch.equal(LoopedTransformer(rows, [layer]).cycle(state, 3.0), state)


def test_clearing_is_exact() -> None:
    rows = Rows(data=4)
    layer = Layer(rows, "clear")
    layer.clear(rows["data"])
    state = normal(50, 4, seed=0) * 1e3
    assert LoopedTransformer(rows, [layer]).cycle(state, 1.0).count_nonzero() == 0


def test_hardmax_shares_ties_evenly() -> None:
    rows, layer = example()
    state = torch.zeros(3, rows.size, dtype=torch.float64)
    rows.view(state, "code")[:] = torch.tensor([[1.0, 1, 1], [1, 1, 1], [-1, 1, 1]])
    rows.view(state, "data")[:, 0] = torch.tensor([2.0, 4.0, 8.0])
    attended = layer.dense.attend(state, 1.0, "hardmax")
    assert rows.view(attended, "copy")[:, 0].tolist() == [3.0, 3.0, 8.0]
