"""ADM010: incrementalAlterConfigs must name a key once, with a value unless it is deleted."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Who
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import REQUEST, Violation
from kdissect.rules.views.body_view import Body

_DELETE = 1  # alterConfigOp


class ConflictingConfig(BodyRule):
    """IncrementalAlterConfigs must name a key once, with a value unless it is deleted.

    Apache Kafka answers INVALID_REQUEST; wrong is a broker that accepts it.

    Example: `retention.ms` twice for one topic.

    What to do: refuse it.
    """

    code = "ADM010"
    name = "conflicting-config"
    claim = Claim.REFUSED
    who = Who.BROKER
    cites = (
        "KIP-339 Proposed Changes",
        "org.apache.kafka.controller.ConfigurationControlManager#incrementalAlterConfigs",
    )
    on = (("IncrementalAlterConfigs", REQUEST),)
    refusable = True

    def check(self, body: Body) -> Iterator[Violation]:
        """The keys of each resource."""
        for at, resource in enumerate(body.value.resources):
            seen: set[str] = set()
            for index, config in enumerate(resource.configs):
                path = f"resources[{at}].configs[{index}]"
                if config.name in seen:
                    yield body.violation(path, "each key once", f"{config.name!r} again, accepted")
                elif config.value is None and config.config_operation != _DELETE:
                    yield body.violation(path, "a value unless deleted", f"{config.name!r} null, accepted")
                seen.add(config.name)
