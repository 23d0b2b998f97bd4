"""Properties files of Kafka clients become settings of kafka-python."""

from pathlib import Path

import pytest

from kdissect.broker_loggers.client_properties import PropertiesError, settings_from, settings_of
from kdissect.cli import main

PLAIN_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"


def test_names_of_the_java_client(tmp_path: Path) -> None:
    file = tmp_path / "admin.properties"
    file.write_text(
        "# comment\nbootstrap.servers=other:9092\nsecurity.protocol = SASL_SSL\nsasl.mechanism: PLAIN\n"
        f'sasl.jaas.config={PLAIN_LOGIN} \\\n  username="admin" password="a\\\\"b;c";\n'
        "ssl.truststore.type=PEM\nssl.truststore.location=ca.pem\n"
        "ssl.keystore.type=PEM\nssl.keystore.location=me.pem\nssl.key.password=k\n"
        "ssl.endpoint.identification.algorithm=\n"
    )
    assert settings_of(str(file)) == {
        "security_protocol": "SASL_SSL", "sasl_mechanism": "PLAIN", "sasl_plain_username": "admin",
        "sasl_plain_password": 'a"b;c', "ssl_cafile": "ca.pem", "ssl_certfile": "me.pem",
        "ssl_keyfile": "me.pem", "ssl_password": "k", "ssl_check_hostname": False,
    }  # fmt: skip


def test_names_of_librdkafka() -> None:
    settings = settings_from({
        "security.protocol": "sasl_ssl", "sasl.mechanisms": "SCRAM-SHA-512", "sasl.username": "u",
        "sasl.password": "p", "ssl.ca.location": "ca.pem", "ssl.certificate.location": "me.crt",
        "ssl.key.location": "me.key",
    })  # fmt: skip
    assert settings == {
        "security_protocol": "SASL_SSL", "sasl_mechanism": "SCRAM-SHA-512", "sasl_plain_username": "u",
        "sasl_plain_password": "p", "ssl_cafile": "ca.pem", "ssl_certfile": "me.crt",
        "ssl_keyfile": "me.key", "ssl_check_hostname": True,
    }  # fmt: skip


def test_spaces_after_a_value_do_not_count() -> None:
    settings = settings_from({
        "security.protocol": "SASL_PLAINTEXT ", "sasl.mechanism": "SCRAM-SHA-256 ",
        "sasl.jaas.config": f'{PLAIN_LOGIN} username="u" password="p" u="password=zz" x="username=evil";',
    })  # fmt: skip
    assert settings == {
        "security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "SCRAM-SHA-256",
        "sasl_plain_username": "u", "sasl_plain_password": "p",
    }  # fmt: skip


@pytest.mark.parametrize("encoding", ["utf-8-sig", "latin-1"])
def test_files_of_other_encodings(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "admin.properties"
    file.write_text("security.protocol=SSL\nssl.ca.location=\xe9.pem\n", encoding)
    assert settings_of(str(file))["ssl_cafile"] == "\xe9.pem"


def test_an_escape_that_is_none(tmp_path: Path) -> None:
    file = tmp_path / "admin.properties"
    file.write_text("ssl.ca.location=\\uZZ00\n")
    with pytest.raises(PropertiesError, match="no properties file: Invalid"):
        settings_of(str(file))


def test_nothing_at_all_is_plaintext() -> None:
    assert settings_from({}) == {"security_protocol": "PLAINTEXT"}


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"security.protocol": "TLS"}, "security.protocol is none of"),
        ({"security.protocol": "SASL_SSL"}, "GSSAPI is not supported"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}, "no username and password"),
        ({"security.protocol": "SSL", "ssl.truststore.location": "a.jks"}, "ssl.truststore.type=PEM"),
        ({"security.protocol": "SSL", "ssl.keystore.key": "-----BEGIN"}, "ssl.keystore.key is not supported"),
    ],
)
def test_what_cannot_connect_is_refused(properties: dict[str, str], message: str) -> None:
    with pytest.raises(PropertiesError, match=message) as raised:
        settings_from(properties)
    assert "-----BEGIN" not in str(raised.value)


def test_a_bad_file_is_wrong_usage(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "admin.properties"
    file.write_text("security.protocol=SASL_SSL\nsasl.mechanism=OAUTHBEARER\n")
    assert main(["request-log", "on", "127.0.0.1:1", "--command-config", str(file)]) == 2
    assert "OAUTHBEARER is not supported" in capfd.readouterr().err


def test_a_file_that_is_not_there(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["request-log", "on", "127.0.0.1:1", "--command-config", "no-such-file"]) == 3
    assert capfd.readouterr().err == "kdissect: no-such-file: No such file or directory\n"
