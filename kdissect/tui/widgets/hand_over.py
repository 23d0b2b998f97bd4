"""From a thread back to the screen, which may have closed meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.widget import Widget


def hand_over(widget: Widget, take: Callable[..., object], *values: Any) -> None:
    """Call `take(*values)` in the application's thread, if `widget` is on a screen by then.

    A thread does not end when its screen is left or the application quits. Its later results have no target:
    the widgets below are removed one by one, and `take` would look for them in vain.
    """

    def receive() -> None:
        if is_there(widget):
            take(*values)

    widget.app.call_from_thread(receive)


def is_there(widget: Widget) -> bool:
    """Return whether a widget is on a screen of a running application: timers outlive their widgets, too."""
    return widget.app.is_running and widget.is_attached and widget.screen in widget.app.screen_stack
