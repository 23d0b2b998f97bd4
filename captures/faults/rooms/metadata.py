"""Faults of metadata and connections."""

from captures.faults.clients import JAVA, KAFKA_PYTHON, LIBRDKAFKA
from captures.faults.fault import fault
from captures.faults.room import Room
from captures.record.spec import Spec

_ITEMS = {"items": "2:1"}
_CREATING = Spec("4.4.0", properties={"auto.create.topics.enable": "true"})


@fault("metadata-storm", topics=_ITEMS)
def metadata_storm(room: Room) -> None:
    """Clients ask for metadata many times a second."""
    room.crowd()
    age = room.among(15, 40, 30)
    room.injects(f"metadata.max.age.ms={age}", client_id="catalog", topic=room.name("items"))
    settings: dict[str, object] = {"metadata.max.age.ms": age, "retry.backoff.ms": 10}
    if room.variant == 1:
        settings["retry.backoff.max.ms"] = 20
    room.writes("catalog", "items", settings, pace=60, keys=30)
    room.lasts(room.among(9, 8, 8))


@fault("connection-churn", topics=_ITEMS)
def connection_churn(room: Room) -> None:
    """A client opens a connection for each record and closes it again."""
    room.crowd()
    room.injects("a new producer for every record", client_id="lambda", topic=room.name("items"))
    library = room.among(KAFKA_PYTHON, LIBRDKAFKA, KAFKA_PYTHON)
    client = room.client(library)
    settings = client.settings({"compression.type": "gzip", "linger.ms": 0})
    room.lab.start_driver(
        client.driver, "churns", client_id="lambda", properties=settings, topic=room.name("items"),
        burst=room.among(1, 1, 2), pace=room.among(200, 150, 100), keys=30,
    )  # fmt: skip
    room.lasts(room.among(10, 8, 9))


@fault("unknown-topic", topics=_ITEMS)
def unknown_topic(room: Room) -> None:
    """A client asks for a topic that does not exist, again and again."""
    room.crowd()
    room.injects("the topic of stock does not exist", client_id="stock", topic=room.name("itmes"))
    if room.variant == 2:
        room.reads("stock", "itmes", "stocks", library=LIBRDKAFKA)
    else:
        settings = {"max.block.ms": 20000, "retry.backoff.ms": room.among(500, 0, 400)}
        room.writes("stock", "itmes", settings, pace=1000, keys=10)
    room.writes("items-api", "items", library=LIBRDKAFKA, pace=600, keys=10)
    room.lasts(room.among(10, 12, 10))


@fault("topic-created-by-accident", broker=_CREATING, topics=_ITEMS)
def topic_created_by_accident(room: Room) -> None:
    """A topic's name is misspelt, and the broker creates the topic that was asked for."""
    room.crowd()
    room.writes("items-api", "items", library=LIBRDKAFKA, pace=600, keys=10).until("wrote")
    room.injects(
        "stock writes to a misspelt topic, which is created", client_id="stock", topic=room.name("itmes")
    )
    library = room.among(JAVA, LIBRDKAFKA, KAFKA_PYTHON)
    room.writes("stock", "itmes", pace=500, keys=10, library=library)
    room.lasts(room.among(8, 7, 7))
