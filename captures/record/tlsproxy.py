"""A proxy that ends TLS in front of a broker's plain listener, and writes the key log of its connections."""

import socket
import ssl
import threading
from contextlib import suppress
from pathlib import Path

from captures.record.certificates import certificate
from captures.record.spec import HOST

_CHUNK = 65536


class TlsProxy:
    """Listens with one TLS version on `port`, talks plain to `behind`, both on loopback.

    With `clients` it asks for a certificate, and takes those that this file signed.
    """

    def __init__(
        self, version: ssl.TLSVersion, port: int, behind: int, key_log: Path, clients: Path | None = None
    ) -> None:
        key_log.unlink(missing_ok=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = context.maximum_version = version
        context.load_cert_chain(certificate())
        context.set_ciphers("ALL:@SECLEVEL=0")  # the scenario chooses the cipher suite on the client's side
        context.keylog_filename = str(key_log)
        if clients is not None:
            context.load_verify_locations(clients)
            context.verify_mode = ssl.CERT_REQUIRED
        self._context = context
        self._behind = behind
        self._server = socket.create_server((HOST, port))
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                plain, _ = self._server.accept()
            except OSError:
                return  # closed
            threading.Thread(target=self._serve, args=(plain,), daemon=True).start()

    def _serve(self, plain: socket.socket) -> None:
        try:
            client = self._context.wrap_socket(plain, server_side=True)
        except OSError:
            plain.close()
            return
        client.settimeout(0.05)  # reading and writing share one lock: neither may hold it for long
        broker = socket.create_connection((HOST, self._behind))
        broker.settimeout(0.05)
        self._shuttle(client, broker)

    @staticmethod
    def _shuttle(client: ssl.SSLSocket, broker: socket.socket) -> None:
        """One thread moves both ways: an SSLSocket must not be read and written at the same time."""
        with client, broker:
            while True:
                for source, target in ((client, broker), (broker, client)):
                    try:
                        data = source.recv(_CHUNK)
                    except TimeoutError:
                        continue
                    except OSError:
                        return
                    if not data:
                        return
                    target.sendall(data)

    def close(self) -> None:
        """Accept no more connections."""
        with suppress(OSError):  # wakes the thread that waits, which else keeps the port
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
