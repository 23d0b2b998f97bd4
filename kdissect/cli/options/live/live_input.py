"""A live capture as the input of a command: its start, its end by signal, and the reports about it."""

import atexit
import os
import signal
import threading
import time
from argparse import Namespace
from collections.abc import Callable
from types import FrameType

from kdissect.capture.files import Captures, open_captures
from kdissect.capture.live.bindings import check_filter
from kdissect.capture.live.captures import LiveCaptures, open_live
from kdissect.capture.live.lag import Behind
from kdissect.capture.live.live_settings import BadOptionsError, LiveError, MissingError
from kdissect.cli.diagnostics import ENDING_SIGNALS, OK, UNREADABLE, USAGE, say
from kdissect.cli.options.live.live_options import settings_of
from kdissect.model.wording import plural

# A lag is reported once a person would notice it, and then no more often than this.
_LAG_REPORTED_S = 2.0
_LAG_EVERY_S = 5.0
_NICE = 10


def start_capture(options: Namespace) -> LiveCaptures:
    """Start what the options ask for. Leaves with exit code 2 or 3, and one line, where it cannot be."""
    try:
        settings = settings_of(None, options)
        if settings.capture_filter:
            check_expression(settings.capture_filter)
        captures = open_live(settings)
    except (ValueError, BadOptionsError) as error:
        say(str(error))
        raise SystemExit(USAGE) from None
    except (LiveError, OSError) as error:
        say(str(error))
        raise SystemExit(UNREADABLE) from None
    atexit.register(captures.close)
    give_way()
    end_by_signals(captures.stop)
    watch_lag(captures.behind)
    _say_what_is_captured(captures)
    return captures


def report_capture(captures: Captures) -> int:
    """Close it, report its result and return the exit code."""
    if not isinstance(captures, LiveCaptures):
        return OK
    captures.close()
    if captures.trouble:
        say(captures.trouble)
    for line in _summary(captures):
        say(line)
    return UNREADABLE if captures.trouble else OK


def give_way(by: int = _NICE) -> None:
    """Analysis has time, and packets are lost in milliseconds: whoever records them goes first."""
    if hasattr(os, "nice"):
        os.nice(by)


def check_expression(expression: str) -> None:
    """Compile a capture filter. Raises BadOptionsError."""
    try:
        check_filter(expression)
    except MissingError:  # then dumpcap or tcpdump will say it
        return


def end_by_signals(stop: Callable[[], object]) -> None:
    """Call `stop` on the first signal, which ends the capture. A second signal ends the command as well."""

    def end(_number: int, _frame: FrameType | None) -> None:
        for name in ENDING_SIGNALS:
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), signal.default_int_handler)
        stop()

    for name in ENDING_SIGNALS:
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), end)


def watch_lag(measure: Callable[[], Behind]) -> None:
    """Report on stderr that the analysis lags, from a thread."""

    def watch() -> None:
        reported_at = 0.0
        while True:
            time.sleep(0.5)
            behind = measure()
            now = time.monotonic()
            if behind.seconds >= _LAG_REPORTED_S and now - reported_at >= _LAG_EVERY_S:
                reported_at = now
                say(f"analysis is {behind.seconds:.1f} s ({_size(behind.bytes)}) behind the capture")

    threading.Thread(target=watch, name="kdissect-lag", daemon=True).start()


def _say_what_is_captured(captures: LiveCaptures) -> None:
    settings = captures.settings
    where = ", ".join(settings.interfaces) or "standard input"
    how = f" with {captures.source_name}" if settings.interfaces else ""
    what = f", filter {settings.capture_filter}" if settings.capture_filter else ""
    say(f"capturing on {where}{how}{what}; Ctrl-C ends")


def _summary(captures: LiveCaptures) -> list[str]:
    captures.behind()
    packets, size, drops = _totals(captures)
    lines = [f"{plural(packets, 'packet')} captured ({_size(size)}), {drops} dropped"]
    most = captures.lag.most
    if most.seconds >= _LAG_REPORTED_S:
        lines[0] += f"; analysis was at most {most.seconds:.1f} s behind"
    written = captures.written
    if written:
        more = f" and {len(written) - 1} more" if len(written) > 1 else ""
        lines[0] += f"; written to {written[0]}{more}"
    if drops:
        lines.append("packets that the kernel drops are fewer with a larger --buffer-size or a narrower -f")
    if captures.unanalysed:
        lines.append(
            f"warning: {_size(captures.unanalysed)} were removed with old files before they were analysed: "
            "--keep more, or larger files"
        )
    return lines


def _totals(captures: LiveCaptures) -> tuple[int, int, int]:
    """Return packets, bytes and drops, of the whole file if the analysis ended before it."""
    files = captures.files
    if captures.written and not captures.is_drained:
        again = open_captures(captures.written)
        for _ in again.batches():
            pass
        files = again.files
    packets = max(captures.captured, sum(file.packets for file in files))
    drops = max(captures.drops, sum(file.drops for file in files))
    return packets, sum(file.captured_bytes for file in files), drops


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 100_000 else plural(count, "byte")
