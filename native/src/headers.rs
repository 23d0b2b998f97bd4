//! Headers of a plain packet, link layer to TCP: what `kdissect.net.fused` and `kdissect.net.in_order` ask.

/// IPv4 without options and TCP without options, RFC 791 section 3.1 and RFC 9293 section 3.1.
const IP: usize = 20;
const TCP: usize = 20;
/// Version 4, five words of header.
const PLAIN_IPV4: u8 = 0x45;
/// More fragments and fragment offset, RFC 791 section 3.1.
const FRAGMENT: u16 = 0x3FFF;
const PROTOCOL_TCP: u8 = 6;
/// FIN, SYN, RST and ACK; of these a segment has ACK that neither begins nor ends anything.
const CONTROL: u8 = 0x17;
const ACK: u8 = 0x10;

/// A segment that neither begins nor ends anything; its payload lies from `begin` up to `end`.
pub struct Plain<'a> {
    pub flow: &'a [u8],
    pub seq: u32,
    pub ack: u32,
    pub ip_id: u16,
    pub begin: usize,
    pub end: usize,
}

/// Where the protocol field of a link header stands, what it is for IPv4, and the header's bytes.
/// Sources: `kdissect.net.link`.
fn link(link_type: u32) -> Option<(usize, &'static [u8], usize)> {
    match link_type {
        0 => Some((0, &[2, 0, 0, 0], 4)),   // NULL, of a little-endian host
        1 => Some((12, &[8, 0], 14)),       // ETHERNET
        101 | 228 => Some((0, &[], 0)),     // RAW, IPV4
        108 => Some((0, &[0, 0, 0, 2], 4)), // LOOP
        113 => Some((14, &[8, 0], 16)),     // LINUX_SLL
        276 => Some((0, &[8, 0], 20)),      // LINUX_SLL2
        _ => None,
    }
}

fn two(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn four(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// The segment in the packet `data[start..limit]`; None if anything about it is unusual.
pub fn plain(data: &[u8], start: usize, limit: usize, link_type: u32) -> Option<Plain<'_>> {
    let (at, expected, network) = link(link_type)?;
    let packet = data.get(start..limit)?;
    let ip = packet.get(network..)?;
    if ip.len() < IP + TCP || packet.get(at..at + expected.len())? != expected {
        return None;
    }
    if ip[0] != PLAIN_IPV4 || two(ip, 6) & FRAGMENT != 0 || ip[9] != PROTOCOL_TCP {
        return None;
    }
    let words = usize::from(ip[32] >> 4);
    if words < 5 || ip[33] & CONTROL != ACK || two(ip, 34) == 0 {
        return None;
    }
    let (begin, end) = (IP + 4 * words, usize::from(two(ip, 2)));
    if begin > end || end > ip.len() {
        return None;
    }
    Some(Plain {
        flow: &ip[12..24],
        seq: four(ip, 24),
        ack: four(ip, 28),
        ip_id: two(ip, 4),
        begin: start + network + begin,
        end: start + network + end,
    })
}
