"""What other protocols say first, by their specifications: (side, bytes), 0 for the end that connects.

Only what tells them apart from each other and from Kafka is here: the first messages of both sides, and some
that follow, because a capture may begin in the middle.
"""

import struct
from collections.abc import Sequence

A, B = 0, 1  # who connects, who accepts
Said = Sequence[tuple[int, bytes]]


def be16(*numbers: int) -> bytes:
    """Return numbers of 16 bits, big-endian."""
    return struct.pack(f">{len(numbers)}H", *numbers)


def be32(*numbers: int) -> bytes:
    """Return numbers of 32 bits, big-endian."""
    return struct.pack(f">{len(numbers)}I", *(number & 0xFFFFFFFF for number in numbers))


def le32(*numbers: int) -> bytes:
    """Return numbers of 32 bits, little-endian."""
    return struct.pack(f"<{len(numbers)}I", *numbers)


def sized(content: bytes) -> bytes:
    """With the length before it, in 32 bits big-endian."""
    return be32(len(content)) + content


def sized_le(content: bytes) -> bytes:
    """Return the same, little-endian."""
    return le32(len(content)) + content


def text16(value: str) -> bytes:
    """Return text with its length in 16 bits before it."""
    return be16(len(value)) + value.encode()


def talk(*lines: str) -> Said:
    """Lines of text; those that begin with `<` come from the end that accepts."""
    return [(B if line.startswith("<") else A, line.lstrip("<").encode() + b"\r\n") for line in lines]


def rounds(ask: Sequence[bytes], answer: Sequence[bytes]) -> Said:
    """Question and answer in turn."""
    return [said for one, other in zip(ask, answer, strict=True) for said in ((A, one), (B, other))]


def fastcgi() -> Said:
    """FastCGI 1.0 section 8: BEGIN_REQUEST, PARAMS, STDIN; STDOUT, END_REQUEST."""
    begin = bytes([1, 1]) + be16(1, 8) + bytes(2) + be16(1) + bytes(6)
    params = bytes([1, 4]) + be16(1, 15) + bytes([1, 0]) + b"\x0e\x01SCRIPT_NAME/"[:15] + bytes(1)
    end = bytes([1, 4]) + be16(1, 0) + bytes(2) + bytes([1, 5]) + be16(1, 0) + bytes(2)
    out = bytes([1, 6]) + be16(1, 24) + bytes(2) + b"Status: 200 OK\r\n\r\nhello!"
    done = bytes([1, 3]) + be16(1, 8) + bytes(2) + bytes(8)
    return [
        (A, begin),
        (A, params),
        (A, end),
        (B, out),
        (B, done),
        (A, begin + params + end),
        (B, out + done),
    ]


def smpp(bind: int) -> Said:
    """SMPP 3.4 section 4.1: a bind, an answer, enquire_link."""
    body = b"user\0secret\0\0" + bytes([0x34, 0, 0, 0])
    ask = be32(16 + len(body), bind, 0, 1) + body
    return [
        (A, ask),
        (B, be32(21, bind | 0x80000000, 0, 1) + b"smsc\0"),
        *rounds([be32(16, 0x15, 0, n) for n in (2, 3)], [be32(16, 0x80000015, 0, n) for n in (2, 3)]),
    ]


def dns(flags: int, records: int) -> Said:
    """DNS over TCP, RFC 1035 section 4.2.2: AXFR (or LLMNR, RFC 4795)."""
    name = b"\x07example\x03com\0"
    question = be16(0x1A2B, flags, 1, 0, 0, 0) + name + be16(252, 1)
    answer = be16(0x1A2B, flags | 0x8000, 1, records, 0, 0) + name + be16(252, 1)
    answer += (b"\xc0\x0c" + be16(1, 1) + be32(60) + be16(4) + bytes([10, 0, 0, 1])) * records
    return 3 * [(A, be16(len(question)) + question), (B, be16(len(answer)) + answer)]


def openflow(version: int) -> Said:
    """OpenFlow 1.0 and 1.3 section 7.1: HELLO, FEATURES_REQUEST, ECHO."""
    hello = bytes([version, 0]) + be16(8) + be32(1)
    features = bytes([version, 5]) + be16(8) + be32(2)
    reply = (
        bytes([version, 6])
        + be16(32)
        + be32(2)
        + bytes(8)
        + be32(256)
        + bytes([254, 0, 0, 0])
        + be32(0x4F, 0)
    )
    echo = bytes([version, 2]) + be16(8) + be32(7)
    return [(A, hello), (A, features), (B, hello), (B, reply), (A, echo), (B, bytes([version, 3]) + echo[2:])]


def raft() -> Said:
    """Return a C library's peers: 64-bit words, little-endian (canonical/raft: protocol 1, then messages)."""
    hello = struct.pack("<4Q", 1, 1, 16, 0)
    vote = struct.pack("<6Q", 3, 32, 1, 2, 0, 0)
    result = struct.pack("<4Q", 4, 16, 1, 1)
    append = struct.pack("<8Q", 1, 48, 1, 0, 0, 0, 0, 0)
    return [(A, hello + vote), (B, result), (A, append), (B, struct.pack("<4Q", 2, 16, 1, 0))] * 2


