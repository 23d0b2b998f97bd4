"""Facts of handshakes: groups, offers, and dates of certificates, against OpenSSL and recorded peers."""

import datetime
import json
import ssl
from pathlib import Path
from typing import Any

import pytest

openssl = pytest.importorskip("tests.tls.openssl", reason="needs cryptography")

from cryptography import x509  # noqa: E402  known to be there by now

from kdissect.tls.certificate import date_text  # noqa: E402
from kdissect.tls.groups import group_name, is_grease, is_post_quantum  # noqa: E402
from tests.tls.listener import Listener, Secrets  # noqa: E402
from tests.tls.record_handshakes import RECORDED, SCENARIOS  # noqa: E402

V12, V13 = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3
LINES = [(openssl.CLIENT, b"question"), (openssl.SERVER, b"answer")]
CURVES = {"prime256v1": "secp256r1", "secp384r1": "secp384r1", "secp521r1": "secp521r1", "X25519": "x25519",
          "X448": "x448"}  # fmt: skip

# RFC 7919 appendix A.1, as `openssl genpkey -genparam -algorithm DH -pkeyopt group:ffdhe2048` prints it.
FFDHE_2048 = """\
-----BEGIN DH PARAMETERS-----
MIIBCAKCAQEA//////////+t+FRYortKmq/cViAnPTzx2LnFg84tNpWp4TZBFGQz
+8yTnc4kmz75fS/jY2MMddj2gbICrsRhetPfHtXV/WVhJDP1H18GbtCFY2VVPe0a
87VXE15/V8k1mE8McODmi3fipona8+/och3xWKE2rec1MKzKT0g6eXq8CrGCsyT7
YdEIqUuyyOP7uWrat2DX9GgdT0Kj3jlN9K5W7edjcrsZCwenyO4KbXCeAvzhzffi
7MA0BM0oNC9hkXL+nOmFg/+OTxIy7vKBg8P+OxtMb61zO7X8vC7CIAXFjvGDfRaD
ssbzSibBsu/6iGtCOGEoXJf//////////wIBAg==
-----END DH PARAMETERS-----
"""


def heard(
    folder: Path, version: ssl.TLSVersion, suite: str = "", curve: str = "", *, keys: bool = False
) -> Any:
    """Return the facts of a conversation of OpenSSL with itself, and its certificate."""
    peers = openssl.Peers(folder, version, suite)
    if curve:
        try:
            peers.server_context.set_ecdh_curve(curve)
        except ssl.SSLError as error:  # of Debian's Python 3.11.2
            pytest.skip(f"the ssl module of this Python does not choose {curve}: {error.reason}")
    talk = peers.talk(LINES)
    listener = Listener(Secrets(talk.key_log if keys else b"")).hear(talk.wire, 1460).end()
    pem = (folder / "broker.test-rsa.pem").read_bytes()
    return listener.info, x509.load_pem_x509_certificate(pem)


@pytest.mark.parametrize("version", [V12, V13])
@pytest.mark.parametrize("curve", CURVES)
def test_the_group_is_known_without_keys(tmp_path: Path, version: ssl.TLSVersion, curve: str) -> None:
    if version is V12 and curve == "X448":
        pytest.skip("OpenSSL does not choose X448 for an RSA certificate of this strength in TLS 1.2")
    info, _ = heard(tmp_path, version, curve=curve)
    assert info.group == CURVES[curve]
    assert is_post_quantum(info.group) is False
    assert CURVES[curve] in info.offered_groups
    assert info.offered_versions == ("TLS 1.2" if version is V12 else "TLS 1.3",)


@pytest.mark.parametrize(
    ("suite", "group"), [("AES128-GCM-SHA256", None), ("DHE-RSA-AES128-GCM-SHA256", "DHE 2048 bits")]
)
def test_key_exchanges_without_a_curve(tmp_path: Path, suite: str, group: str | None) -> None:
    peers = openssl.Peers(tmp_path, V12, suite)
    if group is not None:
        dh = tmp_path / "dh.pem"
        dh.write_text(FFDHE_2048)
        peers.server_context.load_dh_params(str(dh))
    talk = peers.talk(LINES)
    assert Listener(Secrets(b"")).hear(talk.wire, 1460).end().info.group == group


def test_dates_of_the_certificate_in_tls_12_need_no_keys(tmp_path: Path) -> None:
    info, certificate = heard(tmp_path, V12)
    assert info.certificate.valid_from_ns == int(certificate.not_valid_before_utc.timestamp()) * 10**9
    assert info.certificate.valid_until_ns == int(certificate.not_valid_after_utc.timestamp()) * 10**9
    assert info.certificate.issuer == "CN=broker.test"
    assert date_text(info.certificate.valid_from_ns) == "2026-01-01T00:00:00Z"


def test_dates_of_the_certificate_in_tls_13_need_keys(tmp_path: Path) -> None:
    info, certificate = heard(tmp_path, V13, keys=True)
    until = certificate.not_valid_after_utc
    assert date_text(info.certificate.valid_until_ns) == f"{until:%Y-%m-%dT%H:%M:%SZ}"
    (without := tmp_path / "without").mkdir()
    info, _ = heard(without, V13)
    assert info.certificate is None
    assert info.group is not None


def test_a_date_before_1970() -> None:
    seconds = datetime.timedelta(days=-7305).total_seconds()
    assert date_text(int(seconds) * 10**9) == "1950-01-01T00:00:00Z"


@pytest.mark.parametrize("name", SCENARIOS)
def test_groups_of_recorded_peers(name: str) -> None:
    talk = json.loads((RECORDED / f"{name}.json").read_text())
    wire = [(direction, bytes.fromhex(data)) for direction, data in talk["wire"]]
    info = Listener(Secrets(b"")).hear(wire, 1460).end().info
    assert info.group in (*info.offered_groups, None)
    assert (info.group == "X25519MLKEM768") == (name == "go_post_quantum")
    assert not any(name.startswith("0x") for name in info.offered_groups)


def test_names_of_groups() -> None:
    assert group_name(0x11EC) == "X25519MLKEM768"
    assert [is_post_quantum(name) for name in ("X25519MLKEM768", "x25519", group_name(0xFFFE))] == [
        True,
        False,
        None,
    ]
    assert is_grease(0x0A0A)
    assert is_grease(0xFAFA)
    assert not is_grease(0x0A1A)
    assert not is_grease(0x11EC)
