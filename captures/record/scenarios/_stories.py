"""The stories that every client outside Java tells in its own way."""

from typing import Any

from captures.record.drivers import Driver
from captures.record.golang import franz
from captures.record.lab import Lab
from captures.record.scenarios._members import two_members
from captures.record.spec import USERS

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


def produce(lab: Lab, driver: Driver, codecs: tuple[str, ...] = CODECS, **options: Any) -> None:
    """Write a topic for each codec and each kind of acks, and read it back without a group."""
    variants = {f"codec-{codec}": {"codec": codec} for codec in codecs}
    variants |= {f"acks-{acks}": {"acks": acks} for acks in ("0", "1", "all")}
    for topic, variant in variants.items():
        write_and_read(lab, driver, topic, **variant, **options)


def write_and_read(lab: Lab, driver: Driver, topic: str, **options: Any) -> None:
    """Write six records of the story to a topic and read them."""
    lab.run_driver(driver, "produce", client_id=f"p-{topic}", topic=topic, label=topic, **options)
    lab.run_driver(driver, "consume", client_id=f"c-{topic}", topic=topic, count=6, **options)


def groups(lab: Lab, driver: Driver, *variants: dict[str, Any]) -> None:
    """Run groups of two members, one after the other, on the same six records."""
    lab.run_driver(driver, "produce", client_id="writer", topic="shared", label="grouped")
    for variant in variants:
        two_members(lab, driver, variant["group"], topic="shared", count=6, **variant)


def transactions(lab: Lab, driver: Driver) -> None:
    """One transaction commits, one aborts; a reader of committed records and one of all."""
    lab.run_driver(
        driver, "transactions", client_id="transactor", topic="ledger", id="ledger-tx", group="mover"
    )
    lab.run_driver(driver, "consume", client_id="committed", topic="ledger", count=6, isolation="committed")
    lab.run_driver(driver, "consume", client_id="uncommitted", topic="ledger", count=12)


def administer(lab: Lab, driver: Driver) -> None:
    """Every admin call the client has, by a user who logged in with PLAIN."""
    login = {"sasl": "PLAIN", "user": "admin", "password": USERS["admin"]}
    lab.truth.principal("User:admin", "PLAIN", USERS["admin"])
    lab.truth.secret("carol-secret")
    where = {"bootstrap": lab.cluster.sasl, "topic": "managed", "group": "managed-group"}
    lab.run_driver(driver, "admin", client_id="admin", **where, **login)


def authenticate(lab: Lab, driver: Driver, *mechanisms: str) -> None:
    """Write and read with PLAIN and SCRAM; franz-go makes the SCRAM user."""
    admin = {"sasl": "PLAIN", "user": "admin", "password": USERS["admin"]}
    maker = {"name": "alice", "secret": USERS["alice"], **admin}
    lab.run_driver(franz(), "scram-user", client_id="maker", bootstrap=lab.cluster.sasl, **maker)
    for mechanism in mechanisms:
        lab.truth.principal("User:alice", mechanism, USERS["alice"])
        login = {"sasl": mechanism, "user": "alice", "password": USERS["alice"]}
        write_and_read(lab, driver, mechanism.lower(), bootstrap=lab.cluster.sasl, **login)
