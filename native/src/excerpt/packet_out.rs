//! A packet with the headers of another one and other bytes after them, as a block of a pcapng
//! file: `kdissect.excerpt.packet_headers.Headers` and
//! `kdissect.capture.formats.capture_writer.PcapngWriter`.

use crate::flow::Flow;

/// Of a TCP header, RFC 9293 section 3.1.
const SEQ: usize = 4;
const ACK: usize = 8;
const FLAGS: usize = 13;
const CHECKSUM: usize = 16;
const OPTIONS: usize = 20;
/// Kinds of options, RFC 9293 section 3.2 and RFC 2018.
const END: u8 = 0;
const NOTHING: u8 = 1;
const SACK: u8 = 5;
/// Lengths and checksum of IPv4 and IPv6, RFC 791 section 3.1 and RFC 8200 section 3.
const IPV4_LENGTH: usize = 2;
const IPV4_CHECKSUM: usize = 10;
const IPV4: usize = 20;
const IPV6: usize = 40;
const IPV6_LENGTH: usize = 4;
const TCP: u8 = 6;
const TIME_TO_LIVE: u8 = 64;
/// Enhanced Packet Block and a comment, draft-ietf-opsawg-pcapng sections 4.3 and 3.5.
const BLOCK: u32 = 6;
const BLOCK_FRAME: usize = 32;
const COMMENT: u16 = 1;
const MOST_COMMENT: usize = 0xFFFF;

/// The parts of a packet that differ from its source packet.
pub struct Content<'a> {
    pub seq: u32,
    pub ack: u32,
    pub flags: u8,
    pub payload: &'a [u8],
    /// Empty for none.
    pub comment: &'a [u8],
}

/// Its interface and time in the output.
pub struct Stamp {
    pub interface: u32,
    pub time_ns: u64,
}

/// Headers of a flow without a link layer: `packet_headers.headers_between`.
pub fn headers_between(flow: &Flow<'_>) -> Vec<u8> {
    let (mut made, addresses, ports) = match flow {
        Flow::V4(key) => (vec![0x45, 0, 0, 0, 0, 0, 0, 0, TIME_TO_LIVE, TCP, 0, 0], &key[..8], &key[8..]),
        Flow::V6(key) => (vec![0x60, 0, 0, 0, 0, 0, TCP, TIME_TO_LIVE], &key[..32], &key[32..]),
    };
    made.extend_from_slice(addresses);
    made.extend_from_slice(ports);
    made.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0, 0, 0x50, 0, 0xFF, 0xFF, 0, 0, 0, 0]);
    made
}

/// Put the block behind what is in `out`; `header` are the bytes of the packet up to its payload, in which TCP begins at
/// `tcp`.
pub fn put(
    out: &mut Vec<u8>,
    flow: &Flow<'_>,
    tcp: usize,
    header: &[u8],
    stamp: &Stamp,
    content: &Content<'_>,
) {
    let size = header.len() + content.payload.len();
    let comment = content.comment.get(..content.comment.len().min(MOST_COMMENT)).unwrap_or_default();
    let options = if comment.is_empty() { 0 } else { 8 + padded(comment.len()) };
    let total = begin(out, stamp, size, size as u32, options);
    let start = out.len();
    out.extend_from_slice(header);
    out.extend_from_slice(content.payload);
    if let Some(made) = out.get_mut(start..) {
        rewrite(made, flow, tcp, header.len(), content);
    }
    pad(out, size);
    if !comment.is_empty() {
        out.extend_from_slice(&COMMENT.to_le_bytes());
        out.extend_from_slice(&(comment.len() as u16).to_le_bytes());
        out.extend_from_slice(comment);
        pad(out, comment.len());
        out.extend_from_slice(&[0; 4]);
    }
    out.extend_from_slice(&total.to_le_bytes());
}

/// Put the block of a packet as it is: `data`, of `wire` bytes on the wire.
pub fn put_whole(out: &mut Vec<u8>, stamp: &Stamp, data: &[u8], wire: u32) {
    let total = begin(out, stamp, data.len(), wire, 0);
    out.extend_from_slice(data);
    pad(out, data.len());
    out.extend_from_slice(&total.to_le_bytes());
}

