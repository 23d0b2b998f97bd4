"""Rules: the time for which a broker asks a client to be silent."""

from kdissect.history.connections.throttling import ThrottleFact
from kdissect.model.finding import Claim, Level, Severity, Who
from kdissect.rules.kinds import FactRule
from kdissect.rules.rule import Once


class ThrottleIgnored(FactRule):
    """A client should stay silent for throttle_time_ms.

    Brokers that answer first and mute the connection then (KIP-219) do not read it in the meantime.

    Example: throttle_time_ms 500, and a request 200 ms later.

    What to do: wait.
    """

    code = "PAI010"
    name = "throttle-ignored"
    level = Level.SHOULD
    claim = Claim.DIFFERS
    severity = Severity.INFO
    who = Who.CLIENT
    cites = ("KIP-219 Proposed Changes",)
    facts = (ThrottleFact.IGNORED,)


class ThrottleIsWait(FactRule):
    """The throttle time of a Fetch should not be the time that it waited for records.

    Clients stay silent for as long again (KIP-219), and read half as often or later. Brokers answer a fetch
    without records after max_wait_ms, with throttle_time_ms 0 unless a quota is exceeded. Reported from
    the third such response in a row.

    Example: an empty answer after 500 ms, with throttle_time_ms 500, three times.

    What to do: answer 0 without a quota.
    """

    code = "PAI016"
    name = "throttle-is-wait"
    level = Level.SHOULD
    claim = Claim.DIFFERS
    who = Who.BROKER
    cites = ("KIP-219 Proposed Changes",)
    once = Once.PARTY
    facts = (ThrottleFact.IS_WAIT,)
    expects = "0 without a quota. The answer took {} ms"
    sees = "{} ms, in three answers"
