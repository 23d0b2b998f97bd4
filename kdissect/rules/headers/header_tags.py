"""HDR004: headers have no tagged fields so far."""

from collections.abc import Iterator

from kdissect.decoders.headers import request_header_version
from kdissect.model.finding import Claim, Level
from kdissect.model.wording import plural
from kdissect.rules.guards import ExchangeFact
from kdissect.rules.headers.frame_readings import body_without_tags, has_tags, tags_at
from kdissect.rules.kinds import ExchangeRule
from kdissect.rules.rule import REQUEST, RESPONSE, Once, Violation
from kdissect.rules.views.connection_view import ConnectionView
from kdissect.schema import protocol_messages
from kdissect.session.exchange import Exchange


class HeaderTags(ExchangeRule):
    """Headers have no tagged fields so far.

    The tag section of a header is for the future: no tag is defined. Tags there are legal and ignored.

    Example: a request header v2 whose tag section holds tag 5.

    What to do: nothing, unless the tags are not yours.
    """

    code = "HDR004"
    name = "header-tags"
    level = Level.INFO
    claim = Claim.DIFFERS
    cites = ("spec/004 tagged_fields",)
    once = Once.PARTY
    guard = ExchangeFact.HEADER_TAGS

    def concerns(self, api_key: int | None, api_version: int | None) -> bool:
        """Versions whose headers have a tag section."""
        api = None if api_key is None else protocol_messages.api(api_key)
        if api_key is None or api_version is None or api is None or api_version not in api.versions:
            return False
        return request_header_version(api_key, api_version) == 2

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Violation]:
        """Whether more than an empty section stands before the body."""
        key, version = exchange.api_key, exchange.api_version
        if key is None or version is None or exchange.is_unknown:
            return
        request, response = exchange.request, exchange.response
        for side, frame, end in (
            (REQUEST, request, exchange.request_body_offset),
            (RESPONSE, response, exchange.response_body_offset),
        ):
            is_response = side == RESPONSE
            if frame is None or frame.is_cut or not has_tags(key, version, is_response):
                continue
            start = tags_at(frame.data, is_response)
            if not start + 1 < end < len(frame.data):
                continue
            if body_without_tags(frame.data, key, version, is_response) is None:  # else they are the body
                seen = f"{plural(end - start, 'byte')} of tags"
                yield Violation("an empty tag section", seen, start=start, end=end, side=side)
