"""Mutations of bytes that know nothing of their structure; targets have their own beside these."""

from random import Random
from struct import pack

# Numbers where lengths, counts and signs go wrong.
NUMBERS = (
    0,
    1,
    2,
    3,
    4,
    7,
    8,
    15,
    16,
    31,
    32,
    63,
    64,
    127,
    128,
    255,
    256,
    1023,
    1024,
    0x7FFF,
    0x8000,
    0xFFFF,
    1 << 16,
    1 << 20,
    1 << 24,
    (1 << 28) - 1,
    1 << 28,
    0x7FFFFFFF,
    0x80000000,
    0xFFFFFFFF,
    1 << 32,
    (1 << 63) - 1,
    1 << 63,
    (1 << 64) - 1,
)
FORMS = ((">B", 8), (">H", 16), ("<H", 16), (">I", 32), ("<I", 32), (">Q", 64), ("<Q", 64))
MOST_STEPS = 4


def number(dice: Random) -> bytes:
    """Return a number in one of the forms that wires and files have."""
    value = dice.choice(NUMBERS)
    if dice.random() < 0.2:
        return varint(value)
    form, bits = FORMS[int(dice.random() * len(FORMS))]
    return pack(form, value & ((1 << bits) - 1))


def varint(value: int) -> bytes:
    """Return an unsigned varint."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))


def mutate_bytes(data: bytes, dice: Random, other: bytes) -> bytes:
    """Return one to four changes anywhere in `data`."""
    out = bytearray(data)
    for _ in range(1 + int(dice.random() ** 2 * MOST_STEPS)):
        _STEPS[int(dice.random() * len(_STEPS))](out, dice, other)
    return bytes(out)


def place(out: bytes | bytearray, dice: Random) -> int:
    """Return an offset in the bytes, or at their end."""
    return int(dice.random() * (len(out) + 1))


def _set_byte(out: bytearray, dice: Random, _other: bytes) -> None:
    if out:
        out[int(dice.random() * len(out))] = int(dice.random() * 256)


def _flip_bit(out: bytearray, dice: Random, _other: bytes) -> None:
    if out:
        out[int(dice.random() * len(out))] ^= 1 << int(dice.random() * 8)


def _step_byte(out: bytearray, dice: Random, _other: bytes) -> None:
    if out:
        at = int(dice.random() * len(out))
        out[at] = out[at] + dice.choice((-1, 1, -2, 2, 16)) & 0xFF


def _put_number(out: bytearray, dice: Random, _other: bytes) -> None:
    put, at = number(dice), place(out, dice)
    out[at : at + len(put)] = put


def _insert(out: bytearray, dice: Random, _other: bytes) -> None:
    at = place(out, dice)
    out[at:at] = number(dice) if dice.random() < 0.5 else dice.randbytes(1 + int(dice.random() * 16))


def _delete(out: bytearray, dice: Random, _other: bytes) -> None:
    at = place(out, dice)
    del out[at : at + 1 + int(dice.random() ** 3 * 64)]


def _copy(out: bytearray, dice: Random, _other: bytes) -> None:
    at, to = place(out, dice), place(out, dice)
    out[to:to] = out[at : at + 1 + int(dice.random() ** 2 * 64)]


def _cut(out: bytearray, dice: Random, _other: bytes) -> None:
    del out[place(out, dice) :]


def _splice(out: bytearray, dice: Random, other: bytes) -> None:
    at = place(other, dice)
    out[place(out, dice) :] = other[at : at + 512]


_STEPS = (
    _set_byte,
    _set_byte,
    _flip_bit,
    _flip_bit,
    _step_byte,
    _put_number,
    _put_number,
    _insert,
    _delete,
    _copy,
    _cut,
    _splice,
)
