import pytest
import torch

from attention_theory.memorization.synthetic import Setting, sample_data_sets
from attention_theory.memorization.trainer import PanelTrainer, schedule

SETTINGS = [Setting(3, 4, 20, 5, seed=0), Setting(1, 2, 31, 2, seed=1)]


def trainer(settings: list[Setting], steps: int = 30, shared: bool = True, labels: str = "classes") -> PanelTrainer:
    data = sample_data_sets(settings, 6, shared, labels, classes=5, dtype=torch.float64)  # type: ignore[arg-type]
    return PanelTrainer(settings, data, steps, batch=8, lr=1e-2)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("labels", ["classes", "real"])
def test_each_model_learns_as_if_alone(shared: bool, labels: str) -> None:
    together = trainer(SETTINGS, shared=shared, labels=labels).run()
    for model, setting in enumerate(SETTINGS):
        alone = trainer([setting], shared=shared, labels=labels).run()
        assert torch.allclose(together.loss[model], alone.loss[0], rtol=1e-9)
        assert together.accuracy[model] == alone.accuracy[0]


def test_a_run_taken_up_again_is_the_same_run() -> None:
    whole = trainer(SETTINGS).run()
    first = trainer(SETTINGS)
    first.run(until=13)
    second = trainer(SETTINGS)
    second.restore(first.state())
    assert torch.equal(second.run().loss, whole.loss)


def test_every_epoch_shows_every_example_once() -> None:
    stream = trainer(SETTINGS)
    seen = []
    for step in range(10):
        stream.step = step
        examples, bearers = stream.next_batch()
        assert torch.equal(examples, bearers)
        seen.append(examples[0])
    first_epochs = torch.cat(seen).view(4, 20)
    assert (first_epochs.sort(dim=1).values == torch.arange(20)).all()
    assert not torch.equal(first_epochs[0], first_epochs[1])


def test_schedule_warms_up_and_falls() -> None:
    assert schedule(0, 1000) == pytest.approx(0.01)
    assert schedule(50, 1000) == pytest.approx(1.0)
    assert schedule(999, 1000) < 1e-4
