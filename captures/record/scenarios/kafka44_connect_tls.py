"""Apache Kafka 4.4.0, one KRaft node with TLS 1.2, TLS 1.3 and mutual TLS on listeners of its own, whose
certificate names kafka-1.example: connections that come to nothing. Plaintext clients, clients that use
another name or address, clients that do not trust the certificate, one that has none of its own, one with too
old a version. Java, kafka-python, librdkafka and aiokafka, openssl s_client; the key log of the handshakes
of TLS 1.3 that openssl made stands beside the capture.
"""

from captures.record.certificates import NAMED, trust
from captures.record.lab import Lab
from captures.record.scenarios._attempts import java_tries, openssl_tries, pythons_try
from captures.record.spec import HOST, Listener, Spec

_TLS12, _TLS13, _MUTUAL = 6, 7, 8  # roles of ports
NAME = "kafka44_connect_tls"
BROKER = Spec(
    "4.4.0",
    listeners=tuple(
        Listener(name, "SSL", role)
        for name, role in (("TLS12", _TLS12), ("TLS13", _TLS13), ("MUTUAL", _MUTUAL))
    ),
    properties={
        "listener.name.tls12.ssl.enabled.protocols": "TLSv1.2",
        "listener.name.tls13.ssl.enabled.protocols": "TLSv1.3",
        "listener.name.mutual.ssl.enabled.protocols": "TLSv1.2",
        "listener.name.mutual.ssl.client.auth": "required",
        "ssl.endpoint.identification.algorithm": "",
    },
)
_NONE = {"ssl.endpoint.identification.algorithm": ""}


def run(lab: Lab) -> None:
    """One misfortune after the other."""
    authority = str(trust(*NAMED))
    trusting = {
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": authority,
    }
    tls12, tls13, mutual = (f"{HOST}:{lab.cluster.nodes[0].port(role)}" for role in (_TLS12, _TLS13, _MUTUAL))
    java_tries(lab, "fine", tls12, trusting | _NONE)
    java_tries(lab, "plain", tls12)
    pythons_try(lab, "plain", tls13)
    java_tries(lab, "name", tls12, trusting)
    pythons_try(lab, "name", tls12, trust=authority)
    openssl_tries(
        lab, "name-o", tls12, "-servername", "kafka-2.example", "-verify_hostname", "kafka-2.example",
        "-CAfile", authority,
    )  # fmt: skip
    java_tries(lab, "stranger", tls12, {"security.protocol": "SSL"} | _NONE)
    openssl_tries(lab, "stranger-o", tls12, "-servername", "kafka-1.example")
    keys = lab.output / f"{NAME}.keys"
    keys.unlink(missing_ok=True)
    openssl_tries(
        lab, "name13-o", tls13, "-servername", "kafka-2.example", "-verify_hostname", "kafka-2.example",
        "-CAfile", authority, "-keylogfile", str(keys),
    )  # fmt: skip
    java_tries(lab, "mutual", mutual, trusting | _NONE)
    openssl_tries(lab, "old-o", tls12, "-tls1_1", "-cipher", "ALL:@SECLEVEL=0")
