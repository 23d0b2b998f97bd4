"""Reports of a command on stderr at its end: faults of its inputs, and parts that it could not read.

Every command that reads captures ends with `report`, several processes with one `say_states`.
"""

from argparse import Namespace
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

from kdissect.api import Dissection
from kdissect.capture.capture_file import CaptureFile
from kdissect.cli.diagnostics import OK, UNREADABLE, say
from kdissect.cli.options.input_options import is_live, wants_live, was_read
from kdissect.cli.options.wanted_names import WantedState, joined_names, missing_lines
from kdissect.engine.times import SECOND_NS, second_text
from kdissect.engine.unread import Unread, joined
from kdissect.model.anomaly import AnomalyKind
from kdissect.model.native import wish_for
from kdissect.model.wording import plural

if TYPE_CHECKING:
    from kdissect.engine.log_lines import Joined

# The Python engine lists the exchanges of a smaller input within a few seconds. A progress line begins here,
# too.
LARGE_BYTES = 32 << 20


class FileState(NamedTuple):
    """One input: its error, where its bytes end too early, and warnings.

    `forwarded` is None unless it is a request log: requests that are left out.
    """

    error: str | None
    cut: str | None
    warnings: tuple[str, ...]
    forwarded: int | None = None


class InputStates(NamedTuple):
    """Faults of the inputs read so far: `files`, after them faults that belong to no input, and the numbers
    of dropped names of topic ids and dropped TLS sessions. `was_read` says whether any could be opened,
    `is_over` whether they were read to their ends. `unread` could not be looked into, `wanted` are names that
    options ask for. `bytes_read` of all inputs. `unused_hosts` is the number of addresses in `--hosts` if
    none of them occurs; None if one does, or without `--hosts`. `joined` counts exchanges of packets with and
    without a line in a request log; None without both.
    """

    files: tuple[FileState, ...]
    names_dropped: int
    sessions_dropped: int
    was_read: bool
    is_over: bool
    unread: Unread
    wanted: tuple[WantedState, ...]
    bytes_read: int
    unused_hosts: int | None
    joined: "Joined | None" = None


def report(dissection: Dissection, options: Namespace) -> int:
    """Report on stderr the faults of the inputs and their unread parts, and return the exit code.

    A capture that kdissect makes itself and that ends inside a packet is a warning: it was stopped so. So are
    packets that were dropped while capturing. Anything else that keeps bytes from being read is an error.
    """
    code = say_states(states_of(dissection, options))
    if is_live(dissection):
        from kdissect.cli.options.live.live_input import report_capture  # start-up: sources of packets

        return report_capture(dissection.captures) or code
    return code


def report_interrupted(dissection: Dissection, options: Namespace) -> str:
    """Report the inputs after Ctrl-C ended the reading, and return how far that came."""
    say_states(states_of(dissection, options)._replace(is_over=True))
    return how_far(dissection)


def how_far(dissection: Dissection) -> str:
    """Return how much of the inputs was read: `12.0 of 40.0 MB were read`."""
    files = dissection.captures.files
    done = sum(file.source.bytes_read for file in files)
    sizes = [file.size for file in files if file.size is not None]
    of = f" of {sum(sizes) / 1e6:.1f}" if len(sizes) == len(files) else ""
    return f"{done / 1e6:.1f}{of} MB were read"


def states_of(dissection: Dissection, options: Namespace) -> InputStates:
    """Return the faults of the inputs so far."""
    is_ours = wants_live(options)
    joined_lines = dissection.joined  # reads request logs to their ends, and so to their faults
    files = [_file_state(file, is_ours) for file in dissection.captures.files]
    files += [FileState(fault, None, ()) for fault in dissection.guard.errors]
    return InputStates(
        tuple(files), dissection.topics.dropped, dissection.key_logs.dropped, was_read(dissection),
        dissection.is_over, dissection.unread(), _wanted(options),
        sum(file.source.bytes_read for file in dissection.captures.files), _unused_hosts(dissection),
        joined_lines,
    )  # fmt: skip


def _unused_hosts(dissection: Dissection) -> int | None:
    names = dissection.analyzer.names
    return None if names is None or names.is_used else len(names)


def unread_inputs(dissection: Dissection, options: Namespace) -> tuple[str, ...]:
    """Return the names of inputs that were not read to their end."""
    is_ours = wants_live(options)
    states = [_file_state(file, is_ours) for file in dissection.captures.files]
    named = zip(dissection.file_names, states, strict=False)
    return tuple(name for name, state in named if state.error is not None or state.cut is not None)


