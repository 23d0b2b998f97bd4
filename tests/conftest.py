"""Fixtures that every layer's tests share."""

import os
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def reference() -> Path:
    """The reference material beside the checkout, or where `KDISSECT_REFERENCE` says; skips without it."""
    path = Path(os.environ.get("KDISSECT_REFERENCE", CHECKOUT.parent / "shared"))
    if not (path / "protocol" / "messages").is_dir():
        pytest.skip("no reference material: set KDISSECT_REFERENCE to a folder that holds protocol/messages")
    return path
