"""Fixtures that every layer's tests share."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parent.parent


def _raise(error: Exception) -> None:
    raise error


@pytest.fixture(scope="module", autouse=True)
def faults_fail_the_test(request: pytest.FixtureRequest) -> Iterator[None]:
    """What the command line would bound and tell, a fault of kdissect's own, comes out of `main`.

    But in modules that say `FAULTS_ARE_TOLD`.
    """
    with pytest.MonkeyPatch.context() as patch:
        if not getattr(request.module, "FAULTS_ARE_TOLD", False):
            patch.setattr("kdissect.cli.listener_of", lambda _arguments: _raise)
        yield


@pytest.fixture(scope="session")
def reference() -> Path:
    """The reference material beside the checkout, or where `KDISSECT_REFERENCE` says; skips without it."""
    path = Path(os.environ.get("KDISSECT_REFERENCE", CHECKOUT.parent / "shared"))
    if not (path / "protocol" / "messages").is_dir():
        pytest.skip("no reference material: set KDISSECT_REFERENCE to a folder that holds protocol/messages")
    return path
