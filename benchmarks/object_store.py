"""As much of S3 as a reader of captures asks for, on loopback: folders are buckets, and nothing is written.

    python benchmarks/object_store.py FOLDER --port 9000

Listing (ListObjectsV2), HEAD, and GET of a range, by path; names of anybody are accepted. Each answer goes
from the file to the socket, so that what is measured is the reader: moto, which is made for tests, reads the
whole object for each range of it. GET /?counts tells requests and bytes of objects since it was asked last.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from email.utils import formatdate
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from typing import NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

_HOST = "127.0.0.1"


class Counts(NamedTuple):
    """Requests for objects or parts of them, the bytes they were given, and seconds of CPU of the store."""

    requests: int
    bytes: int
    cpu_s: float


class Store(NamedTuple):
    """One that runs."""

    port: int

    def url(self, path: str) -> str:
        """Return what pyarrow and kdissect call a folder: `BUCKET/path`."""
        return f"s3://{path}/?region=us-east-1&scheme=http&endpoint_override={_HOST}:{self.port}"

    def counts(self) -> Counts:
        """Since it was asked last."""
        with closing(HTTPConnection(_HOST, self.port)) as asked:
            asked.request("GET", "/?counts")
            return Counts(*json.loads(asked.getresponse().read()))


# Any will do, but without some nothing is asked.
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any"}


@contextmanager
def serving(folder: Path) -> Iterator[Store]:
    """Run a store in a process of its own until the block ends."""
    command = [sys.executable, __file__, str(folder), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield Store(int(process.stdout.readline()))
        finally:
            process.terminate()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, folder: Path, port: int) -> None:
        super().__init__((_HOST, port), _Handler)
        self.folder = folder
        self._lock = Lock()
        self._counted = 0, 0

    def count(self, size: int) -> None:
        """One more answer with bytes of an object."""
        with self._lock:
            self._counted = self._counted[0] + 1, self._counted[1] + size

    def take_counts(self) -> Counts:
        """Return what was counted since."""
        with self._lock:
            found, self._counted = self._counted, (0, 0)
        return Counts(*found, time.process_time())


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def log_message(self, *_: object) -> None:
        """Nothing."""

    def do_HEAD(self) -> None:
        """Whether there is an object, and its size."""
        self._object(with_content=False)

    def do_GET(self) -> None:
        """Answer with a list of objects, or with bytes of an object."""
        query = parse_qs(urlsplit(self.path).query, keep_blank_values=True)
        if "counts" in query:
            self._answer(json.dumps(self.server.take_counts()).encode())
        elif "list-type" in query:
            prefix, delimiter = query.get("prefix", [""])[0], query.get("delimiter", [""])[0]
            self._answer(self._listing(prefix, delimiter))
        else:
            self._object(with_content=True)

    def _name(self) -> str:
        return unquote(urlsplit(self.path).path).strip("/")

    def _answer(self, content: bytes) -> None:
        self._begin(200, len(content), {})
        self.wfile.write(content)

    def _begin(self, status: int, size: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(size))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _listing(self, prefix: str, delimiter: str) -> bytes:
        """Return all that is below a prefix; with a delimiter that stops at the next one."""
        bucket = self.server.folder / self._name()
        files, folders = [], set()
        for path in sorted(path for path in bucket.rglob("*") if path.is_file()):
            key = str(path.relative_to(bucket))
            if not key.startswith(prefix):
                continue
            below, found, _ = key[len(prefix) :].partition(delimiter) if delimiter else (key, "", "")
            if found:
                folders.add(prefix + below + delimiter)
            else:
                files.append((key, path.stat()))
        rows = [
            f"<Contents><Key>{escape(key)}</Key><LastModified>{_iso(stat.st_mtime)}</LastModified>"
            f"<Size>{stat.st_size}</Size><StorageClass>STANDARD</StorageClass></Contents>"
            for key, stat in files
        ]
        rows += [
            f"<CommonPrefixes><Prefix>{escape(key)}</Prefix></CommonPrefixes>" for one in sorted(folders)
        ]
        head = f"<KeyCount>{len(rows)}</KeyCount><IsTruncated>false</IsTruncated>"
        text = f'<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">{head}{"".join(rows)}'
        return f"{text}</ListBucketResult>".encode()

    def _object(self, *, with_content: bool) -> None:
        path = self.server.folder / self._name()
        if not path.is_file():
            self._begin(200 if path.is_dir() and path.parent == self.server.folder else 404, 0, {})
            return
        with path.open("rb") as file:
            stat = os.fstat(file.fileno())
            first, last = 0, stat.st_size - 1
            asked = self.headers.get("Range", "").removeprefix("bytes=")
            if asked:
                start, _, end = asked.partition("-")
                first, last = int(start), min(int(end or last), last)
            size = last - first + 1
            headers = {"Last-Modified": formatdate(stat.st_mtime, usegmt=True)}
            if asked:
                headers["Content-Range"] = f"bytes {first}-{last}/{stat.st_size}"
            self._begin(206 if asked else 200, size, headers)
            if with_content and size:
                self.wfile.flush()
                self.server.count(size)  # before the last byte: its reader may ask for the counts at once
                self.connection.sendfile(file, first, size)


def _iso(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(seconds))


def main(arguments: list[str]) -> int:
    """Serve until somebody ends it; the exit code. The port is the first line of the output."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--port", type=int, default=9000)
    chosen = parser.parse_args(arguments)
    server = _Server(chosen.folder.absolute(), chosen.port)
    print(server.server_port, flush=True)
    server.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
