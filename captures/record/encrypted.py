"""What the TLS scenarios share: a proxy in front of the broker, and clients that use one cipher suite
after the other.
"""

import ssl
from collections.abc import Iterable

from captures.record.certificates import trust
from captures.record.java import java
from captures.record.lab import Lab
from captures.record.spec import HOST
from captures.record.tlsproxy import TlsProxy


def encrypted(
    lab: Lab, version: ssl.TLSVersion, roles: tuple[int, int], suites: Iterable[str], name: str
) -> None:
    """Write and read through TLS; the key log becomes NAME.keys beside the capture."""
    front, behind = (lab.cluster.nodes[0].port(role) for role in roles)
    proxy = TlsProxy(version, front, behind, lab.output / f"{name}.keys")
    lab.truth.note(f"port {front} is the proxy's TLS side, port {behind} the plain side of the same bytes")
    client = java("4.4.0")
    common = {
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(trust()),
        "ssl.enabled.protocols": version.name.replace("_", "."),
        "ssl.protocol": version.name.replace("_", "."),
    }
    for suite in suites:
        properties = common | {"ssl.cipher.suites": suite}
        topic = suite.lower().replace("_", "-")
        where = {"bootstrap": f"{HOST}:{front}", "topic": topic, "count": 3, "properties": properties}
        lab.run_driver(client, "Produce", client_id=f"p-{topic}", **where)
        lab.run_driver(client, "Consume", client_id=f"c-{topic}", group=f"g-{topic}", commit="true", **where)
    proxy.close()
