"""Laws about times of the network."""

from __future__ import annotations

from kdissect.causes.cause import joined
from kdissect.causes.evidence.evidence import Evidence
from kdissect.causes.laws.law import named
from kdissect.model.cause import FoundCause
from kdissect.model.wording import plural
from kdissect.report.quantities import duration


def handshake_shows_round_trip(cause: FoundCause, seen: Evidence) -> str:
    """Object unless a handshake shows the round trip: an end may delay an acknowledgement of data, but not
    that of the handshake.
    """
    hosts, brokers, clients = named(cause, "host"), named(cause, "broker"), named(cause, "client") or {""}
    links = [
        link
        for key, link in seen.gathering.links.items()
        if key.host in hosts and key.broker in brokers and (key.client_id or "") in clients
    ]
    shown = [trip for link in links for trip in link.trips_by_handshake]
    measured = [link.trip_ns for link in links if link.trip_ns is not None]
    if measured and not shown:
        return "no handshake in the capture shows a round trip: an end may have delayed its acknowledgements"
    if shown and 2 * min(shown) < min(measured):
        return f"the handshake took {duration(min(shown))}"
    return ""


def broker_sent_nothing(cause: FoundCause, seen: Evidence) -> str:
    """Object if the broker sent responses meanwhile: one that stopped sends none until it is back."""
    for absence in seen.absences:
        broker = absence.place[1]
        is_its_own = broker in named(cause, "broker") and absence.from_ns == cause.since_ns
        if is_its_own and seen.is_served_during(absence):
            return f"{broker} sent responses meanwhile"
    return ""


def end_speaks_plaintext(cause: FoundCause, seen: Evidence) -> str:
    """Object if the listener answers other clients with TLS: then it speaks TLS, and closed for another
    reason.
    """
    ends = named(cause, "broker")
    count = sum(link.tls_answers for key, link in seen.gathering.links.items() if key.broker in ends)
    return f"{joined(sorted(ends))} answered {plural(count, 'other connection')} with TLS" if count else ""