/// Put the words of a block that come before the bytes of its packet. Return the length of the block.
fn begin(out: &mut Vec<u8>, stamp: &Stamp, size: usize, wire: u32, options: usize) -> u32 {
    let total = (BLOCK_FRAME + padded(size) + options) as u32;
    let words = [BLOCK, total, stamp.interface, (stamp.time_ns >> 32) as u32, stamp.time_ns as u32];
    for word in words.into_iter().chain([size as u32, wire]) {
        out.extend_from_slice(&word.to_le_bytes());
    }
    total
}

fn padded(size: usize) -> usize {
    size.next_multiple_of(4)
}

fn pad(out: &mut Vec<u8>, size: usize) {
    out.resize(out.len() + padded(size) - size, 0);
}

fn put_16(out: &mut [u8], at: usize, value: u16) {
    if let Some(place) = out.get_mut(at..at + 2) {
        place.copy_from_slice(&value.to_be_bytes());
    }
}

fn put_32(out: &mut [u8], at: usize, value: u32) {
    if let Some(place) = out.get_mut(at..at + 4) {
        place.copy_from_slice(&value.to_be_bytes());
    }
}

/// Lengths, numbers and checksums of the new content; TCP begins at `tcp`, its payload at `end`.
fn rewrite(out: &mut [u8], flow: &Flow<'_>, tcp: usize, end: usize, content: &Content<'_>) {
    let size = out.len() - tcp;
    if let Some(options) = out.get_mut(tcp + OPTIONS..end) {
        forget_sack(options);
    }
    put_32(out, tcp + SEQ, content.seq);
    put_32(out, tcp + ACK, content.ack);
    if let Some(flags) = out.get_mut(tcp + FLAGS) {
        *flags = content.flags;
    }
    put_16(out, tcp + CHECKSUM, 0);
    let addresses: &[u8] = match flow {
        Flow::V4(key) => &key[..8],
        Flow::V6(key) => &key[..32],
    };
    if let Flow::V4(_) = flow {
        let ip = tcp - IPV4;
        put_16(out, ip + IPV4_LENGTH, (IPV4 + size) as u16);
        put_16(out, ip + IPV4_CHECKSUM, 0);
        let sum = checksum(words(out.get(ip..tcp).unwrap_or_default()));
        put_16(out, ip + IPV4_CHECKSUM, sum);
    } else {
        put_16(out, tcp - IPV6 + IPV6_LENGTH, size as u16);
    }
    let pseudo = words(addresses) + u64::from(TCP) + size as u64;
    let sum = checksum(pseudo + words(out.get(tcp..).unwrap_or_default()));
    put_16(out, tcp + CHECKSUM, sum);
}

/// Selective acknowledgments name sequence numbers of the capture: NOPs take their place.
fn forget_sack(options: &mut [u8]) {
    let mut at = 0;
    while let Some(&kind) = options.get(at) {
        let length = match kind {
            END => return,
            NOTHING => 1,
            _ => match options.get(at + 1) {
                Some(&length) if length >= 2 => usize::from(length),
                _ => return,
            },
        };
        if kind == SACK {
            let stop = (at + length).min(options.len());
            options[at..stop].fill(NOTHING);
        }
        at += length;
    }
}

/// The sum of 16-bit words, the last one filled with 0.
fn words(data: &[u8]) -> u64 {
    let fours = data.chunks_exact(4);
    let rest = fours.remainder();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    // 32-bit words: 2^16 is 1 modulo 2^16 - 1, so their sum is as good, and the processor adds several at once
    let sum: u64 =
        fours.map(|four| u64::from(u32::from_be_bytes([four[0], four[1], four[2], four[3]]))).sum();
    sum + u64::from(u32::from_be_bytes(last))
}

/// The Internet checksum (RFC 1071), as `packet_headers._checksum` has it.
fn checksum(sum: u64) -> u16 {
    0xFFFF - (sum % 0xFFFF) as u16
}
