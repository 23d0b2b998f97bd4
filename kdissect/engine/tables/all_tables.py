"""All tables by name."""

from kdissect.engine.tables.capture_tables import ANOMALIES, CONNECTIONS, FILES
from kdissect.engine.tables.exchange_tables import BATCHES, EXCHANGES, RECORDS, TOPIC_PARTITIONS
from kdissect.engine.tables.judgement_tables import COVERAGE, FINDINGS
from kdissect.engine.tables.state_tables import GROUPS, PRODUCERS, TOPICS, TRANSACTIONS
from kdissect.engine.tables.table import Table
from kdissect.engine.tables.traffic_tables import LATENCIES, RATES

# Grows by one with the first release that has new columns or tables; nothing else may change (`evolution`).
TABLES_VERSION = 2

TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        FILES, CONNECTIONS, EXCHANGES, TOPIC_PARTITIONS, BATCHES, RECORDS, ANOMALIES, FINDINGS, COVERAGE,
        LATENCIES, RATES, TOPICS, GROUPS, PRODUCERS, TRANSACTIONS,
    )
}  # fmt: skip
