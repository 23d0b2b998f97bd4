"""VER013: A request in an advertised version must be answered."""

from collections.abc import Iterator

from kdissect.model.finding import Who
from kdissect.rules.kinds import ExchangeRule
from kdissect.rules.rule import REQUEST, Fault
from kdissect.rules.versions.not_advertised import advertised_range
from kdissect.rules.views.body_view import body_of
from kdissect.rules.views.connection_view import ConnectionView
from kdissect.rules.views.prompt_close import prompt_close
from kdissect.session.exchange import Exchange, State
from kdissect.session.info import ConnectionInfo

# SASL mechanisms fail by design. Fetch, JoinGroup, SyncGroup, ShareFetch and FetchSnapshot wait on purpose:
# a broker that shuts down leaves them. An Envelope's own request may be what the broker could not read.
LEFT_OUT = frozenset({36, 1, 11, 14, 78, 59, 58})
# SaslHandshake and ApiVersions, which every listener answers.
PRELIMINARY = frozenset({17, 18})


class AdvertisedButDropped(ExchangeRule):
    """A request in an advertised version must be answered.

    The broker advertised the API and version on this connection, the request fits the schema, and the
    broker closed the connection without an answer. KIP-35: what is advertised must not cost the client its
    connection. Several requests waiting, SaslAuthenticate, envelopes, acks=0 and APIs that wait on purpose
    are left out, for they have other causes. So has a client that did not log in: inconclusive where nothing
    but ApiVersions was answered before, and no login was seen.

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
        closed, key, version = prompt_close(exchange), exchange.api_key, exchange.api_version
        if exchange.state is not State.UNANSWERED or not closed:
            return
        if key is None or version is None or key in LEFT_OUT or view.in_flight:
            return
        found = advertised_range(view, key)
        if found is None or not found[0] <= version <= found[1]:
            return
        body = body_of(exchange, REQUEST)
        if body is not None and body.fits and key not in PRELIMINARY and _may_lack_login(view.info):
            yield Fault(inconclusive="a listener with SASL closes at what comes before a login, too")
        elif body is not None and body.fits:
            what = f"{body.api.name} v{version} is advertised ({found[0]} to {found[1]})"
            yield Fault("an answer", f"{what}; {closed}", side=REQUEST)


def _may_lack_login(info: ConnectionInfo) -> bool:
    """Whether nothing shows that requests are taken without SASL: no more than ApiVersions was answered."""
    kinds = [key for key, _ in info.api_versions_seen if key in PRELIMINARY]
    return info.mechanism is None and info.complete <= len(kinds)
