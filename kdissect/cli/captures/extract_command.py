"""`kdissect extract`: the packets of some exchanges or connections, also without what is secret."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kdissect.api import Dissection
from kdissect.capture.files import without_packets
from kdissect.capture.formats.packet_file import PacketFile
from kdissect.capture.key_logs import TLS_KEY_LOG
from kdissect.cli.diagnostics import OK, UNREADABLE, say
from kdissect.cli.input_states import how_far, report
from kdissect.cli.options.command_parser import command_parser
from kdissect.cli.options.exchange_selection import add_selection
from kdissect.cli.options.filter_option import add_filter, findings_of, is_by_kind, open_filtered, selected
from kdissect.cli.options.input_options import (
    add_inputs,
    add_topic_ids,
    is_input,
    is_live,
    open_again,
    open_inputs,
    was_read,
)
from kdissect.cli.options.personal_extra import check_personal
from kdissect.cli.options.schema_option import schemas_of
from kdissect.excerpt.find_frames import FrameSearch
from kdissect.excerpt.frame_plans import latency_note
from kdissect.excerpt.write_packets import copy_connections, write_frames
from kdissect.model.wording import plural
from kdissect.schema.error_codes import error_name
from kdissect.session.events import ConnectionClosed, Event, Events
from kdissect.session.exchange import Exchange

if TYPE_CHECKING:
    from kdissect.excerpt.find_frames import FoundFrames
    from kdissect.excerpt.personal_redaction import PersonalRedaction
    from kdissect.excerpt.redactor import FrameRedactor


_PERSONAL = "personal"
_LEVELS = ("secrets", _PERSONAL, "payload", "names")


def run(arguments: Sequence[str]) -> int:
    """Write the packets and return the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.redact == _PERSONAL:
        check_personal(parser)
    dissection = open_filtered(parser, options)
    try:
        _check(options, dissection)
    except ValueError as error:
        parser.error(str(error))
    try:
        code = _extract(options, dissection)
    except BrokenPipeError:
        raise
    except KeyboardInterrupt:
        what = "what is written is partial" if options.output == "-" else f"{options.output} is not written"
        raise KeyboardInterrupt(f"{what}: {how_far(dissection)}") from None
    except OSError as error:
        place = "standard output" if options.output == "-" else options.output
        say(f"{error.filename or place}: {error.strerror or error}")
        code = UNREADABLE
    return report(dissection, options) or code


def _parser() -> ArgumentParser:
    parser = command_parser(
        "extract", "Write the packets of exchanges to a pcapng file: the exchanges of a filter, or all."
    )
    add_inputs(parser)
    add_topic_ids(parser)
    add_filter(parser, times=False)
    add_selection(parser)
    add = parser.add_argument
    add("-o", "--output", metavar="OUT", required=True, help="file to write, or - for standard output")
    add(
        "--connections",
        action="store_true",
        help=(
            "all packets of each connection that had such an exchange, unchanged. Encrypted packets "
            "stay encrypted"
        ),
    )
    add(
        "--keep-secrets",
        action="store_true",
        help="with --connections: also write the TLS secrets of these connections into the file",
    )
    add(
        "--annotate",
        action="store_true",
        help="also write latency, error codes and findings of check into packet comments",
    )
    add("--decrypted", action="store_true", help="write the plaintext of TLS connections, as plain segments")
    add(
        "--redact",
        nargs="?",
        choices=_LEVELS,
        const="secrets",
        help="overwrite secrets. personal: also what personal-data finds. payload: also keys, values, "
        "headers, user data. names: also names (default: secrets, docs/extract.md)",
    )
    return parser


def _check(options: Namespace, dissection: Dissection) -> None:
    if is_live(dissection):
        raise ValueError("extract reads its inputs twice: standard input and pipes cannot be")
    if options.output != "-" and is_input(dissection, options.output):
        raise ValueError(f"{options.output} is one of the captures to be read")
    log = without_packets(dissection.captures.files)
    if log is not None:
        raise ValueError(f"extract writes packets, and {log.path} is a request log, which has none")
    if options.keep_secrets and (options.redact or not options.connections):
        raise ValueError("--keep-secrets goes with --connections, and without --redact")
    if options.annotate and options.connections and not options.redact:
        raise ValueError("--connections keeps packets as they are: --annotate cannot go with it")
    if options.connections and options.decrypted and not options.redact:
        raise ValueError("--connections keeps packets as they are: --decrypted cannot go with it")


def _extract(options: Namespace, dissection: Dissection) -> int:
    if options.connections and not options.redact:
        return copy(options, dissection)
    harvested = _harvest(options, dissection)
    if not was_read(dissection):
        return OK  # the file of an earlier run stays
    _say_what_is_left_out(options, harvested)
    _write(options, harvested, dissection)
    return OK


def _harvest(options: Namespace, dissection: Dissection) -> FoundFrames:
    redactor: FrameRedactor | None = None
    if options.redact:
        from kdissect.excerpt.redactor import FrameRedactor  # start-up: what most runs do not need

        redactor = FrameRedactor(options.redact, personal=_personal(options, dissection))
    note = _notes(options) if options.annotate else None
    if options.connections:
        wanted = matching(options, open_inputs(options)).ids
        harvest = FrameSearch(
            lambda exchange: exchange.connection.id in wanted, options.decrypted, redactor, note=note
        )
    else:
        accepts = selected(options, dissection)
        takes = accepts or (lambda _exchange: True)
        harvest = FrameSearch(takes, options.decrypted, redactor, is_by_kind(options), note)
    events = dissection.batches()
    if options.redact == _PERSONAL:
        events = _learning(dissection, events)
    parts = (part for batch in events for part in harvest.parts(batch))
    dissection.guard.each(parts, harvest.add)
    if redactor is not None:
        _say_what_was_done(redactor)
    return harvest.result()


