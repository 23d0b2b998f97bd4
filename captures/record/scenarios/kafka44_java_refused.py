"""Apache Kafka 4.4.0, one KRaft node, Java client 4.4.0: a client is refused with a wrong SCRAM password,
twice, then comes back under the same client id with the right one; another asks for a mechanism that the
broker does not enable.
"""

from captures.record.administer import login
from captures.record.java import java
from captures.record.lab import Lab
from captures.record.spec import USERS, Spec

NAME = "kafka44_java_refused"
_ENABLED = "PLAIN,SCRAM-SHA-256"
BROKER = Spec("4.4.0", properties={"sasl.enabled.mechanisms": _ENABLED})
_MECHANISM = "SCRAM-SHA-256"
_WRONG = "wrong-pw-0001"


def run(lab: Lab) -> None:
    """Wrong, wrong, right; and a mechanism that is not there."""
    client = java("4.4.0")
    lab.run_driver(client, "ScramUser", client_id="creator", users=f"bob:{USERS['bob']}")
    right = login(_MECHANISM, "bob")
    wrong = {key: value.replace(USERS["bob"], _WRONG) for key, value in right.items()}
    lab.truth.principal("User:bob", _MECHANISM, USERS["bob"])
    lab.truth.secret(_WRONG)
    tries = (("Impostor", "orders", wrong), ("Impostor", "orders", wrong), ("Produce", "orders", right))
    for action, name, how in (*tries, ("Impostor", "stranger", login("SCRAM-SHA-512", "alice"))):
        lab.run_driver(
            client,
            action,
            client_id=name,
            bootstrap=lab.cluster.sasl,
            topic="secured",
            count=2,
            properties=how | {"max.block.ms": "3000"},
        )
    lab.truth.secret(USERS["alice"])
