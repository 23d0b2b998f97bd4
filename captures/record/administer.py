"""The calls of the AdminClient, in the order the admin scenarios of every broker share."""

from captures.record.drivers import Driver
from captures.record.lab import Lab
from captures.record.spec import USERS

_JAAS = "org.apache.kafka.common.security.{kind}.{name}LoginModule required {options};"


def login(mechanism: str, user: str) -> dict[str, str]:
    """Return a client's properties to authenticate by PLAIN, SCRAM-SHA-256/512 or OAUTHBEARER (unsecured
    JWS).
    """
    if mechanism == "OAUTHBEARER":
        options = f'unsecuredLoginStringClaim_sub="{user}"'
        jaas = _JAAS.format(kind="oauthbearer", name="OAuthBearer", options=options)
    else:
        kind, name = ("plain", "Plain") if mechanism == "PLAIN" else ("scram", "Scram")
        options = f'username="{user}" password="{USERS[user]}"'
        jaas = _JAAS.format(kind=kind, name=name, options=options)
    return {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": mechanism, "sasl.jaas.config": jaas}


def administer(lab: Lab, client: Driver) -> None:
    """Topics, configs, offsets, reassignments, ACLs, quotas, SCRAM users, tokens and classic groups."""
    lab.truth.secret("carol-pw-3aa1")
    lab.truth.secret("dave-pw-88e2")
    directory = lab.cluster.nodes[0].home
    brokers = len(lab.cluster.nodes)
    lab.run_driver(
        client, "AdminTopics", client_id="admin-topics", topic="managed", brokers=brokers, dir=directory
    )
    lab.run_driver(client, "AdminAccess", client_id="admin-access")
    for user in ("admin", "alice"):
        lab.truth.principal(f"User:{user}", "PLAIN", USERS[user])
    lab.run_driver(
        client,
        "AdminTokens",
        client_id="admin-tokens",
        bootstrap=lab.cluster.sasl,
        properties=login("PLAIN", "admin"),
    )
    groups(lab, client)


def groups(lab: Lab, client: Driver) -> None:
    """Run a group with a static member and an empty group, and call the APIs of groups on both."""
    lab.run_driver(client, "Produce", client_id="g-producer", topic="grouped", count=6)
    lab.run_driver(
        client, "Consume", client_id="g-idle", topic="grouped", group="idle", count=6, commit="true"
    )
    live = lab.start_driver(
        client,
        "Consume",
        client_id="g-live",
        topic="grouped",
        group="live",
        wait="true",
        properties={"group.instance.id": "static-1", "session.timeout.ms": "6000"},
    )
    live.until("assigned")
    lab.run_driver(
        client,
        "AdminGroups",
        client_id="admin-groups",
        topic="grouped",
        group="live",
        idle="idle",
        static_member="static-1",
    )
    live.stop()