def _wanted(options: Namespace) -> tuple[WantedState, ...]:
    """Return the state of names in options (`cli.options.wanted_names.watch_for`)."""
    return tuple(one.state() for one in getattr(options, "wanted_names", {}).values())


def _file_state(file: CaptureFile, is_ours: bool) -> FileState:
    if file.error is not None:
        return FileState(str(file.error), None, ())
    warns_of = AnomalyKind.UNREAD_LINE if file.is_request_log else AnomalyKind.DROPPED_PACKETS
    forwarded = file.forwarded if file.is_request_log else None
    if is_ours:
        return FileState(None, None, tuple(file.anomaly_texts(AnomalyKind.CUT_CAPTURE, warns_of)), forwarded)
    cuts = file.anomaly_texts(AnomalyKind.CUT_CAPTURE)
    return FileState(None, cuts[-1] if cuts else None, tuple(file.anomaly_texts(warns_of)), forwarded)


def _hosts_lines(states: InputStates) -> Iterator[str]:
    if states.unused_hosts is not None:
        count = plural(states.unused_hosts, "address", "addresses")
        yield f"--hosts named nothing: the file has {count}, and no connection has one of them"


def _log_lines(states: InputStates) -> Iterator[str]:
    """Yield the facts that request logs do not contain, and the number of forwarded requests that are left
    out.
    """
    logs = [state.forwarded for state in states.files if state.forwarded is not None]
    if not logs or not states.is_over:
        return
    out = f"; {plural(sum(logs), 'forwarded request')} left out" if any(logs) else ""
    if states.joined is not None:
        yield _joined_line(states.joined, out)
        return
    lacks = "records, sizes of frames, SASL exchanges, the network and how connections begin and end"
    yield f"a request log does not contain {lacks}{out} (docs/request-logs.md)"


def _joined_line(joined: "Joined", out: str) -> str:
    exchanges = plural(joined.exchanges, "captured exchange has its", "captured exchanges have their")
    captured = plural(joined.captured, "exchange has no line", "exchanges have no line", ",")
    logged = plural(joined.logged, "line is", "lines are", ",")
    apart = ""
    if joined.log_span is not None and joined.packets_span is not None and joined.is_apart:
        log, packets = _span_text(joined.log_span), _span_text(joined.packets_span)
        apart = (
            f"; the log and the packets do not overlap in time: the log is of {log}, the packets of {packets}"
        )
    return (
        f"{exchanges} line in the request log; {captured} in it, and {logged} of exchanges that were not "
        f"captured{apart}{out} (docs/request-logs.md)"
    )


def _span_text(span: tuple[int, int]) -> str:
    first, last = (second_text(time_ns // SECOND_NS) + "Z" for time_ns in span)
    return f"{first} to {last}"


def joined_states(shards: Iterable[InputStates]) -> InputStates:
    """Return the states of one reading by several processes: faults of single shards, and facts that all have
    seen.
    """
    first, *rest = shards
    for more in rest:
        nothing = FileState(None, None, ())
        pairs = zip_longest(first.files, more.files, fillvalue=nothing)
        files = tuple(new._replace(error=old.error or new.error) for old, new in pairs)
        first = more._replace(
            files=files,
            is_over=first.is_over and more.is_over,
            unread=joined((first.unread, more.unread)),
            wanted=joined_names(first.wanted, more.wanted),
            unused_hosts=None if None in (first.unused_hosts, more.unused_hosts) else first.unused_hosts,
            bytes_read=max(first.bytes_read, more.bytes_read),  # each shard reads all inputs
            joined=first.joined and more.joined and first.joined.with_shard(more.joined),
        )
    return first


def say_states(states: InputStates) -> int:
    """Report on stderr the faults and the unread parts, and return the exit code."""
    code = OK
    for error, cut, warnings, _ in states.files:
        wrong = error if error is not None else cut
        if wrong is not None:
            say(wrong)
            code = UNREADABLE
        for warning in warnings:
            say(f"warning: {warning}")
    names, sessions = states.names_dropped, states.sessions_dropped
    if names:
        kept = plural(names, "name of a topic id was", "names of topic ids were")
        say(f"warning: {kept} dropped: there are too many (--limits topic_names=N)")
    if sessions:
        say(f"warning: the secrets of {plural(sessions, 'TLS session')} were dropped: there are too many")
    for line in _log_lines(states):
        say(line)
    if states.is_over and states.was_read:
        for line in (*states.unread.lines(), *missing_lines(states.wanted), *_hosts_lines(states)):
            say(f"warning: {line}")
    if states.bytes_read >= LARGE_BYTES and (wish := wish_for()):
        say(wish)
    return code
