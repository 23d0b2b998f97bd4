"""kafka-python's readers and builders of records: another opinion."""

import warnings

with warnings.catch_warnings():
    # The package reads its definitions, at import too, with a function the standard library deprecated.
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka.codec import lz4_encode_old_kafka as lz4_encode_old_kafka
    from kafka.record.default_records import DefaultRecordBatchBuilder as DefaultRecordBatchBuilder
    from kafka.record.legacy_records import LegacyRecordBatchBuilder as LegacyRecordBatchBuilder
    from kafka.record.memory_records import MemoryRecords as MemoryRecords
