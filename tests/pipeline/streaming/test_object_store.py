"""Captures that keep arriving in an object store: an S3 server on this machine."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow", reason="needs the extra arrow")
pytest.importorskip("moto", reason="needs moto[server], an S3 server")
pytest.importorskip("flask", reason="needs moto[server], an S3 server")

from pyarrow import fs

from kdissect.cli import main
from kdissect.pipeline.streaming.arrivals.candidates import Patience
from tests.pipeline.cluster import wait_for
from tests.pipeline.parquet import of_one_process, of_stream
from tests.pipeline.streaming.arriving import arrive, cut, packets_of
from tests.pipeline.streaming.drive import ALL, Stream, settings_of

NAME = "mock_rdk216_txn.pcap"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Yield the port of a server."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    log = tmp_path_factory.mktemp("s3") / "log"
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with log.open("wb") as said:
        process = subprocess.Popen(command, stdout=said, stderr=said)

    def answers() -> bool:
        assert process.poll() is None, log.read_text()
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    try:
        wait_for(answers, "moto does not start")
        yield port
    finally:
        process.kill()
        process.wait()


class Bucket:
    """A bucket, whose directory `traces` is followed."""

    def __init__(self, port: int, name: str) -> None:
        options = (
            f"region=us-east-1&scheme=http&endpoint_override=127.0.0.1:{port}&allow_bucket_creation=true"
        )
        self.url = f"s3://{name}/traces/?{options}"
        self.files, _ = fs.FileSystem.from_uri(self.url)
        self._port, self._name = port, name
        self.files.create_dir(name)

    def put(self, path: Path, name: str | None = None) -> None:
        """Put an object with the content of a file, by one request.

        pyarrow uploads in parts, whose end moto 5.2.1 tells as a CompleteMultipartUploadResponse: S3 says
        CompleteMultipartUploadResult (API reference, CompleteMultipartUpload), as others of its releases do.
        """
        asked = HTTPConnection("127.0.0.1", self._port)
        asked.request("PUT", f"/{self._name}/traces/{name or path.name}", path.read_bytes())
        assert asked.getresponse().status == 200
        asked.close()


@pytest.fixture
def bucket(server: int, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Bucket:
    """Return an empty one."""
    monkeypatch.setitem(os.environ, "AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setitem(os.environ, "AWS_SECRET_ACCESS_KEY", "test")
    return Bucket(server, "b" + format(abs(hash(request.node.name)), "x"))


def equal_to_one_process(tables: Path, url: str) -> None:
    """All tables, on what is in the store."""
    one = of_one_process([url])  # type: ignore[list-item]
    for table in ALL:
        assert of_stream(tables, table) == one[table], table


def test_objects_are_followed(bucket: Bucket, tmp_path: Path) -> None:
    settings = settings_of(tmp_path)._replace(paths=(bucket.url,), patience=Patience(0.0))
    pieces = [arrive(tmp_path / "in", number, piece) for number, piece in enumerate(cut(packets_of(NAME), 4))]
    bucket.put(pieces[0])
    stream = Stream(settings)
    now = 4e9  # long after the objects were written
    assert stream.step(now) is not None
    equal_to_one_process(tmp_path / "tables", bucket.url)
    assert stream.step(now) is None, "nothing is new"
    bucket.put(pieces[1])
    bucket.put(pieces[2])
    assert stream.step(now) is not None
    equal_to_one_process(tmp_path / "tables", bucket.url)
    again = Stream(settings)  # after a start, with the registry alone
    again.registry.refresh()
    assert again.scanner.scan(now).ready == []
    bucket.put(pieces[0], "copy.pcap")
    assert stream.step(now) is None, "what was taken comes under another name"
    bucket.put(pieces[3])
    assert stream.step(now) is not None
    names = {row["file"] for row in of_stream(tmp_path / "tables", "files")}
    assert len(names) == 4
    assert all(name.startswith("s3://") for name in names)
    exchanges = of_stream(tmp_path / "tables", "exchanges")
    assert len(exchanges) == len(of_one_process([tmp_path / "in"])["exchanges"])


def test_a_store_that_does_not_answer_for_a_while_is_asked_again(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = arrive(tmp_path / "in", 0, packets_of(NAME))
    bucket.put(path)
    stream = Stream(settings_of(tmp_path)._replace(paths=(bucket.url,), patience=Patience(0.0)))
    assert stream.step(4e9) is not None

    def fails(*_: Any) -> Any:
        raise OSError("no route to host")

    with monkeypatch.context() as broken:
        broken.setattr("kdissect.pipeline.streaming.arrivals.scanner.objects_at", fails)
        assert stream.step(4e9) is None
    assert stream.step(4e9) is None


def test_a_bucket_that_is_not_there_is_told_at_the_start(
    bucket: Bucket, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyspark", reason="needs the extra spark")
    url = bucket.url.replace("s3://b", "s3://no-such-b")
    place = ["--output", str(tmp_path / "out"), "--checkpoint", str(tmp_path / "checkpoint")]
    assert main(["pipeline", "watch", url, *place, "--once"]) == 3
    (line,) = capfd.readouterr().err.splitlines()
    assert "no-such-b" in line
