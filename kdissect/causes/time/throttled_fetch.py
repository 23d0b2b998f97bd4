"""`throttled-fetch`: a consumer is over its quota."""

from __future__ import annotations

from kdissect.causes.time.throttle import FETCH, Throttled


class ThrottledFetch(Throttled):
    """Throttle times in answers to Fetch."""

    id = "throttled-fetch"
    title = "A quota throttles a consumer"
    what = "reads more than its quota allows"
    quota = "consumer_byte_rate"
    help = (
        "Raise consumer_byte_rate of the user or client id (kafka-configs.sh --entity-type users,"
        " clients), or read less: a"
        " consumer that starts at the beginning reads all there is as fast as it may."
    )

    def concerns(self, api_key: int) -> bool:
        """answers to Fetch."""
        return api_key == FETCH
