"""`requests-fail`: a broker refuses requests with an error code that no other cause explains."""

from __future__ import annotations

from collections.abc import Hashable

from kdissect.causes.general.general_cause import GeneralCause, Together
from kdissect.causes.ledger.symptom import Symptom, SymptomKind
from kdissect.model.cause import Cost, Severity
from kdissect.model.wording import plural

_MOST = 0.5  # of the requests with that API
_AGAIN = 3  # failures: fewer may be one program's mistake


class RequestsFail(GeneralCause):
    """Error codes, with the broker's own message."""

    id = "requests-fail"
    title = "Requests fail"
    kind = SymptomKind.ERROR
    help = (
        "The broker names the error, and often the reason. See the request that fails, the settings of the"
        " client that sends it, and the broker's log at that time."
    )
    cites = ("org.apache.kafka.common.protocol.Errors#forCode",)

    def alike(self, symptom: Symptom) -> Hashable:
        """Return an API and an error of one client, whatever the request is about."""
        return symptom.client, symptom.api_key, symptom.code

    def sentence(self, found: Together) -> str:
        """Return how many of how many, with which error, and the broker's words."""
        first = found.first
        about = f" for {found.subjects}" if found.subjects else ""
        said = f" ({found.messages})" if found.messages else ""
        alone = (
            ""
            if found.goes_on
            else " No later request of the client succeeded, except to find brokers and to log in."
        )
        return (
            f"{found.seen.times:,} of {plural(found.total, f'{first.api} request', spec=',')} of {found.who}"
            f"{about} failed with {first.error}{said}.{alone}"
        )

    def weight(self, found: Together) -> Severity:
        """By the share of requests that fail, and whether the client can work at all."""
        often = found.seen.times
        if often >= _MOST * found.total and (often >= _AGAIN or not found.goes_on):
            return Severity.STOPS
        return Severity.DELAYS if often >= _AGAIN or not found.goes_on else Severity.WASTES

    def cost(self, found: Together) -> Cost:
        """Return each error."""
        return Cost(errors=found.seen.times)

    def command(self, found: Together) -> str:
        """Return the exchanges."""
        return f"inspect {{files}} -Y 'errors == {found.first.error}'"
