"""When the garbage collector runs: full collections wait until nobody types.

A full collection holds the interpreter for 5 to 30 ms here (it also frees the trees of the exchanges that
were looked at before), and Python starts one in the middle of whatever allocates: drawing what a key did,
most often.
"""

from __future__ import annotations

import gc
import time
from typing import Any, ClassVar

# A pause in typing of so long is no pause between two keys.
IDLE_S = 2.0
# Collections of the middle generation, at most 7000 new objects each: so many are worth a full one, and with
# so many it does not wait (half a million objects, about 100 MB).
WORTH_IT = 5
MUST = 70
_NEVER = 1 << 30


class Garbage:
    """`start` and `stop` it; `key_pressed` and `look` are called by the application, on its thread."""

    clock: ClassVar[Any] = staticmethod(time.monotonic)

    def __init__(self) -> None:
        self._thresholds = gc.get_threshold()
        self._last_key = -IDLE_S

    def start(self) -> None:
        """What is there now stays: going through it again and again would hold keys up."""
        self._thresholds = gc.get_threshold()
        gc.freeze()
        gc.set_threshold(*self._thresholds[:2], _NEVER)

    def stop(self) -> None:
        """As it was before."""
        gc.set_threshold(*self._thresholds)
        gc.unfreeze()

    def key_pressed(self) -> None:
        """Not now."""
        self._last_key = self.clock()

    def look(self) -> bool:
        """Collect if it is worth it and nobody types; whether it was done."""
        waiting = gc.get_count()[2]
        is_idle = self.clock() - self._last_key >= IDLE_S
        if waiting < (WORTH_IT if is_idle else MUST):
            return False
        gc.collect()
        return True
