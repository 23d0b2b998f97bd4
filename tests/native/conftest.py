"""What the tests of the compiled hot path share."""

from collections.abc import Iterator
from typing import Any

import pytest

from kdissect.model.native import native as compiled
from tests.support.python_side import PythonSide


@pytest.fixture(scope="session")
def native() -> Any:
    """Return the module `kdissect._native`; skips if it is not installed or not wanted."""
    if compiled is None:
        pytest.skip("no compiled hot path (docs/native.md)")
    return compiled


@pytest.fixture(scope="session")
def python_side(native: Any) -> Iterator[PythonSide]:
    """Yield a process that does the same without it."""
    side = PythonSide()
    yield side
    side.close()
