"""Bytes out of pasted text; dumps are made by xxd where it is installed."""

import random
import shutil
import subprocess

import pytest

from kdissect.decoders.hexinput import HexError, parse_hex

DATA = bytes.fromhex("000000110003000000000001000474657374ffffffff")

XXD = """\
00000000: 0000 0011 0003 0000 0000 0001 0004 7465  ..............te
00000010: 7374 ffff ffff                           st....
"""
HEXDUMP = """\
00000000  00 00 00 11 00 03 00 00  00 00 00 01 00 04 74 65  |..............te|
00000010  73 74 ff ff ff ff                                 |st....|
00000016
"""
WIRESHARK = """\
0000  00 00 00 11 00 03 00 00 00 00 00 01 00 04 74 65   ..............te
0010  73 74 ff ff ff ff                                 st....
"""
WIRESHARK_2 = """\
0000   00 00 00 11 00 03 00 00  00 00 00 01 00 04 74 65   ........ ......te
0010   73 74 ff ff ff ff                                  st....
"""
TCPDUMP = """\
\t0x0000:  0000 0011 0003 0000 0000 0001 0004 7465  ..............te
\t0x0010:  7374 ffff ffff                           st....
"""
SPEC = """\
00 00 00 11 // Size: 17 bytes
00 03 // api_key: 3 (Metadata)
00 00 00 00 00 01 # correlation_id
00 04
74 65 73 74 // client_id: "test"
FF FF FF FF
"""


@pytest.mark.parametrize(
    "text",
    [
        DATA.hex(),
        DATA.hex(" ").upper(),
        DATA.hex(":"),
        "0x" + DATA.hex(),
        ", ".join(f"0x{byte:x}" for byte in DATA),
        "{" + ",".join(f"0X{byte:02X}" for byte in DATA) + "};",
        "\n".join(DATA.hex(" ", 4)[i : i + 18] for i in range(0, 60, 18)),
        XXD,
        HEXDUMP,
        WIRESHARK,
        WIRESHARK_2,
        TCPDUMP,
        SPEC,
        "\n\n" + XXD.replace("\n", "\r\n"),
        "".join(f"\\x{byte:02x}" for byte in DATA),
        repr(DATA),
        f"data = {DATA[:7]!r}\n       {DATA[7:]!r}",
        'char x[] = "' + "".join(f"\\{byte:03o}" for byte in DATA) + '";',
        "\\0\\0\\0\\x11\\0\\x03\\0\\0\\0\\0\\0\\x01\\0\\x04test\\xff\\xff\\xff\\xff\n",
    ],
)
def test_notations(text: str) -> None:
    assert parse_hex(text) == DATA


@pytest.mark.parametrize(
    "line", [text.splitlines()[0] for text in (XXD, HEXDUMP, WIRESHARK, WIRESHARK_2, TCPDUMP)]
)
def test_a_single_line_of_a_dump(line: str) -> None:
    assert parse_hex(line) == DATA[:16]


@pytest.mark.parametrize(
    "text",
    [
        "00000000: 6162 6364                                abcd",
        "00000000  61 62 63 64                                       |abcd|",
        "0000  61 62 63 64",
        "0000  61 62 63 64   abcd",
        "00000000: 6162                                     ab\n00000002: 6364  cd",
    ],
)
def test_an_ascii_column_that_looks_like_hex(text: str) -> None:
    assert parse_hex(text) == b"abcd"


@pytest.mark.skipif(shutil.which("xxd") is None, reason="xxd is not installed")
@pytest.mark.parametrize("options", [[], ["-g1"], ["-g4", "-c8"], ["-u"], ["-c32"], ["-p"], ["-i"]])
def test_what_xxd_prints(options: list[str]) -> None:
    dice = random.Random(1)
    for size in (1, 7, 15, 16, 17, 64, 333):
        # Letters a-f and digits, whose ASCII column looks like hex, and other bytes.
        data = bytes(dice.choice((*b"abcdef0123 ", dice.randrange(256))) for _ in range(size))
        text = subprocess.run(["xxd", *options], input=data, capture_output=True, check=True).stdout.decode()
        assert parse_hex(text) == data, (size, text)


def test_repeated_lines_of_hexdump() -> None:
    zeros = "00000000  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  |................|"
    text = f"{zeros}\n*\n00000040  61 62  |ab|\n00000042\n"
    assert parse_hex(text) == bytes(64) + b"ab"


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("00 0g", 1, 5),
        ("00 01\n 000", 2, 2),
        ("hello", 1, 1),
        ('"\\xq1"', 1, 2),
        ("00\\u1234", 1, 3),
        (XXD.replace("0011 0003", "0011 00z3"), 1, 20),
        (XXD + "00000000: 0000  ..", 3, 1),
    ],
)
def test_errors_name_line_and_column(text: str, line: int, column: int) -> None:
    with pytest.raises(HexError) as caught:
        parse_hex(text)
    assert (caught.value.line, caught.value.column) == (line, column)


def test_any_text_gives_bytes_or_a_hex_error() -> None:
    dice = random.Random(2)
    for _ in range(3000):
        text = "".join(dice.choices("0123456789abcdef0x: \n\t|\\'\"*.,gé", k=dice.randrange(60)))
        try:
            assert isinstance(parse_hex(text), bytes)
        except HexError as error:
            assert error.line >= 1
            assert error.column >= 1


def test_nothing_is_no_bytes() -> None:
    assert parse_hex("") == b""
    assert parse_hex(" \n ") == b""
