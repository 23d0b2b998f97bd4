"""Apache Kafka 4.4.0, one KRaft node, Java client 4.4.0 through a proxy that ends TLS 1.2: a producer and
a consumer group for each cipher suite. Both legs are captured, the encrypted one before the proxy and the
plain one behind it; the key log stands beside the capture.
"""

import ssl

from captures.record.encrypted import encrypted
from captures.record.lab import Lab
from captures.record.spec import TLS12, TLS12_PLAIN, Spec

NAME = "kafka44_java_tls12"
BROKER = Spec("4.4.0", tls=True)
_SUITES = (
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA384",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
    "TLS_RSA_WITH_AES_128_GCM_SHA256",
)


def run(lab: Lab) -> None:
    """Every cipher suite once."""
    encrypted(lab, ssl.TLSVersion.TLSv1_2, (TLS12, TLS12_PLAIN), _SUITES, NAME)
