"""What a run of the generator leaves."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple


class Generated(NamedTuple):
    """A capture and what the generator says is in it."""

    path: Path
    truth: dict[str, Any]


Generate = Callable[..., Generated]
"""The fixture's type: options of the command line in, a capture out."""
