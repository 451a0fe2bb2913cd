"""A sweep is nothing but its models, trained as they are trained one by one."""

import pytest

from attention_theory.memorization.sweeps import sweep
from attention_theory.memorization.synthetic import Labels, Setting, sample_data_sets
from attention_theory.memorization.trainer import PanelTrainer

POINTS = [(2, 2, 30), (1, 3, 20)]


@pytest.mark.parametrize(("labels", "shared"), [("classes", True), ("real", False)])
def test_every_entry_is_the_score_of_its_own_model(labels: Labels, shared: bool) -> None:
    found = sweep(POINTS, 4, 2, 40, 8, 1e-2, shared, labels, classes=5)
    assert found.shape == (2, 2)
    for row, (heads, tokens, examples) in enumerate(POINTS):
        for seed in range(2):
            setting = [Setting(heads, tokens, examples, 4, seed)]
            trainer = PanelTrainer(setting, sample_data_sets(setting, 4, shared, labels, 5), 40, 8, 1e-2)
            score = trainer.run()
            alone = score.accuracy if labels == "classes" else score.loss
            assert found[row, seed].item() == pytest.approx(alone.item(), abs=1e-4)


def test_points_of_many_examples_take_the_steps_of_their_epochs() -> None:
    found = sweep([(1, 3, 20), (2, 2, 64), (1, 3, 64, 2)], 4, 1, 40, 8, 1e-2, classes=5, epochs=8, seed=3)
    for row, setting, steps in (
        (0, Setting(1, 3, 20, 4, 3), 40),
        (1, Setting(2, 2, 64, 4, 3), 64),
        (2, Setting(1, 3, 64, 2, 3), 64),
    ):
        alone = PanelTrainer([setting], sample_data_sets([setting], 4, classes=5), steps, 8, 1e-2).run()
        assert found[row].item() == pytest.approx(alone.accuracy.item(), abs=1e-4)