def _personal(options: Namespace, dissection: Dissection) -> PersonalRedaction | None:
    if options.redact != _PERSONAL:
        return None
    from kdissect.engine.records.personal_parts import PersonalParts  # an extra
    from kdissect.excerpt.personal_redaction import PersonalRedaction  # the same

    return PersonalRedaction(PersonalParts(schemas_of(options)), dissection.topics.of_records)


def _learning(dissection: Dissection, batches: Iterable[Events]) -> Iterator[Events]:
    """Yield batches of events, and learn the names of topic ids from them: schemas and Kafka's own topics are
    found by name.
    """
    for batch in batches:
        for event in batch:
            if isinstance(event, Exchange):
                dissection.topics.pass_by(event)
        yield batch


def _notes(options: Namespace) -> Callable[[Exchange, str], str]:
    """Return the text that `--annotate` adds to a frame: the result of its exchange, and the findings about
    it.
    """
    codes_of = findings_of(options)

    def note(exchange: Exchange, side: str) -> str:
        parts = [latency_note(exchange, side)]
        if side == "response":
            parts += map(error_name, exchange.response_summary().errors)
        parts += sorted(codes_of(exchange))
        return "; ".join(filter(None, parts))

    return note


def _say_what_was_done(redactor: FrameRedactor) -> None:
    if redactor.undecoded:
        frames = plural(redactor.undecoded, "frame holds bytes", "frames hold bytes")
        say(f"{frames} that cannot be decoded are blanked")
    if redactor.resized:
        frames = plural(redactor.resized, "frame has", "frames have")
        say(f"{frames} another length, because batches had to be compressed again")


def _say_what_is_left_out(options: Namespace, harvested: FoundFrames) -> None:
    if not harvested.exchanges:
        say("no exchange matches: the file holds no packets")
    if harvested.encrypted:
        how = "--decrypted writes them as plaintext"
        if options.redact:
            how += "; ciphertext is no redaction, for whoever has the keys"
        else:
            how += ", --connections with their whole connections"
        say(
            f"left out: {plural(harvested.encrypted, 'exchange')} of "
            f"{plural(harvested.encrypted_connections, 'TLS connection')}; {how}"
        )
    if options.redact and harvested.foreign:
        foreign = plural(harvested.foreign, "connection that carries", "connections that carry")
        say(f"left out: {foreign} no Kafka, or cannot be decrypted")
    if harvested.capture_sets > 1:
        say("warning: captures of different sets are written into one file")


def _write(options: Namespace, harvested: FoundFrames, dissection: Dissection) -> None:
    with PacketFile(options.output, _comment(options, harvested)) as file:
        write_frames(harvested, open_again(options, dissection), not options.redact, file, options.annotate)


def _comment(options: Namespace, harvested: FoundFrames) -> str:
    lines = [
        f"{plural(harvested.exchanges, 'exchange')}. Packets of other exchanges are left out. Headers "
        "and times come from "
        "the capture. Sequence numbers, lengths and checksums match this file."
    ]
    if options.decrypted:
        lines.append("TLS data is written as plaintext.")
    if options.redact:
        lines.append(f"Redacted ({options.redact}).")
    return "\n".join(lines)


# `kdissect extract --connections`: whole connections, as they were captured.
class Matching(NamedTuple):
    """Ids of connections with an exchange that the filter takes, and for TLS the keys under which key logs
    list them.

    That is the client's random and the server's session id.
    """

    ids: set[str]
    sessions: list[tuple[bytes, bytes]]


def matching(options: Namespace, dissection: Dissection) -> Matching:
    """Read the captures for them. Some 100 bytes a connection."""
    accepts = selected(options, dissection)
    found = Matching(set(), [])

    def take(event: Event) -> None:
        if isinstance(event, Exchange):
            if event.connection.id not in found.ids and (accepts is None or accepts(event)):
                found.ids.add(event.connection.id)
        elif isinstance(event, ConnectionClosed) and event.connection.id in found.ids:
            tls = event.connection.tls
            if tls is not None:
                found.sessions.extend(tls.sessions)

    dissection.guard.each(dissection.events(), take)
    return found


def copy(options: Namespace, dissection: Dissection) -> int:
    """Write the connections and return the exit code."""
    found = matching(options, dissection)
    if not was_read(dissection):
        return OK  # the file of an earlier run stays
    if not found.ids:
        say("no exchange matches: the file holds no packets")
    again = open_again(options, dissection)
    files = again.captures.files
    comment = f"{plural(len(found.ids), 'connection')} with all their packets."
    with PacketFile(options.output, comment) as file:
        if options.keep_secrets:
            lines = [line for session in found.sessions for line in dissection.key_logs.lines(*session)]
            if lines:
                file.secrets(TLS_KEY_LOG, "".join(f"{line}\n" for line in lines).encode())
        copy_connections(
            found.ids,
            again.captures.batches(),
            again.ports,
            lambda index: files[index].capture_set,
            file.write,
        )
    return OK
