"""Records handshakes of real TLS stacks: `python -m tests.tls.record_handshakes [NAME ...]`.

Each file of `recorded/` has the bytes in the order in which a relay between the two ends saw them, the
secrets that one end logged, and what each end was asked to send. Needs openssl, go and gnutls-bin in PATH.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.tls.openssl import certificate

RECORDED = Path(__file__).parent / "recorded"
_MOMENT_S = 0.4  # between what is typed: both ends have answered by then


class Relay:
    """Hands one connection on to a port, and keeps its bytes."""

    def __init__(self, target: int) -> None:
        self.wire: list[tuple[int, str]] = []
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        client, _ = self._listener.accept()
        server = socket.create_connection(("127.0.0.1", self._target))
        back = threading.Thread(target=self._carry, args=(1, server, client), daemon=True)
        back.start()
        self._carry(0, client, server)
        back.join(5)

    def _carry(self, direction: int, source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(1 << 16):
                self.wire.append((direction, data.hex()))
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            return

    def join(self) -> None:
        """Wait for the end of the connection."""
        self._thread.join(5)


class Program:
    """An end, which is typed to."""

    def __init__(self, command: Sequence[str], **environment: str) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=os.environ | environment,
        )
        time.sleep(_MOMENT_S)

    def type(self, text: str) -> None:
        """Type a text, and give both ends the time to act on it."""
        assert self._process.stdin is not None
        self._process.stdin.write(text.encode())
        self._process.stdin.flush()
        time.sleep(_MOMENT_S)

    def stop(self, is_orderly: bool = True) -> None:
        """End the input, then the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(1 if is_orderly else 0.1)
        except subprocess.TimeoutExpired:
            self._process.terminate()
            self._process.wait(5)


def free_port() -> int:
    """Return a port without a listener."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


class Lab:
    """A folder with certificates, and the ends that were started in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pem = str(certificate(folder, "broker.test", "ec"))
        self.alice = str(certificate(folder, "alice", "ec"))
        self.keys = folder / "keys.log"
        self.port = free_port()

    def server(self, *options: str) -> Program:
        """`openssl s_server`."""
        at = ["-accept", f"127.0.0.1:{self.port}", "-cert", self.pem, "-key", self.pem, "-CAfile", self.alice]
        return Program(["openssl", "s_server", *at, *options])

    def client(self, relay: Relay, *options: str) -> Program:
        """`openssl s_client`, which logs its secrets."""
        self.keys.unlink(missing_ok=True)
        at = [
            "-connect",
            f"127.0.0.1:{relay.port}",
            "-keylogfile",
            str(self.keys),
            "-servername",
            "broker.test",
        ]
        return Program(["openssl", "s_client", *at, *options])

    def session(self, *options: str) -> str:
        """Return the file of a session for a later connection."""
        path, relay = str(self.folder / "session.pem"), Relay(self.port)
        client = self.client(relay, "-sess_out", path, *options)
        client.type("first\n")
        client.type("Q\n")
        client.stop()
        return path

    def early(self, text: str) -> str:
        """Return a file with early data."""
        path = self.folder / "early.txt"
        path.write_text(text)
        return str(path)

    def talk(self, client: Program, server: Program) -> tuple[str, str]:
        """Send a line from each end, twice."""
        said = ["", ""]
        for turn in range(2):
            for side, (end, line) in enumerate(
                ((client, f"question {turn}\n"), (server, f"answer {turn}\n"))
            ):
                end.type(line)
                said[side] += line
        return said[0], said[1]


Said = tuple[str, str]
Scenario = Callable[[Lab], tuple[Relay, Said]]


def _ends(
    lab: Lab, client: Sequence[str], server: Sequence[str] = (), typed: Sequence[str] = ()
) -> tuple[Relay, Said]:
    """Return one connection; what is typed (`c:` or `s:` in front) comes between the lines of `Lab.talk`."""
    server_end = lab.server(*server)
    relay = Relay(lab.port)
    client_end = lab.client(relay, *client)
    first = lab.talk(client_end, server_end)
    for text in typed:
        (client_end if text.startswith("c:") else server_end).type(text[2:] + "\n")
    second = lab.talk(client_end, server_end)
    client_end.type("Q\n")
    client_end.stop()
    server_end.stop()
    relay.join()
    return relay, (first[0] + second[0], first[1] + second[1])