def dcerpc(order: int) -> Said:
    """DCE 1.1 RPC section 12.6: bind, bind_ack, request; big-endian where `order` is 0."""
    end = "<" if order else ">"

    def pdu(kind: int, body: bytes) -> bytes:
        return bytes([5, 0, kind, 3, order, 0, 0, 0]) + struct.pack(end + "HHI", 16 + len(body), 0, 1) + body

    bind = struct.pack(end + "HHI", 4280, 4280, 0) + bytes([1, 0, 0, 0]) + bytes(44)
    return [(A, pdu(11, bind)), (B, pdu(12, bind)), (A, pdu(0, bytes(24))), (B, pdu(2, bytes(16)))]


def smb(magic: bytes) -> Said:
    """SMB over TCP ([MS-SMB2] 2.1): a length of 24 bits, then the header."""
    ask = sized(magic + bytes([64, 0, 1, 0]) + bytes(92))
    return [(A, ask), (B, sized(magic + bytes([64, 0]) + bytes(124))), (A, ask), (B, ask)]


def amqp091() -> Said:
    """AMQP 0-9-1 section 4.2: header, methods, content."""

    def frame(kind: int, channel: int, payload: bytes) -> bytes:
        return bytes([kind]) + be16(channel) + sized(payload) + b"\xce"

    start = frame(1, 0, be16(10, 10) + bytes([0, 9]) + be32(0) + sized(b"PLAIN") + sized(b"en_US"))
    publish = frame(1, 1, be16(60, 40, 0) + b"\x08celeryev\x0bworker.beat\0")
    header = frame(2, 1, be16(60, 0) + bytes(8) + be16(0x1000) + bytes([2]))
    body = frame(3, 1, b'{"hostname": "w1"}')
    deliver = frame(1, 1, be16(60, 60) + b"\x04None" + bytes(8) + b"\0\x08celeryev\x0bworker.beat")
    return [
        (A, b"AMQP\0\0\x09\x01"),
        (B, start),
        (A, publish + header + body),
        (B, deliver + header + body),
        (A, bytes([1]) + be16(1) + be32(33) + be16(60, 40) + b"\0\0\x08celeryev" + bytes(20)),
        (B, deliver),
    ]


def amqp10() -> Said:
    """AMQP 1.0 section 2.3: size, data offset, type, channel, performative."""
    opened = (
        sized(b"")[:0]
        + be32(32)
        + bytes([2, 0])
        + be16(0)
        + b"\0\x53\x10\xc0\x11\x02\xa1\x08consumer"
        + bytes(8)
    )
    transfer = (
        be32(24)
        + bytes([2, 0])
        + be16(1)
        + b"\0\x53\x14\xc0\x0b\x05"
        + b"\x43\x43\xa0\x01\0\x43\x42"
        + bytes(3)
    )
    return [
        (A, b"AMQP\0\1\0\0"),
        (B, b"AMQP\0\1\0\0"),
        (A, opened),
        (B, opened),
        (A, transfer),
        (B, transfer),
    ]


def openwire() -> Said:
    """ActiveMQ OpenWire: WIREFORMAT_INFO, then commands with ids of text."""
    info = sized(b"\x01ActiveMQ" + be32(12) + b"\1" + sized(bytes(40)))
    command = sized(bytes([4, 1]) + be16(0x2E00) + be32(0x379) + text16("ID:localhost-41723-1") + bytes(12))
    message = sized(bytes([1, 0]) + be16(3) + be32(889) + text16("ID:localhost-41723-1") + bytes(30))
    reply = sized(bytes([30]) + be32(889) + bytes([0]) + be32(889))
    return [
        (A, info),
        (B, info),
        (A, command),
        (B, reply),
        (A, message),
        (B, command),
        (A, command),
        (B, reply),
    ]


def http2() -> Said:
    """HTTP/2, RFC 9113 section 4.1; from the second segment on, frames alone."""

    def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
        return be32(len(payload))[1:] + bytes([kind, flags]) + be32(stream) + payload

    settings = frame(4, 0, 0, be16(3) + be32(100))
    return [
        (A, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + settings),
        (B, settings + frame(4, 1, 0)),
        (A, frame(4, 1, 0)),
        (A, frame(1, 4, 1, b"\x83\x86\x44\x09/grpc.Foo")),
        (B, frame(8, 0, 0, be32(65535))),
        (A, frame(0, 1, 1, b"\0" + sized(b"\x0a\x05hello"))),
        (B, frame(1, 4, 1, b"\x88")),
        (B, frame(0, 0, 1, bytes(9))),
    ]


def pulsar() -> Said:
    """Pulsar binary protocol: total size, command size, protobuf."""

    def command(kind: int, body: bytes) -> bytes:
        inner = bytes([8, kind]) + bytes([kind << 3 & 0x78 | 2, len(body)]) + body
        return sized(sized(inner))

    connect = command(2, b"\x0a\x05test1\x20\x0d")
    return [
        (A, connect),
        (B, command(3, b"\x0a\x05test2")),
        *3 * [(A, command(18, b"")), (B, command(19, b""))],
    ]


def thrift(is_strict: bool, is_framed: bool) -> Said:
    """Thrift binary protocol, framed or not, with or without its version."""

    def message(kind: int, number: int) -> bytes:
        head = be32(0x80010000 | kind) + sized(b"ping") if is_strict else sized(b"ping") + bytes([kind])
        body = head + be32(number) + b"\0"
        return sized(body) if is_framed else body

    return rounds([message(1, n) for n in (0, 0, 1)], [message(2, n) for n in (0, 0, 1)])


