"""REC019: The codec of a batch must be one that its magic has."""

from collections.abc import Iterator

from kdissect.model.record_batch import Codec
from kdissect.rules.kinds import BatchRule
from kdissect.rules.rule import Fault
from kdissect.rules.views.batch_view import Batch


class UnknownCodec(BatchRule):
    """The codec of a batch must be one that its magic has.

    0 none, 1 gzip, 2 snappy, 3 lz4, and from magic 2 on 4 zstd. Brokers and consumers fail to read others.

    Example: codec 6.

    What to do: use one of them.
    """

    code = "REC019"
    name = "codec"
    cites = ("spec/001 5.3.1 Record Batch", "spec/001 5.3.3 Old Message Format", "KIP-110")

    def check(self, batch: Batch) -> Iterator[Fault]:
        """The codec, against those of the magic."""
        most = Codec.ZSTD if batch.is_current else Codec.LZ4
        if batch.batch.codec > most:
            yield batch.fault("attributes", f"a codec from 0 to {int(most)}", f"codec {batch.batch.codec}")
