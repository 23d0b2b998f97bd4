"""Apache Kafka 4.4.0, one KRaft node, Java client 4.4.0 on the SASL listener: PLAIN, SCRAM-SHA-256, SCRAM-
SHA-512, OAUTHBEARER with unsecured tokens and a delegation token through SCRAM; a wrong password for each
kind; a consumer that lives longer than its credentials and authenticates again in the middle of its work
(connections.max.reauth.ms is 3 s).
"""

from captures.record.administer import login
from captures.record.drivers import Driver
from captures.record.java import java
from captures.record.lab import Lab
from captures.record.spec import USERS, Spec

NAME = "kafka44_java_sasl"
BROKER = Spec("4.4.0", properties={"listener.name.sasl.connections.max.reauth.ms": "3000"})
_MECHANISMS = {"PLAIN": "alice", "SCRAM-SHA-256": "bob", "SCRAM-SHA-512": "alice", "OAUTHBEARER": "bob"}


def run(lab: Lab) -> None:
    """Users, each mechanism right and wrong, a token, re-authentication."""
    client = java("4.4.0")
    users = ",".join(f"{name}:{password}" for name, password in USERS.items())
    lab.run_driver(client, "ScramUser", client_id="creator", users=users)
    for mechanism, user in _MECHANISMS.items():
        lab.truth.principal(f"User:{user}", mechanism, "" if mechanism == "OAUTHBEARER" else USERS[user])
        _produce(lab, client, f"as-{mechanism.lower()}", login(mechanism, user))
    for mechanism in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"):
        wrong = {
            key: value.replace(USERS["bob"], "wrong-pw-0000")
            for key, value in login(mechanism, "bob").items()
        }
        _produce(lab, client, f"wrong-{mechanism.lower()}", wrong, action="Impostor")
    lab.truth.secret("wrong-pw-0000")
    _token(lab, client)
    lab.run_driver(
        client,
        "Consume",
        client_id="long-lived",
        bootstrap=lab.cluster.sasl,
        topic="secured",
        group="reauthenticating",
        polls=25,
        properties=login("SCRAM-SHA-512", "alice") | {"heartbeat.interval.ms": "1000"},
    )


def _produce(lab: Lab, client: Driver, name: str, how: dict[str, str], action: str = "Produce") -> None:
    lab.run_driver(
        client,
        action,
        client_id=name,
        bootstrap=lab.cluster.sasl,
        topic="secured",
        count=2,
        properties=how | {"max.block.ms": "5000"},
    )


def _token(lab: Lab, client: Driver) -> None:
    bootstrap = lab.cluster.sasl
    events = lab.run_driver(
        client,
        "AdminTokens",
        client_id="token-owner",
        bootstrap=bootstrap,
        keep="true",
        properties=login("PLAIN", "admin"),
    )
    token = next(event for event in events if event["event"] == "token")
    lab.truth.principal("User:admin by delegation token", "SCRAM-SHA-256", token["hmac"])
    jaas = login("SCRAM-SHA-256", "bob")
    jaas["sasl.jaas.config"] = (
        "org.apache.kafka.common.security.scram.ScramLoginModule required "
        f'username="{token["id"]}" password="{token["hmac"]}" tokenauth="true";'
    )
    _produce(lab, client, "by-token", jaas)