def ssh() -> Said:
    """SSH, RFC 4253: banner, key exchange, ECDH reply."""
    lists = b"".join(
        sized(one) for one in (b"curve25519-sha256", b"ssh-ed25519", b"aes128-ctr", b"aes128-ctr")
    )
    kex = sized(bytes([6, 20]) + bytes(range(16)) + lists + bytes(10))
    reply = sized(bytes([8, 33]) + be16(0) + be16(0x117) + be16(0) + text16("ssh-rsa") + bytes(200))
    return [
        (B, b"SSH-2.0-x\r\n"),
        (A, b"SSH-2.0-y\r\n"),
        (A, kex),
        (B, kex),
        (A, sized(bytes([6, 30]) + sized(bytes(32)))),
        (B, reply),
        (B, reply),
    ]


def mysql() -> Said:
    """MySQL: a length of 24 bits little-endian, a number."""
    hello = (
        b"\x0a8.0.30\0" + le32(9) + b"abcdefgh\0\xff\xff\xff\2\0\xff\xcf\x15" + bytes(10) + b"ijklmnopqrst\0"
    )
    login = le32(0x81BFF) + le32(1 << 24) + b"\xff" + bytes(23) + b"root\0\0"
    query = b"\x03SELECT 1"

    def packet(number: int, body: bytes) -> bytes:
        return le32(len(body) | number << 24) + body

    ok = packet(2, b"\0\0\0\2\0\0\0")
    return [(B, packet(0, hello)), (A, packet(1, login)), (B, ok), *2 * [(A, packet(0, query)), (B, ok)]]


def postgresql() -> Said:
    """PostgreSQL protocol 3: startup, authentication, query."""
    startup = sized(bytes(4) + be32(196608) + b"user\0me\0database\0d\0\0")
    startup = be32(len(startup) - 4) + startup[8:]
    ready = b"R" + be32(8, 0) + b"Z" + be32(5) + b"I"
    return [
        (A, startup),
        (B, ready),
        *2 * [(A, b"Q" + be32(13) + b"SELECT 1\0"), (B, b"C" + be32(13) + b"SELECT 1\0" + ready[9:])],
    ]


def mongodb() -> Said:
    """MongoDB wire protocol: OP_MSG with BSON, little-endian."""
    bson = sized_le(b"\x10hello\0" + le32(1) + b"\0")[4:]
    body = le32(0) + b"\0" + le32(len(bson) + 4) + bson
    return rounds(*2 * [[le32(16 + len(body), n, 0, 2013) + body for n in (1, 2)]])


def cassandra() -> Said:
    """CQL native protocol 4: OPTIONS, SUPPORTED, STARTUP, READY, QUERY."""

    def frame(version: int, stream: int, kind: int, body: bytes = b"") -> bytes:
        return bytes([version, 0]) + be16(stream) + bytes([kind]) + sized(body)

    startup = be16(1) + text16("CQL_VERSION") + text16("3.4.5")
    query = sized(b"SELECT * FROM system.local") + be16(1) + b"\0"
    return rounds(
        [frame(4, 0, 5), frame(4, 1, 1, startup), frame(4, 2, 7, query)],
        [frame(0x84, 0, 6, startup), frame(0x84, 1, 2), frame(0x84, 2, 8, be32(1))],
    )


def zookeeper() -> Said:
    """ZooKeeper: ConnectRequest, pings, getData: ids that count up, as Kafka's do."""
    connect = sized(be32(0) + bytes(8) + be32(30000) + bytes(8) + sized(bytes(16)) + b"\0")
    accepted = sized(be32(0, 30000) + bytes(8) + sized(bytes(16)) + b"\0")
    get = [sized(be32(n, 4) + sized(b"/brokers/ids/0") + b"\0") for n in range(1, 6)]
    got = [sized(be32(n) + bytes(7) + bytes([n]) + be32(0) + sized(b"data") + bytes(68)) for n in range(1, 6)]
    return [(A, connect), (B, accepted), *rounds(get, got)]


def mqtt(version: int) -> Said:
    """MQTT 3.1.1 and 5."""
    properties = b"\0" if version == 5 else b""
    body = text16("MQTT") + bytes([version, 2]) + be16(60) + properties + text16("client-1")
    return [
        (A, bytes([0x10, len(body)]) + body),
        (B, b"\x20\x03\0\0\0" if version == 5 else b"\x20\2\0\0"),
        *2 * [(A, b"\x30\x0a" + text16("a/b") + b"hello"), (B, b"\xd0\0")],
    ]


def rtmp() -> Said:
    """RTMP: C0 and C1, S0, S1 and S2."""
    return [
        (A, b"\3" + bytes(1536)),
        (B, b"\3" + bytes(3072)),
        (A, bytes(1536)),
        (A, b"\3" + bytes(6) + b"\x14" + bytes(4) + b"\2\0\7connect"),
    ]


def bgp() -> Said:
    """BGP-4, RFC 4271 section 4: marker, length, type."""
    keepalive = b"\xff" * 16 + be16(19) + b"\4"
    opened = b"\xff" * 16 + be16(29) + bytes([1, 4]) + be16(65001, 180) + bytes([10, 0, 0, 1, 0])
    return rounds([opened, keepalive, keepalive], [opened, keepalive, keepalive])


