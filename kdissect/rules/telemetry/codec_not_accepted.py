"""TEL004: Metrics must be compressed with an accepted codec, or not at all."""

from kdissect.history.sessions.telemetry_pushes import TelemetryFact
from kdissect.model.finding import Claim, Who
from kdissect.rules.kinds import FactRule


class CodecNotAccepted(FactRule):
    """Metrics must be compressed with an accepted codec, or not at all.

    The subscription lists them; brokers answer UNSUPPORTED_COMPRESSION_TYPE.

    Example: gzip where zstd alone is accepted.

    What to do: take the first codec of the list that you have.
    """

    code = "TEL004"
    name = "telemetry-codec"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = ("KIP-714",)
    facts = (TelemetryFact.CODEC_NOT_ACCEPTED,)
    expects = "codec {} or none"
    sees = "codec {}"
