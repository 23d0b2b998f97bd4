"""No report shows a password or token, also where the frame that holds it is broken."""

from pathlib import Path

import pytest

from kdissect.cli import main
from kdissect.cli.findings.report_files import FORMATS
from kdissect.decoders.encoder import encode_request, encode_response
from kdissect.schema import protocol_messages
from kdissect.schema.secrets import may_hold_secrets
from tests.support.messages.planted import PLANTED, SECRET, exchanges, needles
from tests.support.messages.traffic import Conversation
from tests.support.packets.pcaps import write_pcap


def broken(frame: bytes, may_hold: bool) -> list[bytes]:
    """Frames cut at their end, and with a secret behind it where the message holds secrets anyway."""
    content = frame[4:]
    made = [content[:-cut] for cut in (1, 3, 8)] + ([content + b"\0" + SECRET.encode()] if may_hold else [])
    return [len(part).to_bytes(4) + part for part in made if len(part) >= 4] or [frame]


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    talk, number = Conversation().handshake(), 0
    for key, version, asked, answered in exchanges():
        api = protocol_messages.api(key)
        assert api is not None
        for at in range(4):
            number += 1
            request = broken(encode_request(key, version, number, "me", asked), may_hold_secrets(api.request))
            response = broken(encode_response(key, version, number, answered), may_hold_secrets(api.response))
            talk.client(request[at % len(request)])
            talk.broker(response[at % len(response)])
    folder = tmp_path_factory.mktemp("secrets")
    capture = write_pcap(folder / "broken.pcap", talk.packets)
    assert main(["check", capture, *(f"--report={name}={folder / name}" for name in FORMATS)]) == 1
    return folder


@pytest.mark.parametrize("name", FORMATS)
def test_broken_frames_keep_their_secrets(name: str, reports: Path) -> None:
    text = (reports / name).read_bytes()
    assert b"BDY" in text  # it tells of the broken frames
    for secret in PLANTED:
        assert not [needle for needle in needles(secret) if needle in text], secret


def test_bytes_that_hold_no_secret_are_shown(reports: Path) -> None:
    text = (reports / "text").read_text()
    assert "of the frame's content: ***" in text
    assert "of the frame's content: 0" in text