def ldp() -> Said:
    """LDP, RFC 5036 section 3.5: version 1, length, identifier, then a message."""
    init = (
        be16(1, 36)
        + bytes([10, 0, 0, 1])
        + be16(0, 0x200, 26)
        + be32(1)
        + be16(0x500, 14, 1, 180, 0, 4096)
        + bytes(6)
    )
    alive = be16(1, 14) + bytes([10, 0, 0, 1]) + be16(0, 0x201, 4) + be32(2)
    return rounds([init, alive, alive], [init, alive, alive])


def diameter() -> Said:
    """Diameter, RFC 6733 section 3: version, length, flags, command."""

    def message(flags: int, command: int, hop: int) -> bytes:
        avp = be32(264, 0x40000000 | 20) + b"host.example"
        return be32(1 << 24 | 40) + be32(flags << 24 | command) + be32(0, hop, hop) + avp

    return rounds([message(0x80, 257, 1), message(0x80, 280, 2)], [message(0, 257, 1), message(0, 280, 2)])


def tls() -> Said:
    """TLS 1.2 records (also RADIUS over TLS, RFC 6614)."""
    hello = b"\x16\3\1\0\x40\1\0\0\x3c\3\3" + bytes(58)
    data = b"\x17\3\3\0\x20" + bytes(range(32))
    return [(A, hello), (B, hello), (A, data), (B, data), (A, data), (B, data)]


def socks(version: int) -> Said:
    """SOCKS 4 and 5 (RFC 1928), then what it carries."""
    if version == 4:
        return [
            (A, b"\4\1\0\x50\x0a\0\0\1me\0"),
            (B, b"\0\x5a\0\x50\x0a\0\0\1"),
            (A, b"x" * 40),
            (B, b"y" * 40),
        ]
    return [(A, b"\5\1\0"), (B, b"\5\0"), (A, b"\5\1\0\1\x0a\0\0\1\0\x50"), (B, b"\5\0\0\1\0\0\0\0\0\0")]


def modbus() -> Said:
    """Modbus/TCP: transaction, protocol 0, length, unit, function."""
    return rounds(
        [be16(n, 0, 6) + b"\1\3" + be16(0, 2) for n in range(4)],
        [be16(n, 0, 7) + b"\1\3\4" + be32(n) for n in range(4)],
    )


def iec104() -> Said:
    """IEC 60870-5-104: start 68h."""
    step = b"\x68\x0e\0\0\0\0\x64\1\6\0\1\0\0\0\0\x14"
    return [(A, b"\x68\4\7\0\0\0"), (B, b"\x68\4\x0b\0\0\0"), (A, step), (B, step), (A, step), (B, step)]


def s7() -> Said:
    """S7 over TPKT and COTP (RFC 1006)."""
    setup = b"\3\0\0\x19\2\xf0\x80\x32\1\0\0\4\0\0\x08\0\0\xf0\0\0\1\0\1\1\xe0"
    return [
        (A, b"\3\0\0\x16\x11\xe0\0\0\0\1\0\xc0\1\x0a\xc1\2\1\0\xc2\2\1\2"),
        (B, b"\3\0\0\x16\x11\xd0\0\1\0\1\0\xc0\1\x0a\xc1\2\1\0\xc2\2\1\2"),
        (A, setup),
        (B, setup),
    ]


def opcua() -> Said:
    """OPC UA TCP: HEL, ACK, MSG."""
    hello = b"HELF" + le32(56, 0, 65536, 65536, 0, 0, 24) + b"opc.tcp://localhost:4840"
    message = b"MSGF" + le32(40, 1, 1, 2, 2) + bytes(16)
    return [(A, hello), (B, b"ACKF" + le32(28, 0, 65536, 65536, 0, 0)), (A, message), (B, message)]


def dnp3() -> Said:
    """DNP3: 0564h, length, control, addresses."""
    one = b"\x05\x64\x14\xc4\x0a\0\1\0\x21\x36" + b"\xc0\xc0\1\x3c\2\6\x3c\3\6\x3c\4\6\x3c\1\6" + b"\x9a\x12"
    return [(A, one), (B, one), (A, one), (B, one)]


def bitcoin() -> Said:
    """Bitcoin: magic, command of 12 bytes."""

    def message(name: bytes, body: bytes) -> bytes:
        return b"\xf9\xbe\xb4\xd9" + name.ljust(12, b"\0") + le32(len(body), 0x1234) + body

    return [
        (A, message(b"version", bytes(86))),
        (B, message(b"version", bytes(86))),
        (A, message(b"verack", b"")),
        (B, message(b"ping", bytes(8))),
    ]


def bittorrent() -> Said:
    """BitTorrent: handshake, then messages with a length of 32 bits."""
    hello = b"\x13BitTorrent protocol" + bytes(8) + bytes(range(40))
    ask = sized(b"\6" + be32(0, 0, 16384))
    return [
        (A, hello),
        (B, hello),
        (A, sized(b"\2")),
        (B, sized(b"\1")),
        *3 * [(A, ask), (B, sized(b"\7" + be32(0, 0) + bytes(60)))],
        (A, be32(0)),
        (B, be32(0)),
    ]


