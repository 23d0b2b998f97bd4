"""`connection-refused`: no broker listens at an address that a client connects to, or it does not answer."""

from __future__ import annotations

from bisect import bisect

from kdissect.causes.access.failed_connection import FailedConnection, often
from kdissect.causes.cause import joined
from kdissect.causes.evidence.evidence import Evidence
from kdissect.engine.times import rfc3339
from kdissect.history.connections.connection_problems import ConnectionProblem
from kdissect.report.quantities import duration
from kdissect.session.problem import Reason
from kdissect.stats.times.silences import place_of


class ConnectionRefused(FailedConnection):
    """Connections answered with RST, or not at all, more often than a start takes."""

    id = "connection-refused"
    title = "No listener at the address that a client connects to"
    reasons = (Reason.REFUSED, Reason.NO_ANSWER)
    help = (
        "See whether the broker runs and listens on that address (listeners), and whether a firewall or"
        " security group"
        "lets the client through. If it does, correct bootstrap.servers."
    )
    cites = (
        "org.apache.kafka.network.SocketServerConfigs#LISTENERS_CONFIG",
        "org.apache.kafka.clients.CommonClientConfigs#BOOTSTRAP_SERVERS_CONFIG",
    )

    def left(self, seen: Evidence) -> dict[tuple[str, str], list[ConnectionProblem]]:
        """Return the attempts but those while a broker was away, which `broker-restarted` has."""
        return {
            key: [one for one in problems if one.connection.id not in seen.refused_while_away]
            for key, problems in super().left(seen).items()
        }

    def holds(self, problems: list[ConnectionProblem], seen: Evidence) -> bool:
        """Return whether it is more than one refusal, which a client meets that is started before
        its broker.
        """
        return len(problems) >= 3 or any(one.problem.reason is Reason.NO_ANSWER for one in problems)

    def sentence(self, host: str, end: str, problems: list[ConnectionProblem]) -> str:
        """Return who, and where."""
        how = "was refused" if _is_refused(problems) else "got no answer"
        return f"{host} tried {often(problems)} to connect to {end} and {how}."

    def context(self, problems: list[ConnectionProblem], seen: Evidence) -> tuple[str, str]:
        """Return when no broker listened there, and why the address may be right."""
        periods = _periods(problems, seen)
        if _is_served(periods, seen):
            why = "others use it meanwhile: a firewall between may refuse this host alone"
            return "It responded to others meanwhile.", why
        more = "No process listened there then." if _is_refused(problems) else ""
        if len(periods) > 1:
            when = joined([f"{rfc3339(_start_ns(of[0]))} ({often(of)} in {_lasted(of)})" for of in periods])
            more = f"In between it accepted connections: no process listened there from {when}."
        if any(one.is_kafka for one in problems):
            why = "Kafka responds there at other times: a broker that starts, or is away, looks the same"
            return more, why
        ports = {key.broker.rpartition(":")[2] for key, _ in seen.gathering.links.items()}
        if problems[0].connection.broker_text.rpartition(":")[2] in ports:
            return more, ""
        return more, super().context(problems, seen)[1]


def _is_refused(problems: list[ConnectionProblem]) -> bool:
    return problems[0].problem.reason is Reason.REFUSED


def _start_ns(problem: ConnectionProblem) -> int:
    return problem.connection.start_ns


def _lasted(problems: list[ConnectionProblem]) -> str:
    return duration(_start_ns(problems[-1]) - _start_ns(problems[0]))


def _periods(problems: list[ConnectionProblem], seen: Evidence) -> list[list[ConnectionProblem]]:
    """Return attempts in the order of time, apart if the end accepted a connection between them."""
    accepted = seen.accepted(place_of(problems[0].connection))
    found: dict[int, list[ConnectionProblem]] = {}
    for one in sorted(problems, key=_start_ns):
        found.setdefault(bisect(accepted, _start_ns(one)), []).append(one)
    return list(found.values())


def _is_served(periods: list[list[ConnectionProblem]], seen: Evidence) -> bool:
    """Return whether the end sent responses between two attempts of a period."""
    served = seen.gathering.stalls.silences.is_served_within
    place = place_of(periods[0][0].connection)
    return any(served(place, _start_ns(of[0]), _start_ns(of[-1])) for of in periods)
