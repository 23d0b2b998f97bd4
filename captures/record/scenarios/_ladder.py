"""franz-go held to the API versions of one Kafka release after the other."""

from captures.record.golang import franz
from captures.record.lab import Lab
from captures.record.scenarios._members import two_members


def climb(lab: Lab, releases: list[str], actions: list[str]) -> None:
    """At each release write, then do the actions; before 0.11 there are no headers, before 2.1 no zstd."""
    for release in releases:
        name = "v" + release.replace(".", "-")
        number = tuple(int(part) for part in release.split("."))
        options = {"max": release, "topic": name}
        codec = "zstd" if number >= (2, 1) else "gzip"
        headers = "yes" if number >= (0, 11) else "no"
        write = {"label": name, "codec": codec, "headers": headers, "count": 4, **options}
        _step(lab, "produce", client_id=f"p-{name}", **write)
        _step(lab, "consume", client_id=f"c-{name}", count=4, **options)
        if number >= (0, 11) and "transactions" in actions:
            _step(lab, "transactions", client_id=f"t-{name}", id=f"tx-{name}", count=2, **options)
        if number >= (0, 9) and "group" in actions:
            two_members(lab, franz(), f"g-{name}", group=f"group-{name}", count=4, **options)
        if number >= (0, 10) and "admin" in actions:
            managed = {"max": release, "topic": f"{name}-managed", "group": f"{name}-managed"}
            _step(lab, "admin", client_id=f"a-{name}", **managed)


def _step(lab: Lab, action: str, **options: object) -> None:
    lab.run_driver(franz(), action, **options)