def nfs() -> Said:
    """ONC RPC over TCP, RFC 5531 section 11: last fragment, xid, call."""

    def call(xid: int) -> bytes:
        body = be32(xid, 0, 2, 100003, 3, 1, 0, 0, 0, 0)
        return be32(0x80000000 | len(body)) + body

    def reply(xid: int) -> bytes:
        body = be32(xid, 1, 0, 0, 0, 0, 0)
        return be32(0x80000000 | len(body)) + body

    return rounds([call(n) for n in (7, 8)], [reply(n) for n in (7, 8)])


def iscsi() -> Said:
    """iSCSI, RFC 7143 section 11: a header of 48 bytes."""
    login = b"\x43\x87\0\0" + be32(16) + bytes(6) + be16(0) + be32(1) + bytes(28) + b"InitiatorName=a\0"
    nop = b"\0\x80\0\0" + be32(0) + bytes(8) + be32(5, 0xFFFFFFFF, 2, 3) + bytes(16)
    return [(A, login), (B, b"\x23" + login[1:]), (A, nop), (B, b"\x20" + nop[1:]), (A, nop), (B, nop)]


def nbd() -> Said:
    """NBD: magic, options, requests."""
    ask = be32(0x25609513) + be16(0, 0) + bytes(7) + b"\1" + bytes(8) + be32(4096)
    return [
        (B, b"NBDMAGICIHAVEOPT\0\3"),
        (A, be32(3) + b"IHAVEOPT" + be32(7, 6) + bytes(6)),
        (A, ask),
        (B, be32(0x67446698, 0) + bytes(8) + bytes(64)),
    ]


def ceph() -> Said:
    """Ceph messenger v2: banner, hello frame, little-endian."""
    hello = b"\1\1" + le32(30) + b"\x08\0" + bytes(24) + bytes(30)
    return [(A, b"ceph v2\n\x10\0" + bytes(16)), (B, b"ceph v2\n\x10\0" + bytes(16)), (A, hello), (B, hello)]


def gearman() -> Said:
    """Gearman: \\0REQ, type, size."""
    return 3 * [(A, b"\0REQ" + be32(7, 9) + b"echo\0\0abc"), (B, b"\0RES" + be32(8, 6) + b"H:me:1")]


def memcached() -> Said:
    """memcached binary protocol."""
    return 3 * [
        (A, b"\x80\0" + be16(3) + b"\0\0\0\0" + be32(3, 0) + bytes(8) + b"key"),
        (B, b"\x81\0\0\0\4\0\0\0" + be32(9, 0) + bytes(12) + b"value"),
    ]


def aerospike() -> Said:
    """Aerospike: version 2, type, size of 48 bits."""
    return 2 * [(A, b"\2\1\0\0\0\0\0\6build\n"), (B, b"\2\1\0\0\0\0\0\x0ebuild\t6.0.0.1\n")]


def clickhouse() -> Said:
    """ClickHouse native: Hello, Ping."""
    hello = b"\0\x11ClickHouse client\x16\x08\xac\xa9\3\7default\7default\0"
    return [(A, hello), (B, b"\0\nClickHouse\x16\x08\xac\xa9\3\3UTC\1a\1"), *3 * [(A, b"\4"), (B, b"\4")]]


def zabbix() -> Said:
    """Zabbix: ZBXD, flags, length little-endian."""
    body = b'{"request":"active checks","host":"a"}'
    return 2 * [
        (A, b"ZBXD\1" + le32(len(body), 0) + body),
        (B, b"ZBXD\1" + le32(22, 0) + b'{"response":"success"}'),
    ]


def elasticsearch() -> Said:
    """Elasticsearch transport: ES, length, request id, status, version."""

    def message(number: int, status: int) -> bytes:
        body = bytes(7) + bytes([number, status]) + be32(8000099) + be32(1) + b"\0" + b"\x10internal:tcp/han"
        return b"ES" + sized(body)

    return rounds([message(1, 8), message(2, 8)], [message(1, 9), message(2, 9)])


def hazelcast() -> Said:
    """Hazelcast clients: CP2, then frames with a length little-endian."""
    frame = le32(34) + b"\0\xc0" + le32(0x100) + bytes(7) + b"\1" + le32(0xFFFFFFFF) + bytes(12)
    return [(A, b"CP2" + frame), (B, frame), (A, frame), (B, frame)]


def avro() -> Said:
    """Avro RPC over Netty: serial number, how many buffers, each with its size."""

    def pack(serial: int, *buffers: bytes) -> bytes:
        return be32(serial, len(buffers)) + b"".join(map(sized, buffers))

    return rounds(
        [pack(n, bytes(16), b"\0\x08send") for n in range(1, 5)],
        [pack(n, b"\0\0\0", b"\x0aworld") for n in range(1, 5)],
    )


def rmi() -> Said:
    """Java RMI: JRMI, then serialised calls."""
    return [
        (A, b"JRMI\0\2\x4b"),
        (B, b"\x4e\0\x09localhost" + be32(40000)),
        (A, b"\0\x09127.0.0.1" + be32(0)),
        (A, b"\x50\xac\xed\0\5\x77\x22" + bytes(34)),
        (B, b"\x51\xac\xed\0\5\x77\x0f\1" + bytes(14)),
    ]


