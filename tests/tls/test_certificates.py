"""Names in certificates that nobody should have made."""

import warnings
from pathlib import Path

import pytest

openssl = pytest.importorskip("tests.tls.openssl", reason="needs cryptography")

from cryptography import x509  # noqa: E402  known to be there by now
from cryptography.hazmat.primitives.serialization import Encoding  # noqa: E402

from kdissect.tls.certificate import certificate_in  # noqa: E402

SERIAL_1, SERIAL_MINUS_1 = b"\x02\x01\x01", b"\x02\x01\xff"


def test_a_negative_serial_number_is_no_warning_and_hides_no_name(tmp_path: Path) -> None:
    path = openssl.certificate(tmp_path, "broker.test", "ec")
    der = x509.load_pem_x509_certificate(path.read_bytes()).public_bytes(Encoding.DER)
    assert SERIAL_1 in der
    der = der.replace(SERIAL_1, SERIAL_MINUS_1, 1)
    entry = len(der).to_bytes(3) + der
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = certificate_in(len(entry).to_bytes(3) + entry, is_13=False)
    assert found is not None
    assert found.names == ("CN=broker.test", "broker.test")
    assert not told
