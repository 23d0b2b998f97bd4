"""A tapped JVM as the source of a live capture: the interface `tap:PID`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdissect.capture.live.live_settings import AUTO, LiveError, LiveSettings

if TYPE_CHECKING:
    from kdissect.tap.stream import TapSource


def tapped(settings: LiveSettings) -> TapSource:
    """Tap the JVM that the interface names. Raises LiveError."""
    from kdissect.tap.errors import TapError
    from kdissect.tap.stream import attach, process_of  # nothing that other captures need

    if len(settings.interfaces) > 1:
        raise LiveError("tap:PID is captured alone, without other interfaces")
    if settings.capture_filter:
        raise LiveError("-f filters packets, of which tap:PID has none: -Y filters exchanges")
    if settings.source != AUTO:
        raise LiveError("--source chooses who captures from networks: not for tap:PID")
    try:
        return attach(process_of(settings.interfaces[0]))
    except TapError as error:
        raise LiveError(str(error)) from None