def _early(
    lab: Lab, before: Sequence[str], after: Sequence[str] | None, is_accepted: bool
) -> tuple[Relay, Said]:
    """Return a resumed connection with early data.

    `after`: options of a server that takes the first one's place.
    """
    server = lab.server("-tls1_3", "-early_data", *before)
    session = lab.session("-tls1_3")
    if after is not None:
        server.stop(is_orderly=False)
        server = lab.server("-tls1_3", *after)
    relay = Relay(lab.port)
    client = lab.client(
        relay, "-tls1_3", "-sess_in", session, "-early_data", lab.early("early question\n" * 20)
    )
    said = lab.talk(client, server)
    client.type("Q\n")
    client.stop()
    server.stop()
    relay.join()
    return relay, (("early question\n" * 20 if is_accepted else "") + said[0], said[1])


def _retry_and_psk(lab: Lab) -> tuple[Relay, Said]:
    server = lab.server("-tls1_3", "-groups", "P-521")
    session = lab.session("-tls1_3")
    relay = Relay(lab.port)
    client = lab.client(relay, "-tls1_3", "-sess_in", session)
    said = lab.talk(client, server)
    client.type("Q\n")
    client.stop()
    server.stop()
    relay.join()
    return relay, said


def _gnutls(
    lab: Lab, client: str, server: str, typed: Sequence[str] = (), *options: str
) -> tuple[Relay, Said]:
    """gnutls-cli with an echoing gnutls-serv."""
    server_end = Program(
        ["gnutls-serv", "--echo", "-p", str(lab.port), "--x509certfile", lab.pem, "--x509keyfile", lab.pem,
         "--priority", server]
    )  # fmt: skip
    relay = Relay(lab.port)
    lab.keys.unlink(missing_ok=True)
    client_end = Program(
        ["gnutls-cli", "--insecure", "-p", str(relay.port), "--priority", client, "--inline-commands",
         *options, "127.0.0.1"],
        SSLKEYLOGFILE=str(lab.keys),
    )  # fmt: skip
    said = ""
    for text in ("question 0\n", *(f"{one}\n" for one in typed), "question 1\n"):
        client_end.type(text)
        said += "" if text.startswith("^") else text
    client_end.stop()
    server_end.stop(is_orderly=False)
    relay.join()
    return relay, (said, said)


def _go(lab: Lab, *arguments: str) -> tuple[Relay, Said]:
    """crypto/tls on both ends, one program."""
    program = lab.folder / "ends.go"
    program.write_text(_GO)
    relay = Relay(lab.port)
    subprocess.run(
        ["go", "run", str(program), str(lab.port), str(relay.port), lab.pem, str(lab.keys), *arguments],
        check=True,
    )
    relay.join()
    return relay, ("question 0\nquestion 1\n", "question 0\nquestion 1\n")


_GO = """
package main

import ("bufio"; "crypto/tls"; "fmt"; "io"; "net"; "os")

func must(err error) { if err != nil { panic(err) } }

func main() {
	cert, err := tls.LoadX509KeyPair(os.Args[3], os.Args[3])
	must(err)
	log, err := os.Create(os.Args[4])
	must(err)
	server := &tls.Config{Certificates: []tls.Certificate{cert}}
	client := &tls.Config{InsecureSkipVerify: true, KeyLogWriter: log, ServerName: "broker.test"}
	for _, arg := range os.Args[5:] {
		switch arg {
		case "retry":
			server.CurvePreferences = []tls.CurveID{tls.CurveP384}
		case "mutual":
			server.ClientAuth = tls.RequireAnyClientCert
			client.Certificates = server.Certificates
		}
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:"+os.Args[1], server)
	must(err)
	go func() {
		conn, err := listener.Accept()
		must(err)
		io.Copy(conn, conn)
		conn.Close()
	}()
	raw, err := net.Dial("tcp", "127.0.0.1:"+os.Args[2])
	must(err)
	conn := tls.Client(raw, client)
	lines := bufio.NewReader(conn)
	for turn := 0; turn < 2; turn++ {
		fmt.Fprintf(conn, "question %d\\n", turn)
		_, err := lines.ReadString('\\n')
		must(err)
	}
	conn.CloseWrite()
	io.Copy(io.Discard, conn)
	conn.Close()
}
"""

