#!/usr/bin/env bash
# The mock cluster of librdkafka 2.16.0 delivers an aborted transaction to a consumer with READ_COMMITTED.
#
# test.mock.num.brokers starts brokers inside a client, for the tests of applications. They accept transactional
# producers.
#
# Expected: a consumer with isolation.level=read_committed receives no record of an aborted transaction (KIP-98): a Fetch
# response lists the aborted transactions, and a marker ends each. A marker is a record batch with a CRC, which the
# consumers of Java, aiokafka, and librdkafka with check.crcs=true compare. Apache Kafka does both.
# Observed: the record of the aborted transaction arrives. With check.crcs=true the consumer then reports _BAD_MSG in place
# of the committed record, because the CRC of the marker is 0. aiokafka 0.14.0 delivers the aborted record too, and raises
# CorruptRecordException. We found no public report; librdkafka#5349 is about share consumers of the mock cluster.
#
# Consequence for captures: a recording of such a test has an aborted transaction that the Fetch response does not list. A
# test of what an application does after an abort sees the opposite of production.
#
# Needs python3 with venv. Exit codes: see README.md.
set -uo pipefail

cannot() { echo "Cannot run: $*"; exit 77; }
command -v python3 > /dev/null || cannot "python3 is missing"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || cannot "no temporary folder"
{ python3 -m venv venv && venv/bin/pip install -q --no-cache-dir confluent-kafka==2.16.1 aiokafka==0.14.0; } > pip.log 2>&1 \
    || cannot "PyPI: $(tail -1 pip.log)"

cat > mock.py <<'PYTHON'
import asyncio
import time

import aiokafka
from aiokafka.errors import CorruptRecordException
from confluent_kafka import Consumer, Producer, TopicPartition

cluster = Producer({"bootstrap.servers": "none:1", "test.mock.num.brokers": 1, "log_level": 0})
(broker,) = cluster.list_topics("events", timeout=60).brokers.values()
address = f"{broker.host}:{broker.port}"
server = {"bootstrap.servers": address, "log_level": 0}

producer = Producer({**server, "transactional.id": "one"})
producer.init_transactions(60)
for value in ("aborted", "committed"):
    producer.begin_transaction()
    producer.produce("events", value=value, partition=0)
    assert producer.flush(60) == 0
    if value == "aborted":
        producer.abort_transaction(60)
    else:
        producer.commit_transaction(60)


def read(**options):
    """Return what a consumer receives up to the committed record or the first error."""
    level = {"group.id": "none", "isolation.level": "read_committed", "enable.auto.commit": False}
    consumer = Consumer({**server, **level, **options})
    consumer.assign([TopicPartition("events", 0, 0)])
    seen = []
    end = time.monotonic() + 60
    while time.monotonic() < end and seen[-1:] != ["committed"]:
        message = consumer.poll(1)
        if message is None:
            continue
        if message.error():
            seen.append(message.error().name())
            break
        seen.append(message.value().decode())
    consumer.close()
    return seen


async def read_with_aiokafka():
    consumer = aiokafka.AIOKafkaConsumer(
        bootstrap_servers=address, isolation_level="read_committed", auto_offset_reset="earliest"
    )
    seen = []
    await consumer.start()
    try:
        consumer.assign([aiokafka.TopicPartition("events", 0)])
        while seen[-1:] != ["committed"]:
            seen.append((await asyncio.wait_for(consumer.getone(), 60)).value.decode())
    except CorruptRecordException as problem:
        seen.append(type(problem).__name__)
    finally:
        await consumer.stop()
    return seen


print("librdkafka:", *read())
print("librdkafka, check.crcs=true:", *read(**{"check.crcs": True}))
print("aiokafka:", *asyncio.run(read_with_aiokafka()))
PYTHON
seen=$(venv/bin/python mock.py 2> /dev/null)

echo "$seen"
[ "$seen" = "librdkafka: aborted committed
librdkafka, check.crcs=true: aborted _BAD_MSG
aiokafka: aborted CorruptRecordException" ] || { echo "Changed: the output differs from the finding."; exit 1; }
echo "The finding holds: READ_COMMITTED delivers the aborted record, and the marker has no valid CRC."
