"""What is put over a frame so that others may see it."""

from collections.abc import Sequence
from typing import NamedTuple

from kdissect.engine.secrets.patches import Patch
from kdissect.excerpt.edit import Edit


class Redaction(NamedTuple):
    """`blanks` are spans of the content to be filled, `patches` bytes put over it after that; `edits` change
    its length, and count with the size prefix. `note` says so, for people.
    """

    blanks: Sequence[tuple[int, int]] = ()
    patches: Sequence[Patch] = ()
    edits: Sequence[Edit] = ()
    note: str = ""


NOTHING = Redaction()