def ajp() -> Said:
    """AJP13: 1234h, length."""
    return 2 * [
        (A, b"\x12\x34\0\x2e\2\2\0\x08HTTP/1.1\0\0\1/\0" + bytes(27)),
        (B, b"AB\0\7\4\0\xc8\0\2OK"),
        (B, b"AB\0\2\5\1"),
    ]


def giop() -> Said:
    """IIOP: GIOP 1.2 Request and Reply."""
    return rounds(
        [b"GIOP\1\2\0\0" + be32(40, n) + bytes([3, 0, 0, 0]) + bytes(32) for n in (1, 2)],
        [b"GIOP\1\2\0\1" + be32(12, n, 0, 0) for n in (1, 2)],
    )


def vnc() -> Said:
    """RFB 3.8, RFC 6143."""
    return [
        (B, b"RFB 003.008\n"),
        (A, b"RFB 003.008\n"),
        (B, b"\1\1"),
        (A, b"\1"),
        (B, be32(0)),
        (A, b"\1"),
        (B, be16(1024, 768) + bytes(16) + sized(b"desktop")),
        (A, b"\3\0\0\0\0\0\4\0\3\0"),
        (B, bytes(3) + b"\1" + be16(0, 0, 8, 8) + be32(0) + bytes(256)),
    ]


def rdp() -> Said:
    """RDP over TPKT: connection request with a cookie."""
    return [
        (A, b"\3\0\0\x2c\x27\xe0\0\0\0\0\0Cookie: mstshash=user\r\n\1\0\x08\0\3\0\0\0"),
        (B, b"\3\0\0\x13\x0e\xd0\0\0\x12\x34\0\2\0\x08\0\2\0\0\0"),
        (A, b"\3\0\0\x0c\2\xf0\x80\4\1\0\1\0"),
        (B, b"\3\0\0\x0b\2\xf0\x80\x2e\0\0\6"),
    ]


def x11() -> Said:
    """X11: connection setup, big-endian."""
    return [
        (A, b"B\0" + be16(11, 0, 18, 16, 0) + b"MIT-MAGIC-COOKIE-1\0\0" + bytes(16)),
        (B, b"\1\0" + be16(11, 0, 30) + be32(11906000, 0x400000, 0x1FFFFF) + bytes(108)),
        (A, b"\x62\0" + be16(5, 12, 0) + b"BIG-REQUESTS"),
        (B, b"\1\0" + be16(1) + be32(0) + bytes(24)),
    ]


def pptp() -> Said:
    """PPTP, RFC 2637 section 2: length, type, magic cookie."""
    start = be16(156, 1) + be32(0x1A2B3C4D) + be16(1, 0, 0x100, 0) + bytes(140)
    return [
        (A, start),
        (B, start),
        (A, be16(16, 1) + be32(0x1A2B3C4D) + be16(5, 0) + be32(7)),
        (B, be16(20, 1) + be32(0x1A2B3C4D) + be16(6, 0) + be32(7) + bytes(4)),
    ]


def tns() -> Said:
    """Oracle TNS: CONNECT, ACCEPT, DATA."""
    body = b"(DESCRIPTION=(CONNECT_DATA=(SID=orcl)))"
    return [
        (A, be16(34 + len(body), 0, 0x100, 0) + bytes(26) + body),
        (B, be16(24, 0, 0x200, 0) + bytes(16)),
        *2 * [(A, be16(20, 0, 0x600, 0) + bytes(12)), (B, be16(20, 0, 0x600, 0) + bytes(12))],
    ]


def tds() -> Said:
    """TDS ([MS-TDS] 2.2.3.1): PRELOGIN, SQL batch."""
    return [
        (A, b"\x12\1\0\x2f\0\0\1\0" + bytes(39)),
        (B, b"\4\1\0\x2b\0\0\1\0" + bytes(35)),
        (A, b"\1\1\0\x1a\0\0\1\0S\0E\0L\0E\0C\0T\0 \0001\0\0"),
        (B, b"\4\1\0\x15\0\x35\1\0" + bytes(13)),
    ]


def drda() -> Said:
    """DB2 DRDA: length, D0h, format, correlation id."""

    def dss(number: int, point: int) -> bytes:
        return be16(26) + b"\xd0\1" + be16(number, 20, point) + be16(16, 0x115E) + b"db2jcc_ap123"

    return rounds([dss(1, 0x1041), dss(2, 0x106D)], [dss(1, 0x1443), dss(2, 0x14AC)])


def hadoop() -> Said:
    """Hadoop IPC 9: hrpc, then protobuf with a length of 32 bits."""
    call = sized(
        b'\x1a\x08\2\x10\0\x18\0"\x10'
        + bytes(range(16))
        + b"\0\x32\x0a\x0bgetFileInfo\x12\x20org.apache.hadoop.hdfs.protocol"
    )
    answer = sized(b"\x0c\x08\0\x10\0\x18\x09\x3a" + bytes(16) + b"\0")
    return [(A, b"hrpc\x09\0\0"), (A, call), (B, answer), *3 * [(A, call), (B, answer)]]


