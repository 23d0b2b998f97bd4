"""`throttled-requests`: a client takes more of a broker than its quota."""

from __future__ import annotations

from kdissect.causes.time.throttle import Throttled, is_of_requests


class ThrottledRequests(Throttled):
    """Throttle times in answers to anything else."""

    id = "throttled-requests"
    title = "A request quota throttles a client"
    what = "takes more of the broker's time than its quota allows"
    quota = "request_percentage"
    help = (
        "Raise request_percentage of the user or client id, or have the client ask less often (its polls,"
        " its metadata, its"
        " commits)."
    )

    def concerns(self, api_key: int) -> bool:
        """answers to anything else."""
        return is_of_requests(api_key)