_PSK = ("-tls1_3", "-psk", "0123456789abcdef0123456789abcdef", "-psk_identity", "kafka")
_PSK_SHA256 = ("-ciphersuites", "TLS_AES_128_GCM_SHA256")
_12 = "NORMAL:-VERS-ALL:+VERS-TLS1.2"
_13 = "NORMAL:-VERS-ALL:+VERS-TLS1.3"
SCENARIOS: dict[str, Scenario] = {
    "openssl_retry": lambda lab: _ends(lab, ["-tls1_3"], ["-groups", "P-521"]),
    "openssl_retry_psk": _retry_and_psk,
    "openssl_retry_mutual": lambda lab: _ends(
        lab, ["-tls1_3", "-cert", lab.alice, "-key", lab.alice], ["-groups", "P-384", "-Verify", "1"]
    ),
    "openssl_without_middlebox_mode": lambda lab: _ends(
        lab, ["-tls1_3", "-no_middlebox"], ["-groups", "P-384", "-no_middlebox"]
    ),
    "openssl_external_psk": lambda lab: _ends(lab, [*_PSK, *_PSK_SHA256], [*_PSK, *_PSK_SHA256]),
    "openssl_key_updates": lambda lab: _ends(lab, ["-tls1_3"], (), ["c:K", "s:K", "c:k", "s:k", "c:K"]),
    "openssl_client_certificate_later": lambda lab: _ends(
        lab, ["-tls1_3", "-enable_pha", "-cert", lab.alice, "-key", lab.alice], ["-verify", "1"], ["s:c"]
    ),
    "openssl_renegotiation_by_client": lambda lab: _ends(
        lab, ["-tls1_2"], ["-client_renegotiation"], ["c:R", "c:R"]
    ),
    "openssl_renegotiation_by_server": lambda lab: _ends(
        lab, ["-tls1_2", "-cert", lab.alice, "-key", lab.alice], ["-verify", "1"], ["s:R"]
    ),
    "openssl_early_data_accepted": lambda lab: _early(lab, ["-no_anti_replay"], None, True),
    "openssl_early_data_refused": lambda lab: _early(lab, [], ["-early_data"], False),
    "openssl_early_data_refused_by_retry": lambda lab: _early(
        lab, [], ["-early_data", "-groups", "P-384"], False
    ),
    "gnutls_retry": lambda lab: _gnutls(lab, _13, f"{_13}:-GROUP-ALL:+GROUP-SECP521R1"),
    "gnutls_key_updates": lambda lab: _gnutls(lab, _13, _13, ["^rekey^", "^rekey^"]),
    "gnutls_renegotiation": lambda lab: _gnutls(lab, _12, _12, ["^renegotiate^"]),
    "go_retry": lambda lab: _go(lab, "retry"),
    "go_retry_mutual": lambda lab: _go(lab, "retry", "mutual"),
    "go_post_quantum": _go,
}


def record(name: str) -> None:
    """Record one scenario."""
    folder = Path(tempfile.mkdtemp())
    try:
        lab = Lab(folder)
        relay, said = SCENARIOS[name](lab)
        lines = [x for x in lab.keys.read_text().splitlines() if not x.startswith("#")]
        content = {"wire": relay.wire, "keys": lines, "said": said}
        (RECORDED / f"{name}.json").write_text(json.dumps(content, indent=0) + "\n")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    for each in sys.argv[1:] or SCENARIOS:
        record(each)
