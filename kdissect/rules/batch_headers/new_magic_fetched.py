"""REC015: Fetch v0 and v1 must be answered with magic 0, v2 and v3 with magic 1 at most."""

from collections.abc import Iterator

from kdissect.model.finding import Who
from kdissect.rules.kinds import BatchRule
from kdissect.rules.rule import BOTH_FRAMES, Fault
from kdissect.rules.views.batch_view import Batch

# Versions of Fetch (kafka.server.KafkaApis before 4.0, KIP-724).
MAGIC_0_UNTIL, MAGIC_1_UNTIL = 1, 3


class NewMagicFetched(BatchRule):
    """Fetch v0 and v1 must be answered with magic 0, v2 and v3 with magic 1 at most.

    Clients of these versions cannot read more. Brokers convert down, or answer UNSUPPORTED_VERSION.
    Replicas fetch what is stored, whatever the version.

    Example: a batch of magic 2 in Fetch v3.

    What to do: convert down, or refuse the version.
    """

    code = "REC015"
    name = "fetch-magic"
    who = Who.BROKER
    needs = BOTH_FRAMES
    cites = ("KIP-98", "KIP-724", "spec/000 Fetch API")
    produced = False

    def check(self, batch: Batch) -> Iterator[Fault]:
        """The magic of what clients fetched."""
        if batch.body.api.name != "Fetch" or batch.version > MAGIC_1_UNTIL:
            return
        most = 0 if batch.version <= MAGIC_0_UNTIL else 1
        asked = batch.body.other()
        if batch.batch.magic > most and asked is not None and asked.replica_id < 0:
            yield batch.fault("magic", f"{most} at most", batch.batch.magic)