def hbase() -> Said:
    """HBase: HBas, then protobuf."""
    call = sized(b"\x0a\x08\1\x1a\4Scan\x20\1\x28\x10" + bytes(40))
    return [
        (A, b"HBas\0\x50"),
        (A, sized(b"\x0a\4\x0a\2me\x12\x0dClientService")),
        *3 * [(A, call), (B, sized(b"\2\x08\1\6\x08\1" + bytes(12)))],
    ]


def kerberos() -> Said:
    """Kerberos over TCP, RFC 4120 section 7.2.2: a length of 32 bits, ASN.1."""
    return 2 * [
        (A, sized(b"\x6a\x81\x80\x30\x7e\xa1\3\2\1\5\xa2\3\2\1\x0a" + bytes(112))),
        (B, sized(b"\x7e\x60\x30\x5e\xa0\3\2\1\5\xa1\3\2\1\x1e" + bytes(84))),
    ]


def ldap() -> Said:
    """LDAP, RFC 4511: bind, search."""
    return [
        (A, b"\x30\x0c\2\1\1\x60\7\2\1\3\4\0\x80\0"),
        (B, b"\x30\x0c\2\1\1\x61\7\x0a\1\0\4\0\4\0"),
        *2
        * [
            (A, b"\x30\x25\2\1\2\x63\x20\4\0\x0a\1\0\x0a\1\0\2\1\0\2\1\0\1\1\0\x87\x0bobjectclass\x30\0"),
            (B, b"\x30\x0c\2\1\2\x65\7\x0a\1\0\4\0\4\0"),
        ],
    ]


def nsq() -> Said:
    """NSQ: "  V2", commands in text, answers with size and type."""
    return [
        (A, b"  V2"),
        (A, b"IDENTIFY\n" + sized(b'{"client_id":"a"}')),
        (B, sized(be32(0) + b"OK")),
        (A, b"SUB t c\n"),
        (B, sized(be32(0) + b"OK")),
        (B, sized(be32(0) + b"_heartbeat_")),
        (A, b"NOP\n"),
        (B, sized(be32(2) + bytes(8) + be16(1) + b"0123456789abcdef" + b"body")),
    ]


def rsocket() -> Said:
    """RSocket over TCP: a length of 24 bits, stream, type and flags."""

    def frame(stream: int, kind: int, body: bytes) -> bytes:
        return be32(6 + len(body))[1:] + be32(stream) + be16(kind << 10) + body

    setup = frame(
        0, 1, be16(1, 0) + be32(20000, 90000) + b"\x18message/x.rsocket.routing\x10application/json"
    )
    return [
        (A, setup),
        (B, frame(0, 3, bytes(8))),
        *3 * [(A, frame(1, 4, b"\0\0\4ping{}")), (B, frame(1, 10, b"{}"))],
    ]


def numbered(body: bytes) -> Said:
    """Nothing but a length of 32 bits and something behind it, as many in-house protocols have it."""
    return 5 * [(A, sized(body)), (B, sized(body))]


def counted(body: bytes) -> Said:
    """Return the same, with a number that counts up behind the length."""
    return rounds([sized(be32(n) + body) for n in range(1, 8)], [sized(be32(n) + body) for n in range(1, 8)])


def tlv(tag: int, length: int) -> Said:
    """Messages of a fixed length with a tag, as Kafka's have key and version."""
    body = be16(tag, 0) + bytes(length - 4)
    return numbered(body)


