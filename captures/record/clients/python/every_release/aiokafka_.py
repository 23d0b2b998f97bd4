"""Writes and reads with aiokafka."""

import asyncio
import time
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from driving import Flow, Options, emit, main, settings_of, told_to_stop


def _common(bootstrap: str, options: Options) -> dict[str, Any]:
    return {"bootstrap_servers": bootstrap, "client_id": options["client-id"]} | settings_of(options)


async def _writes(bootstrap: str, options: Options) -> None:
    async with AIOKafkaProducer(**_common(bootstrap, options)) as producer:
        flow = Flow.of(options)
        for numbers in flow.bursts(told_to_stop()):
            for number in numbers:
                await producer.send(flow.topic, flow.value(number), flow.key(number))
            await producer.flush()
    emit("wrote")


async def _reads(bootstrap: str, options: Options) -> None:
    settings = {"group_id": options["group"], "auto_offset_reset": "earliest"}
    left, end = int(options["count"]), time.monotonic() + int(options.get("seconds", "20"))
    async with AIOKafkaConsumer(options["topic"], **settings | _common(bootstrap, options)) as consumer:
        while left > 0 and time.monotonic() < end:
            left -= sum(map(len, (await consumer.getmany(timeout_ms=200)).values()))
    emit("seen", left=left)


if __name__ == "__main__":
    main(
        {
            "writes": lambda *what: asyncio.run(_writes(*what)),
            "reads": lambda *what: asyncio.run(_reads(*what)),
        }
    )
