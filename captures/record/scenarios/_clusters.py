"""What the scenarios of several clusters on one host share."""

import base64
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from captures.record import java
from captures.record.broker import Cluster
from captures.record.lab import Lab

SECOND = base64.urlsafe_b64encode(b"kdissect-second!").decode().rstrip("=")
"""The id of the second cluster."""


@contextmanager
def another(lab: Lab, beside: int = 50, properties: Mapping[str, str] | None = None) -> Iterator[Cluster]:
    """Start a second cluster like the first one, on ports that are higher by `beside`."""
    spec = replace(lab.cluster.spec, properties={**lab.cluster.spec.properties, **(properties or {})})
    cluster = Cluster(spec, lab.cluster.base + beside, java.extensions(), SECOND)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.close()