NEIGHBOURS: dict[str, Said] = {
    "AJP13": ajp(),
    "AMQP 0-9-1": amqp091(),
    "AMQP 1.0": amqp10(),
    "Aerospike": aerospike(),
    "Avro RPC": avro(),
    "BGP": bgp(),
    "BitTorrent": bittorrent(),
    "Bitcoin": bitcoin(),
    "Cassandra CQL": cassandra(),
    "Ceph": ceph(),
    "ClickHouse": clickhouse(),
    "DB2 DRDA": drda(),
    "DCERPC, big-endian": dcerpc(0),
    "DCERPC, little-endian": dcerpc(0x10),
    "DNP3": dnp3(),
    "DNS AXFR": dns(0, 3),
    "DNS recursive": dns(0x100, 1),
    "LLMNR": dns(0, 1),
    "Diameter": diameter(),
    "Elasticsearch transport": elasticsearch(),
    "FastCGI": fastcgi(),
    "Gearman": gearman(),
    "HBase": hbase(),
    "HTTP/2, gRPC": http2(),
    "Hadoop IPC": hadoop(),
    "Hazelcast": hazelcast(),
    "IEC 104": iec104(),
    "IIOP": giop(),
    "Java RMI": rmi(),
    "Kerberos": kerberos(),
    "LDAP": ldap(),
    "LDP": ldp(),
    "MQTT 3.1.1": mqtt(4),
    "MQTT 5": mqtt(5),
    "Modbus": modbus(),
    "MongoDB": mongodb(),
    "MySQL": mysql(),
    "NBD": nbd(),
    "NFS": nfs(),
    "NSQ": nsq(),
    "OPC UA": opcua(),
    "OpenFlow 1.0": openflow(1),
    "OpenFlow 1.3": openflow(4),
    "OpenWire": openwire(),
    "Oracle TNS": tns(),
    "PPTP": pptp(),
    "PostgreSQL": postgresql(),
    "Pulsar": pulsar(),
    "RDP": rdp(),
    "RSocket": rsocket(),
    "RTMP": rtmp(),
    "S7": s7(),
    "SMB 1": smb(b"\xffSMB"),
    "SMB 2": smb(b"\xfeSMB"),
    "SMPP receiver": smpp(1),
    "SMPP transmitter": smpp(2),
    "SMPP transceiver": smpp(9),
    "SOCKS 4": socks(4),
    "SOCKS 5": socks(5),
    "SSH": ssh(),
    "TDS": tds(),
    "TLS, RADIUS": tls(),
    "VNC": vnc(),
    "X11": x11(),
    "Zabbix": zabbix(),
    "ZooKeeper": zookeeper(),
    "iSCSI": iscsi(),
    "memcached, binary": memcached(),
    "raft": raft(),
    "thrift": thrift(is_strict=True, is_framed=False),
    "thrift, framed": thrift(is_strict=True, is_framed=True),
    "thrift, old": thrift(is_strict=False, is_framed=False),
    "thrift, old and framed": thrift(is_strict=False, is_framed=True),
    "length and JSON": numbered(b'{"op":"ping","id":1}'),
    "length and protobuf": numbered(b"\x08\1\x12\4ping\x18\0"),
    "length and zeros": numbered(bytes(20)),
    "length and many zeros": numbered(bytes(64)),
    "length, number, JSON": counted(b'{"op":"ping"}'),
    "length, number, zeros": counted(bytes(16)),
    "length, number, text": counted(text16("hello, world")),
    **{
        f"tag {tag}, {length} bytes": tlv(tag, length)
        for tag in (3, 7, 16, 18)
        for length in (8, 10, 12, 14, 20)
    },
    "HTTP/1": talk(
        "GET / HTTP/1.1", "Host: a", "", "<HTTP/1.1 200 OK", "<Content-Length: 0", "<", "GET /b HTTP/1.1"
    ),
    "Redis": talk("*1", "$4", "PING", "<+PONG", "*2", "$3", "GET", "$1", "a", "<$-1"),
    "memcached, text": talk("get a", "<END", "set a 0 0 1", "b", "<STORED"),
    "STOMP": [
        (A, b"CONNECT\naccept-version:1.2\n\n\0"),
        (B, b"CONNECTED\nversion:1.2\n\n\0"),
        (A, b"SEND\ndestination:/q\n\nx\0"),
        (B, b"\n"),
    ],
    "NATS": talk('<INFO {"server_id":"a"}', "CONNECT {}", "PING", "<PONG", "SUB a 1", "<MSG a 1 2", "<hi"),
    "RTSP": talk("OPTIONS rtsp://a RTSP/1.0", "CSeq: 1", "", "<RTSP/1.0 200 OK", "<CSeq: 1"),
    "SIP": talk("REGISTER sip:a SIP/2.0", "Call-ID: 1", "", "<SIP/2.0 200 OK", "<Call-ID: 1"),
    "IMAP": talk("<* OK ready", "a1 LOGIN me pw", "<a1 OK", "a2 SELECT INBOX", "<a2 OK"),
    "POP3": talk("<+OK ready", "USER me", "<+OK", "PASS pw", "<+OK"),
    "SMTP": talk("<220 mail", "EHLO me", "<250 mail", "MAIL FROM:<a@b>", "<250 ok"),
    "FTP": talk("<220 ftp", "USER me", "<331 pw", "PASS pw", "<230 in"),
    "Telnet": [
        (B, b"\xff\xfd\x18\xff\xfd\x20"),
        (A, b"\xff\xfb\x18"),
        (B, b"login: "),
        (A, b"me\r\n"),
        (B, b"Password: "),
    ],
    "IRC": talk("NICK me", "USER me 0 * :me", "<:s 001 me :hi", "JOIN #a", "<:me JOIN #a"),
    "XMPP": [
        (A, b"<?xml version='1.0'?><stream:stream to='a'>"),
        (B, b"<?xml version='1.0'?><stream:stream>"),
        (A, b"<auth/>"),
        (B, b"<success/>"),
    ],
    "Git": [
        (A, b"0032git-upload-pack /a\0host=b\0"),
        (B, b"0011\1capabilities0000"),
        (A, b"0000"),
        (B, b"0000"),
    ],
    "SVN": [
        (B, b"( success ( 2 2 ( ) ( edit-pipeline ) ) ) "),
        (A, b"( 2 ( edit-pipeline ) 5:svn:// ) "),
        (B, b"( success ( ) ) "),
    ],
    "rsync": talk("<@RSYNCD: 31.0", "@RSYNCD: 31.0", "module", "<@RSYNCD: OK"),
    "beanstalkd": talk("put 0 0 60 5", "hello", "<INSERTED 1", "reserve", "<RESERVED 1 5"),
    "syslog": [
        (A, b"<34>1 2026-01-01T00:00:00Z a b - - - hello\n"),
        (A, b"<34>1 2026-01-01T00:00:01Z a b - - - again\n"),
        (A, b"58 <34>1 2026 a\n"),
    ],
    "Graphite, StatsD": [(A, b"a.b.c 1 1700000000\n"), (A, b"a.b.c:1|c\n"), (A, b"a.b.d 2 1700000001\n")],
    "GELF": [
        (A, b'{"version":"1.1","host":"a","short_message":"b"}\0'),
        (A, b'{"version":"1.1","host":"a"}\0'),
    ],
}
