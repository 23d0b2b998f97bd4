"""Apache Kafka 4.4.0, one KRaft node, franz-go on the SASL listener: an admin by PLAIN makes SCRAM users,
who write and read with SCRAM-SHA-256 and SCRAM-SHA-512; a wrong password is refused.
"""

from captures.record.golang import franz
from captures.record.lab import Lab
from captures.record.spec import USERS, Spec

NAME = "kafka44_franz_sasl"
BROKER = Spec("4.4.0", properties={"num.partitions": "2"})


def run(lab: Lab) -> None:
    """PLAIN first: SCRAM users exist only once an admin made them."""
    client = franz()
    for user in ("alice", "bob"):
        lab.run_driver(
            client,
            "scram-user",
            bootstrap=lab.cluster.sasl,
            client_id="maker",
            **_login(lab, "admin", "PLAIN"),
            name=user,
            secret=USERS[user],
        )
    for user, mechanism in (("alice", "SCRAM-SHA-256"), ("bob", "SCRAM-SHA-512")):
        options = {"bootstrap": lab.cluster.sasl, "topic": f"of-{user}", **_login(lab, user, mechanism)}
        lab.run_driver(client, "produce", client_id=f"p-{user}", **options)
        lab.run_driver(client, "consume", client_id=f"c-{user}", count=6, **options)
    wrong = {"sasl": "SCRAM-SHA-256", "user": "alice", "password": "not-hers-9d"}
    lab.truth.secret("not-hers-9d")
    lab.run_driver(
        client, "produce", client_id="intruder", bootstrap=lab.cluster.sasl, topic="of-alice", **wrong
    )


def _login(lab: Lab, user: str, mechanism: str) -> dict[str, str]:
    lab.truth.principal(f"User:{user}", mechanism, USERS[user])
    return {"sasl": mechanism, "user": user, "password": USERS[user]}
