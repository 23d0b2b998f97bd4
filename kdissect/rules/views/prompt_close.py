"""A broker that closes the connection right after a request."""

from kdissect.model.finding import Who
from kdissect.session.exchange import Exchange

PROMPT_NS = 1_000_000_000  # a later close has causes of its own: shutdown, idle connections


def prompt_close(exchange: Exchange) -> str:
    """How, and how soon: `fin after 2.0 ms`; empty where the broker did not close, or later."""
    close, request = exchange.close, exchange.request
    if close is None or close.by != Who.BROKER or request is None:
        return ""
    after_ns = close.time_ns - request.end_time_ns
    return f"{close.how} after {after_ns / 1e6:.1f} ms" if after_ns <= PROMPT_NS else ""
