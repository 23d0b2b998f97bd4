"""REC026: A transactional batch must have a producer id, and its request a transactional id."""

from collections.abc import Iterator

from kdissect.model.finding import Who
from kdissect.model.record_batch import NO_PRODUCER_ID
from kdissect.rules.kinds import BatchRule
from kdissect.rules.rule import Fault
from kdissect.rules.views.batch_view import Batch


class TransactionalWithoutProducer(BatchRule):
    """A transactional batch must have a producer id, and its request a transactional id.

    Without them nothing can end the transaction. Brokers answer TRANSACTIONAL_ID_AUTHORIZATION_FAILED to a
    request without a transactional id.

    Example: attributes 0x0010 with producer id -1.

    What to do: call InitProducerId with a transactional id first.
    """

    code = "REC026"
    name = "transactional-producer"
    who = Who.CLIENT
    cites = ("KIP-98", "kafka.server.KafkaApis")
    produced = True
    magics = (2,)

    def check(self, batch: Batch) -> Iterator[Fault]:
        """Transactional batches in a Produce."""
        if not batch.batch.is_transactional:
            return
        if batch.batch.producer_id == NO_PRODUCER_ID:
            yield batch.fault("producer_id", "a producer id", "-1")
        elif getattr(batch.body.value, "transactional_id", None) is None:
            yield batch.fault("attributes", "a transactional_id in the request", "null")
