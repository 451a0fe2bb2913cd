from collections.abc import Iterator

import jaxtyping
import pytest


@pytest.fixture
def unchecked_shapes() -> Iterator[None]:
    """Leave out the checks of annotated shapes: a user has none, and a compiler cannot look into them."""
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", before)
