"""PAI009: A batch must be answered with one result for each entry."""

from collections.abc import Iterator

from kdissect.model.finding import Severity, Who
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import BOTH_FRAMES, RESPONSE, Violation
from kdissect.rules.views.body_view import Body

# request list, response list
_LISTS = {
    "CreateTopics": ("topics", "topics"),
    "DeleteGroups": ("groups_names", "results"),
    "DescribeGroups": ("groups", "groups"),
    "FindCoordinator": ("coordinator_keys", "coordinators"),
    "LeaveGroup": ("members", "members"),
    "CreateAcls": ("creations", "results"),
    "IncrementalAlterConfigs": ("resources", "responses"),
}


class OtherCount(BodyRule):
    """A batch must be answered with one result for each entry.

    Example: DescribeGroups for two groups, one described.

    What to do: answer each entry, with an error code if need be.
    """

    code = "PAI009"
    name = "other-count"
    severity = Severity.WARNING
    who = Who.BROKER
    needs = BOTH_FRAMES
    cites = ("kafka.server.KafkaApis", "spec/000 Common Request and Response Structure")
    on = tuple((name, RESPONSE) for name in _LISTS)

    def check(self, body: Body) -> Iterator[Violation]:
        """Lengths of both lists; not where the answer as a whole is an error."""
        asked = body.other()
        first, second = _LISTS[body.api.name]
        wanted, given = getattr(asked, first, None), getattr(body.value, second, None)
        if wanted is None or given is None or getattr(body.value, "error_code", None):
            return
        distinct = len({getattr(w, "name", None) if first == "topics" else i for i, w in enumerate(wanted)})
        if len(given) not in (len(wanted), distinct):
            yield body.violation(second, f"{len(wanted)} results", f"{len(given)} results")
