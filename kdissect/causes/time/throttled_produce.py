"""`throttled-produce`: a producer is over its quota."""

from __future__ import annotations

from kdissect.causes.time.throttle import PRODUCE, Throttled


class ThrottledProduce(Throttled):
    """Throttle times in answers to Produce."""

    id = "throttled-produce"
    title = "A quota throttles a producer"
    what = "writes more than its quota allows"
    quota = "producer_byte_rate"
    help = (
        "Raise producer_byte_rate of the user or client id (kafka-configs.sh --entity-type users,"
        " clients), or write less:"
        " compress, and use larger batches. A quota on request thread time has the same effect."
    )

    def concerns(self, api_key: int) -> bool:
        """answers to Produce."""
        return api_key == PRODUCE
