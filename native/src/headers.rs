//! Headers of a plain packet, link layer to TCP: what `kdissect.net.headers.combined_header` and `kdissect.net.headers.layers` ask.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::flow::Flow;

/// IPv4 without options and TCP without options, RFC 791 section 3.1 and RFC 9293 section 3.1.
const IPV4: usize = 20;
pub const TCP: usize = 20;
/// IPv6 without extension headers, RFC 8200 section 3.
const IPV6: usize = 40;
const IPV4_AND_TCP: usize = IPV4 + TCP;
const IPV6_AND_TCP: usize = IPV6 + TCP;
/// Version 4, five words of header.
const PLAIN_IPV4: u8 = 0x45;
/// More fragments and fragment offset, RFC 791 section 3.1.
const FRAGMENT: u16 = 0x3FFF;
const PROTOCOL_TCP: u8 = 6;
/// FIN, SYN, RST and ACK; of these a segment has ACK that neither begins nor ends anything.
pub const CONTROL: u8 = 0x17;
pub const ACK: u8 = 0x10;
/// As `combined_header.segment_flags` and `segment.DSACK`; a length in words, one more with data.
const NO_CWR: u8 = 0x7F;
pub const DSACK: u8 = 0x80;
const HAS_SACK: usize = 8;
/// SYN alone begins a connection. With FIN or RST it also ends it.
pub const SYN: u8 = 0x02;
pub const FIN: u8 = 0x01;
pub const RST: u8 = 0x04;
pub const ENDS: u8 = FIN | SYN | RST;

/// VXLAN: the port of IANA, and the port of Linux's driver. The I flag, after the UDP header (RFC
/// 7348 section 5).
const PROTOCOL_UDP: u8 = 17;
const VXLAN_PORTS: [u16; 2] = [4789, 8472];
const UDP_AND_VXLAN: usize = 16;
const HAS_VNI: u8 = 0x08;
/// Where the EtherType is in an Ethernet header.
const ETHERTYPE_AT: usize = 12;

/// A TCP packet, whose content is in `data` of a chunk.
pub struct Packet<'a> {
    pub flow: Flow<'a>,
    /// Whether another packet carries it.
    pub is_inner: bool,
    pub ip_id: i64,
    tcp: &'a [u8; TCP],
    /// Where TCP begins in the chunk, where the packet ends by its length, and where its captured bytes do.
    at: usize,
    stop: usize,
    limit: usize,
}

/// A completely captured segment, whose payload is from `begin` up to `end`.
pub struct Whole {
    pub seq: u32,
    pub ack: u32,
    /// As they are on the wire.
    pub flags: u8,
    pub window: u16,
    pub begin: usize,
    pub end: usize,
}

impl Whole {
    /// Whether it neither begins nor ends anything, and leaves the window open.
    pub fn is_plain(&self) -> bool {
        self.flags & CONTROL == ACK && self.window != 0
    }
}

fn two(bytes: &[u8; 2]) -> u16 {
    u16::from_be_bytes(*bytes)
}

/// `N` bytes of a header, which exist, as its caller and the compiler know.
fn part<const N: usize>(bytes: &[u8], at: usize) -> &[u8; N] {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).unwrap_or(&[0; N])
}

impl<'a> Packet<'a> {
    /// The packet `data[start..limit]`, captured on a link of this type, or the one that VXLAN carries in it; None if
    /// anything about its link or network header is unusual.
    pub fn read(data: &'a [u8], start: usize, limit: usize, link_type: u32) -> Option<Packet<'a>> {
        let packet = data.get(start..limit)?;
        let outer = network(packet, link_type)?;
        Packet::at(packet, start, limit, outer).or_else(|| {
            let found = Packet::at(packet, start, limit, vxlan(packet, outer)?)?;
            Some(Packet { is_inner: true, ..found })
        })
    }

    /// The packet whose network header is at a place of the captured one, which begins at `start`.
    fn at(
        packet: &'a [u8],
        start: usize,
        limit: usize,
        (network, is_ipv6): (usize, bool),
    ) -> Option<Packet<'a>> {
        let (ip, at) = (packet.get(network..)?, start + network);
        if is_ipv6 {
            Packet::ipv6(ip.first_chunk()?, at, limit)
        } else {
            Packet::ipv4(ip.first_chunk()?, at, limit)
        }
    }

