"""KRF003: The epoch that a node of the metadata quorum names must not go back."""

from kdissect.history.epochs.quorum_epochs import QuorumFact
from kdissect.model.finding import Severity
from kdissect.rules.kinds import FactRule


class QuorumEpochBack(FactRule):
    """The epoch that a node of the metadata quorum names must not go back.

    In Vote, BeginQuorumEpoch, EndQuorumEpoch, FetchSnapshot and Fetch of the metadata log, and in their
    answers. A node keeps it over restarts, so that it votes once in an epoch.

    Example: epoch 5 in a Vote, then 4.

    What to do: look whether the node lost its quorum-state file.
    """

    code = "KRF003"
    name = "quorum-epoch"
    severity = Severity.WARNING
    cites = ("KIP-595",)
    facts = (QuorumFact.WENT_BACK,)
    expects = "epoch {} or higher"
    sees = "epoch {}"
