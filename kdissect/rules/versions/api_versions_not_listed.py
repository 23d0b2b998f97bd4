"""VER008: apiVersions must list itself."""

from collections.abc import Iterator

from kdissect.model.finding import Who
from kdissect.model.wording import plural
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import RESPONSE, Violation
from kdissect.rules.views.body_view import Body
from kdissect.rules.views.connection_view import API_VERSIONS


class ApiVersionsNotListed(BodyRule):
    """ApiVersions must list itself.

    Without its own entry a client cannot tell which version of ApiVersions to use.

    Example: an answer with error 0 and no API key 18.

    What to do: add the entry.
    """

    code = "VER008"
    name = "api-versions-not-listed"
    who = Who.BROKER
    cites = ("spec/002 5 Deprecation", "org.apache.kafka.clients.NetworkClient#handleApiVersionsResponse")
    on = (("ApiVersions", RESPONSE),)

    def check(self, body: Body) -> Iterator[Violation]:
        """The keys of a successful answer."""
        if body.value.error_code == 0 and all(key.api_key != API_VERSIONS for key in body.value.api_keys):
            yield body.violation(
                "api_keys",
                "an entry for API key 18",
                f"{plural(len(body.value.api_keys), 'entry', 'entries')} without it",
            )