    fn ipv4(ip: &'a [u8; IPV4_AND_TCP], at: usize, limit: usize) -> Option<Packet<'a>> {
        if ip[0] != PLAIN_IPV4 || two(part(ip, 6)) & FRAGMENT != 0 || ip[9] != PROTOCOL_TCP {
            return None;
        }
        Some(Packet {
            flow: Flow::V4(part(ip, 12)),
            is_inner: false,
            ip_id: i64::from(two(part(ip, 4))),
            tcp: part(ip, IPV4),
            at: at + IPV4,
            stop: at + usize::from(two(part(ip, 2))),
            limit,
        })
    }

    fn ipv6(ip: &'a [u8; IPV6_AND_TCP], at: usize, limit: usize) -> Option<Packet<'a>> {
        if ip[0] >> 4 != 6 || ip[6] != PROTOCOL_TCP {
            return None;
        }
        Some(Packet {
            flow: Flow::V6(part(ip, 8)),
            is_inner: false,
            ip_id: -1, // it has none
            tcp: part(ip, IPV6),
            at: at + IPV6,
            stop: at + IPV6 + usize::from(two(part(ip, 4))),
            limit,
        })
    }

    /// Where TCP begins in the chunk.
    pub fn tcp_at(&self) -> usize {
        self.at
    }

    /// Its segment; None if it is cut.
    pub fn whole(&self) -> Option<Whole> {
        let words = usize::from(self.tcp[12] >> 4);
        let (begin, end) = (self.at + 4 * words, self.stop);
        if words < 5 || begin > end || end > self.limit {
            return None;
        }
        let (seq, ack) = (u32::from_be_bytes(*part(self.tcp, 4)), u32::from_be_bytes(*part(self.tcp, 8)));
        let (flags, window) = (self.tcp[13], two(part(self.tcp, 14)));
        Some(Whole { seq, ack, flags, window, begin, end })
    }
}

impl<'a> Packet<'a> {
    /// The flags of a segment as Python has them (`kdissect.model.packets.segment.PlainSegment`).
    pub fn flags(&self, data: &[u8], of: &Whole) -> u8 {
        let options = data.get(self.at + TCP..of.begin).unwrap_or_default();
        let words = (of.begin - self.at) / 4;
        let least = if of.begin == of.end { HAS_SACK } else { HAS_SACK + 1 };
        let has_dsack = words >= least && has_dsack(of.ack, options);
        of.flags & NO_CWR | if has_dsack { DSACK } else { 0 }
    }

    /// Whether it opens a connection: SYN without ACK.
    pub fn is_syn(&self) -> bool {
        self.tcp[13] & (SYN | ACK) == SYN
    }

    /// Its segment as `kdissect.model.packets.segment.PlainSegment`, whatever it begins or ends; None if it is cut.
    pub fn segment<'py>(&self, py: Python<'py>, data: &[u8]) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let Some(of) = self.whole() else { return Ok(None) };
        let flow = match self.flow {
            Flow::V4(key) => PyBytes::new(py, key),
            Flow::V6(key) => PyBytes::new(py, key),
        };
        let payload = PyBytes::new(py, data.get(of.begin..of.end).unwrap_or_default());
        let flags = self.flags(data, &of);
        (flow, of.seq, of.ack, flags, of.window, payload, 0, self.ip_id).into_pyobject(py).map(Some)
    }
}

/// Whether an acknowledgment says that bytes came twice: `combined_header.with_dsack`.
fn has_dsack(ack: u32, options: &[u8]) -> bool {
    let is_behind = |one: u32, other: u32| one.wrapping_sub(other) < 1 << 31;
    let mut at = 0;
    while let [kind, size, ..] = *options.get(at..).unwrap_or_default() {
        match kind {
            0 => return false,
            1 => at += 1,
            5 if size >= 10 => {
                let Some(blocks) = options.get(at + 2..at + usize::from(size)) else { return false };
                let edge = |number: usize| u32::from_be_bytes(*part(blocks, 4 * number));
                let (left, right) = (edge(0), edge(1));
                let is_inside = size >= 18 && is_behind(left, edge(2)) && is_behind(edge(3), right);
                return is_behind(ack, right) || is_inside;
            }
            _ => at += usize::from(size.max(2)),
        }
    }
    false
}

/// Where the IP header of a packet begins, and whether it is IPv6; None for another protocol or link.
/// Sources: `kdissect.net.headers.link_header`.
fn network(packet: &[u8], link_type: u32) -> Option<(usize, bool)> {
    match link_type {
        1 => behind_ethertype(packet, ETHERTYPE_AT), // ETHERNET
        101 | 228 | 229 => Some((0, packet.first()? >> 4 == 6)), // RAW, IPV4, IPV6
        113 => behind_ethertype(packet, 14),         // LINUX_SLL
        276 => by_ethertype(packet.first_chunk()?, 20), // LINUX_SLL2
        0 if packet.starts_with(&[2, 0, 0, 0]) => Some((4, false)), // NULL, of a little-endian host
        108 if packet.starts_with(&[0, 0, 0, 2]) => Some((4, false)), // LOOP
        _ => None,
    }
}

/// Where the IP header of the packet begins that VXLAN carries, after the header of IP at `at`, and
/// whether it is IPv6: `kdissect.net.headers.tunnel`. None without one, or if anything about its
/// carrier is unusual.
fn vxlan(packet: &[u8], (at, is_ipv6): (usize, bool)) -> Option<(usize, bool)> {
    let ip = packet.get(at..)?;
    let udp_at = if is_ipv6 {
        let ip: &[u8; IPV6] = ip.first_chunk()?;
        (ip[0] >> 4 == 6 && ip[6] == PROTOCOL_UDP).then_some(at + IPV6)?
    } else {
        let ip: &[u8; IPV4] = ip.first_chunk()?;
        let is_whole = two(part(ip, 6)) & FRAGMENT == 0 && usize::from(two(part(ip, 2))) >= IPV4;
        (ip[0] == PLAIN_IPV4 && ip[9] == PROTOCOL_UDP && is_whole).then_some(at + IPV4)?
    };
    let udp: &[u8; UDP_AND_VXLAN] = packet.get(udp_at..)?.first_chunk()?;
    let is_vxlan = VXLAN_PORTS.contains(&two(part(udp, 2))) && udp[8] & HAS_VNI != 0;
    is_vxlan.then(|| behind_ethertype(packet, udp_at + UDP_AND_VXLAN + ETHERTYPE_AT))?
}

/// The same for a link header that ends with an EtherType at `at`, VLAN tags skipped.
fn behind_ethertype(packet: &[u8], at: usize) -> Option<(usize, bool)> {
    let mut at = at;
    loop {
        let ethertype: &[u8; 2] = packet.get(at..)?.first_chunk()?;
        match two(ethertype) {
            0x8100 | 0x88A8 | 0x9100 | 0x9200 => at += 4,
            _ => return by_ethertype(ethertype, at + 2),
        }
    }
}

fn by_ethertype(ethertype: &[u8; 2], at: usize) -> Option<(usize, bool)> {
    match two(ethertype) {
        0x0800 => Some((at, false)),
        0x86DD => Some((at, true)),
        _ => None,
    }
}
