"""VER013: A request in an advertised version must be answered."""

from collections.abc import Iterator

from kdissect.model.finding import Who
from kdissect.rules.body import body_of
from kdissect.rules.connection_view import ConnectionView
from kdissect.rules.rule import REQUEST, ExchangeRule, Fault
from kdissect.rules.versions.not_advertised import advertised_range
from kdissect.session.exchange import Exchange, State

# SASL mechanisms fail by design. Fetch, JoinGroup, SyncGroup, ShareFetch and FetchSnapshot wait on purpose:
# a broker that shuts down leaves them. An Envelope's own request may be what the broker could not read.
LEFT_OUT = frozenset({36, 1, 11, 14, 78, 59, 58})
# A close long after the request has causes of its own: shutdown, idle connections.
PROMPT_NS = 1_000_000_000


class AdvertisedButDropped(ExchangeRule):
    """A request in an advertised version must be answered.

    The broker advertised the API and version on this connection, the request fits the schema, and the
    broker closed the connection without an answer. KIP-35: what is advertised must not cost the client its
    connection. Several requests waiting, SaslAuthenticate, envelopes, acks=0 and APIs that wait on purpose
    are left out, for they have other causes.

    Example: DescribeLogDirs v4 is advertised; the request is followed by FIN.

    What to do: answer with an error code, or do not advertise the version.
    """

    code = "VER013"
    name = "advertised-but-dropped"
    only_odd = True
    who = Who.BROKER
    cites = ("spec/002 3.2 All versions in between", "spec/002 7 Connection closure")
    needs_start = True
    needs_whole = True
    shadows = ("PAI005",)

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Fault]:
        """An unanswered request that nothing else explains."""
        close, key, version = exchange.close, exchange.api_key, exchange.api_version
        if exchange.state is not State.UNANSWERED or close is None or close.by != Who.BROKER:
            return
        if key is None or version is None or key in LEFT_OUT or view.in_flight or exchange.request is None:
            return
        found = advertised_range(view, key)
        if found is None or not found[0] <= version <= found[1]:
            return
        if close.time_ns - exchange.request.end_time_ns > PROMPT_NS:
            return
        body = body_of(exchange, REQUEST)
        if body is not None and body.fits:
            after = (close.time_ns - exchange.request.end_time_ns) / 1e6
            what = f"{body.api.name} v{version} is advertised ({found[0]} to {found[1]})"
            seen = f"{what}; {close.how} after {after:.1f} ms"
            yield Fault("an answer", seen, side=REQUEST)
