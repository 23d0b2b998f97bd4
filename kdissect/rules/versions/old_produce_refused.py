"""VER017: the broker advertises Produce v0 to v2, and refuses them."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Level, Who
from kdissect.rules.kinds import ExchangeRule
from kdissect.rules.rule import REQUEST, Fault
from kdissect.rules.versions.not_advertised import advertised_range
from kdissect.rules.views.connection_view import UNSUPPORTED_VERSION, ConnectionView
from kdissect.rules.views.prompt_close import prompt_close
from kdissect.session.exchange import Exchange

PRODUCE = 0
FIRST_TAKEN = 3  # by Kafka 4 (KIP-896)
LAST_BEFORE_4 = 11  # Kafka 4.0 brought Produce v12 (KIP-890)


class OldProduceRefused(ExchangeRule):
    """The broker advertises Produce v0 to v2, and refuses them.

    Kafka 4 names Produce from v0 on for the sake of librdkafka, takes v3 and later, and closes the connection
    on others (KAFKA-18659). A client that trusts what was advertised loses its connection, and with acks=0
    its records, without a word. Told only of a request in such a version that was refused or followed by a
    close of the broker within a second.

    Example: Produce 0-13 is advertised; Produce v2 is followed by FIN.

    What to do: update the client. A client that must stay old can leave Produce v0 to v2 out by itself.
    """

    code = "VER017"
    name = "old-produce-refused"
    only_unusual = True
    level = Level.SHOULD
    claim = Claim.DIFFERS
    who = Who.BROKER
    cites = ("KAFKA-18659", "KIP-896", "spec/002 7 Connection closure")
    needs_whole = True
    shadows = ("VER013", "VER014", "PAI005")

    def concerns(self, api_key: int | None, api_version: int | None) -> bool:
        """Produce v0 to v2."""
        return api_key == PRODUCE and api_version is not None and 0 <= api_version < FIRST_TAKEN

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Fault]:
        """What was advertised, and what became of the request."""
        found, version = advertised_range(view, PRODUCE), exchange.api_version
        if found is None or version is None or not self.concerns(exchange.api_key, version):
            return
        if found[1] <= LAST_BEFORE_4 or not found[0] <= version or exchange.request is None:
            return
        refusal = _refusal(exchange)
        if refusal:
            what = f"Produce v{version} is advertised ({found[0]} to {found[1]})"
            yield Fault("what is advertised is taken", f"{what}; {refusal}", start=2, end=4, side=REQUEST)


def _refusal(exchange: Exchange) -> str:
    """How the broker refused; empty where it did not."""
    if exchange.response is None:
        return prompt_close(exchange)
    errors = exchange.response_summary().errors
    return "UNSUPPORTED_VERSION" if UNSUPPORTED_VERSION in errors else ""
