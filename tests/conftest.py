import pytest
from hypothesis import Phase, settings

# A machine under load is no fault of the code: no test is timed.
settings.register_profile("untimed", deadline=None)
# Where one failure is enough, as for mutants, the least example is not looked for.
settings.register_profile("first-failure", deadline=None, database=None, phases=[Phase.explicit, Phase.generate])
settings.load_profile("untimed")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The tests in the browser are the longest; begun first, they do not keep the last core waiting."""
    items.sort(key=lambda item: "site" not in item.path.parts)
