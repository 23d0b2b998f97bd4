"""The times of a broker, as its request log has them, for people."""

from kdissect.model.packets.logged import Logged
from kdissect.report.printable import printable
from kdissect.report.quantities import duration


def broker_times(logged: Logged) -> str:
    """Return the broker's own times, and who asked."""
    times = {
        "queue": logged.queue_ns, "local": logged.local_ns, "remote": logged.remote_ns,
        "response queue": logged.response_queue_ns, "send": logged.send_ns, "throttle": logged.throttle_ns,
    }  # fmt: skip
    texts = [f"{name} {duration(time)}" for name, time in times.items() if time is not None]
    names = [printable(text) for text in (logged.listener, logged.security_protocol) if text]
    return "  ".join([*texts, *names])
