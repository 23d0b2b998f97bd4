"""Client libraries that run one after another with one broker: a listener and topics of its own for each."""

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from captures.record.drivers import Driver
from captures.record.spec import Listener, Spec

Step = tuple[str, dict[str, Any]]
"""An action of a driver, with its options."""
_OWN = ("topic", "group", "id", "transactional-id")  # options whose values each client has for itself
_FIRST_ROLE = 10  # after those of `captures.record.spec`


def role(clients: Iterable[str], client: str) -> int:
    """Return the role of the port that one of the clients has for itself."""
    return _FIRST_ROLE + list(clients).index(client)


def capture_of(release: str, client: str) -> str:
    """Return the name of the capture of one client with one release."""
    return f"kafka{''.join(release.split('.')[:2])}_{client}.pcapng"


def cluster(release: str, clients: Collection[str]) -> Spec:
    """Return one broker with its defaults, a listener for each client, and no unstable versions of APIs."""
    roles = [role(clients, client) for client in clients]
    stable = {"unstable.api.versions.enable": "false"} if release.startswith("4.") else {}
    return Spec(
        release,
        zookeeper=release.startswith("2."),
        listeners=tuple(Listener(f"C{each}", "PLAINTEXT", each) for each in roles),
        properties={"num.partitions": "2"} | stable,
    )


def commands(driver: Driver, bootstrap: str, steps: Iterable[Step], client: str) -> Iterator[list[str]]:
    """Yield the command of each step. Values of options in `_OWN` have the client's name at the end."""
    for at, (action, options) in enumerate(steps):
        command = [*driver.command, bootstrap, action, "--client-id", f"{client}-{at}"]
        for key, value in options.items():
            command += [f"--{key}", f"{value}-{client}" if key in _OWN else str(value)]
        yield command
