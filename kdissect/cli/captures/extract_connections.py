"""`kdissect extract --connections`: whole connections, as they were captured."""

from __future__ import annotations

from argparse import Namespace
from typing import NamedTuple

from kdissect import __version__
from kdissect.api import Dissection
from kdissect.capture.formats.packet_file import APPLICATION, PacketFile
from kdissect.capture.key_logs import TLS_KEY_LOG
from kdissect.cli.diagnostics import OK, say
from kdissect.cli.options.filter_option import selected
from kdissect.cli.options.input_options import open_again, was_read
from kdissect.excerpt.write_packets import copy_connections
from kdissect.model.wording import plural
from kdissect.session.events import ConnectionClosed, Event
from kdissect.session.exchange import Exchange


class Matching(NamedTuple):
    """Ids of connections that had an exchange which is taken; of those in TLS what key logs know them by.

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
            if tls is not None and tls.client_random is not None:
                found.sessions.append((tls.client_random, tls.session_id))

    dissection.guard.each(dissection.events(), take)
    return found


def copy(options: Namespace, dissection: Dissection) -> int:
    """Write the connections; gives the exit code."""
    found = matching(options, dissection)
    if not was_read(dissection):
        return OK  # the file of an earlier run stays
    if not found.ids:
        say("no exchange is taken: the file holds no packets")
    again = open_again(options, dissection)
    files = again.captures.files
    comment = f"{plural(len(found.ids), 'connection')} with all their packets."
    with PacketFile(options.output, comment, f"{APPLICATION} {__version__}") as file:
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
