"""`packaging/sslkeylog.c`: what it logs is what the other end, which OpenSSL itself has log, knows too."""

import os
import shutil
import socket
import ssl
import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest

from tests.support.console import CHECKOUT
from tests.support.patience import PATIENCE_S
from tests.tls.openssl import certificate

COMPILER = shutil.which("cc")
SOURCE = CHECKOUT / "packaging" / "sslkeylog.c"
TALK = """
import ssl, sys
from pathlib import Path
from tests.tls.openssl import CLIENT, SERVER, Peers

Peers(Path(sys.argv[1]), ssl.TLSVersion[sys.argv[2]]).talk([(CLIENT, b"hello"), (SERVER, b"hello")])
"""
needs_compiler = pytest.mark.skipif(
    COMPILER is None or sys.platform != "linux", reason="needs Linux and a C compiler"
)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Built as its first lines say, with every warning an error."""
    out = tmp_path_factory.mktemp("sslkeylog") / "sslkeylog.so"
    (line,) = (line for line in SOURCE.read_text().splitlines() if line.lstrip(" *").startswith("cc "))
    words = line.lstrip(" *").split()
    assert words[words.index("-o") + 1] == "sslkeylog.so"
    words[words.index("-o") + 1] = str(out)
    subprocess.run([*words, "-Wall", "-Wextra", "-Werror"], cwd=CHECKOUT, check=True, timeout=PATIENCE_S)
    return str(out)


def secrets(path: Path) -> set[str]:
    return {line for line in path.read_text().splitlines() if line and not line.startswith("#")}


def preloaded(library: str, log: Path) -> dict[str, str]:
    return {**os.environ, "LD_PRELOAD": library, "SSLKEYLOGFILE": str(log)}


@needs_compiler
@pytest.mark.parametrize("version", ["TLSv1_2", "TLSv1_3"])
def test_the_other_end_knows_the_same_secrets(version: str, library: str, tmp_path: Path) -> None:
    """The client's context logs by itself, into a file of its own; the server's knows nothing of logs."""
    log = tmp_path / "preloaded.log"
    subprocess.run(
        [sys.executable, "-c", TALK, tmp_path, version],
        env=preloaded(library, log), check=True, timeout=PATIENCE_S,
    )  # fmt: skip
    own = secrets(tmp_path / "keys.log")
    assert len(own) >= (1 if version == "TLSv1_2" else 4)
    assert secrets(log) == own
    assert log.stat().st_mode & 0o777 == 0o600


@needs_compiler
def test_without_a_file_nothing_is_written(library: str, tmp_path: Path) -> None:
    environment = preloaded(library, tmp_path / "none")
    environment["SSLKEYLOGFILE"] = ""
    subprocess.run(
        [sys.executable, "-c", TALK, tmp_path, "TLSv1_3"], env=environment, check=True, timeout=PATIENCE_S
    )
    assert not (tmp_path / "none").exists()


@needs_compiler
def test_librdkafka_that_is_linked_with_it(library: str, tmp_path: Path) -> None:
    """kcat asks a listener that ends TLS and then says nothing: the handshake is all that is needed."""
    kcat = shutil.which("kcat")
    if kcat is None:
        pytest.skip("kcat is not installed")
    pem = certificate(tmp_path, "broker.test")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    context.keylog_filename = str(tmp_path / "own.log")
    log = tmp_path / "preloaded.log"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(PATIENCE_S)
        served = Thread(target=_serve, args=(listener, context))
        served.start()
        words = [
            kcat, "-L", "-m", "1", "-b", f"127.0.0.1:{listener.getsockname()[1]}",
            "-X", "security.protocol=ssl",
            "-X", f"ssl.ca.location={pem}", "-X", "ssl.endpoint.identification.algorithm=none",
        ]  # fmt: skip
        subprocess.run(
            words, env=preloaded(library, log), check=False, timeout=PATIENCE_S, capture_output=True
        )
        served.join()
    own = secrets(tmp_path / "own.log")
    assert len(own) >= 4
    assert own <= secrets(log)


def _serve(listener: socket.socket, context: ssl.SSLContext) -> None:
    connection, _ = listener.accept()
    with context.wrap_socket(connection, server_side=True) as tls:
        tls.recv(1 << 16)
