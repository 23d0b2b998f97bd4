"""`throttled-controller`: changes of topics are over their quota."""

from __future__ import annotations

from kdissect.causes.time.throttle import CONTROLLER, Throttled


class ThrottledController(Throttled):
    """Throttle times in answers to CreateTopics, CreatePartitions and DeleteTopics."""

    id = "throttled-controller"
    title = "Changes of topics wait for a quota"
    what = "creates or deletes more partitions than its quota allows"
    quota = "controller_mutation_rate"
    help = "Raise controller_mutation_rate of the user, or create and delete topics more slowly."

    def concerns(self, api_key: int) -> bool:
        """answers to CreateTopics, CreatePartitions and DeleteTopics."""
        return api_key in CONTROLLER
