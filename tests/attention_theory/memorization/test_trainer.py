import pytest
import torch

from attention_theory.memorization.synthetic import Setting, sample_data_sets
from attention_theory.memorization.trainer import PanelTrainer, schedule
from attention_theory.validation import ParameterError

SETTINGS = [Setting(3, 4, 20, 5, seed=0), Setting(1, 2, 31, 2, seed=1)]


def trainer(settings: list[Setting], steps: int = 30, shared: bool = True, labels: str = "classes") -> PanelTrainer:
    data = sample_data_sets(settings, 6, shared, labels, classes=5, dtype=torch.float64)  # type: ignore[arg-type]
    return PanelTrainer(settings, data, steps, batch=8, rate=1e-2)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("labels", ["classes", "real"])
def test_each_model_learns_as_if_alone(shared: bool, labels: str) -> None:
    together = trainer(SETTINGS, shared=shared, labels=labels).run()
    for model, setting in enumerate(SETTINGS):
        alone = trainer([setting], shared=shared, labels=labels).run()
        assert torch.allclose(together.loss[model], alone.loss[0], rtol=1e-9)
        assert together.accuracy[model] == alone.accuracy[0]


def test_padding_stays_zero() -> None:
    trained = trainer(SETTINGS)
    trained.run()
    assert (trained.weights["keys"][3, :, 2:] == 0).all()
    assert (trained.weights["queries"][3, :, 2:] == 0).all()


def test_a_run_taken_up_again_is_the_same_run() -> None:
    whole = trainer(SETTINGS).run()
    first = trainer(SETTINGS)
    first.run(until=13)
    second = trainer(SETTINGS)
    second.restore(first.state())
    assert torch.equal(second.run().loss, whole.loss)


def test_training_memorises_a_small_set() -> None:
    setting = Setting(heads=4, tokens=6, examples=12, head_width=8)
    data = sample_data_sets([setting], 8, classes=4)
    score = PanelTrainer([setting], data, 500, batch=12, rate=2e-2).run()
    assert score.accuracy.item() == 1.0


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


@pytest.mark.slow
def test_relabelled_epochs_leave_nothing_to_memorise() -> None:
    """The set that is memorised with its own labels is not with labels that change every epoch."""
    setting = Setting(heads=4, tokens=6, examples=12, head_width=8)
    data = sample_data_sets([setting], 8, classes=4)
    stream = PanelTrainer([setting], data, 500, batch=12, rate=2e-2, relabel=True)
    _, first = stream.next_batch()
    stream.step = 1
    _, second = stream.next_batch()
    assert (first[0].sort().values == torch.arange(12)).all()
    assert not torch.equal(first, second)
    stream.step = 0
    stream.run()
    latest = stream.latest_labels()
    assert torch.equal(latest[0].sort().values, data.labels[0].sort().values)
    assert stream.score(latest).accuracy.item() < 0.8


def test_latest_labels_need_an_epoch() -> None:
    with pytest.raises(ParameterError, match="completed"):
        trainer(SETTINGS).latest_labels()


def test_schedule_warms_up_and_falls() -> None:
    assert schedule(0, 1000) == pytest.approx(0.01)
    assert schedule(50, 1000) == pytest.approx(1.0)
    assert schedule(999, 1000) < 1e-4
