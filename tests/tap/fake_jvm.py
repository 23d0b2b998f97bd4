"""A process that passes for a HotSpot JVM: it maps a libjvm.so and speaks OpenJDK's attach protocol.

Run as a program: `fake_jvm.py LIBRARY ANSWER`. SIGQUIT makes it look for `.attach_pidN` in its folder and in
`/tmp`, open its socket, and answer each request with ANSWER. It prints a line for each SIGQUIT, which says
whether it found the file.
"""

import mmap
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def socket_of(pid: int) -> Path:
    """Return the path of the socket that a JVM opens."""
    return Path(f"/tmp/.java_pid{pid}")


@contextmanager
def fake_jvm(folder: Path, answer: str = "") -> Iterator["subprocess.Popen[str]"]:
    """Run one in a folder; without an answer it opens no socket. It must live until the end."""
    library = folder / "libjvm.so"
    library.write_bytes(bytes(mmap.PAGESIZE))
    started = subprocess.Popen(
        [sys.executable, __file__, str(library), answer],
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
    )
    path = socket_of(started.pid)
    try:
        assert started.stdout is not None and started.stdout.readline() == "ready\n"
        yield started
        assert started.poll() is None, "it did not survive"
    finally:
        started.kill()
        started.communicate()
        with suppress(OSError):
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()


def _main(library: str, answer: str) -> None:
    with open(library, "r+b") as file:  # noqa: PTH123
        mapped = mmap.mmap(file.fileno(), 0)
        signal.signal(signal.SIGQUIT, lambda _number, _frame: None)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGQUIT])
        print("ready", flush=True)
        server: socket.socket | None = None
        while True:
            signal.sigwait([signal.SIGQUIT])
            name = f".attach_pid{os.getpid()}"
            found = [os.path.lexists(f"{place}/{name}") for place in (".", "/tmp")]
            print(f"quit {any(found)}", flush=True)
            if any(found) and answer and server is None:
                server = _listening()
                _serve(server, answer.encode().decode("unicode_escape").encode())
    del mapped


def _listening() -> socket.socket:
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    path = f"/tmp/.java_pid{os.getpid()}"
    server.bind(f"{path}.tmp")
    server.listen()
    os.rename(f"{path}.tmp", path)  # noqa: PTH104
    return server


def _serve(server: socket.socket, answer: bytes) -> None:
    while True:
        link, _ = server.accept()
        with link:
            request = b""
            while request.count(b"\0") < 5 and (data := link.recv(4096)):
                request += data
            link.sendall(answer)


if __name__ == "__main__":
    _main(*sys.argv[1:])
