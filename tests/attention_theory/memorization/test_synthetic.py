from attention_theory.memorization.synthetic import Setting, sample_data_sets


def test_ranges_and_shapes() -> None:
    settings = [Setting(1, 3, 500, 2, seed=0)]
    shared, each = sample_data_sets(settings, 4, classes=7), sample_data_sets(settings, 4, shared=False, labels="real")
    assert shared.contexts.shape == (1, 3, 4)
    assert each.contexts.shape == (1, 500, 3, 4)
    assert shared.labels.unique().tolist() == list(range(7))
    assert each.labels.is_floating_point()
    assert each.classes == 1
    assert 0 <= each.contexts.min() < 0.01
    assert 0.99 < each.contexts.max() <= 1
