//! A flow of which only its handshake was seen, and the connection that begins with the payload
//! after it: `kdissect.engine.half_open`, and its handling in `Analyzer`.

use std::collections::VecDeque;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::engine::completed::NEVER;
use crate::engine::counts::Counts;
use crate::engine::framing::Framing;
use crate::engine::held::Held;
use crate::engine::lent::{Direction, Lent, Line, Segment, Turn, Work};
use crate::engine::shared::{Engine, First};
use crate::engine::stream::Stream;
use crate::engine::talk::Talk;
use crate::flow::Flow;
use crate::headers::{ACK, CONTROL, DSACK, ENDS, SYN};
use crate::request_log::line_comment::LineComment;

/// Sizes of the `struct` formats `>qQqQIIBHi` and `>qQIIBHi`: `kdissect.engine.half_open`.
const FIRST: usize = 47;
const LATER: usize = 31;
/// Packets of a handshake.
const WHOLE: usize = 3;

/// The flows of a capture set, the maximum number of open connections, their counter,
/// `NatSides.see` of the set, the shared state of its connections, and `Analyzer._begin` (None:
/// connections begin in Python).
type Row = (Py<PyDict>, i64, Py<Counts>, Py<PyAny>, Py<Engine>, Option<Py<PyAny>>);

/// Takes segments of flows that are not connections yet.
pub struct Syns {
    flows: Py<PyDict>,
    most: i64,
    counts: Py<Counts>,
    see: Py<PyAny>,
    engine: Py<Engine>,
    pub begin: Option<Py<PyAny>>,
}

impl FromPyObject<'_> for Syns {
    fn extract_bound(row: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (flows, most, counts, see, engine, begin): Row = row.extract()?;
        Ok(Syns { flows, most, counts, see, engine, begin })
    }
}

/// Result for a segment of a flow that is not a connection yet.
pub enum Handshake {
    Done,
    /// It is for Python, without any change.
    Unusual,
    /// It is the first request of a connection.
    Begins(Box<Beginning>),
}

/// A connection that began, of which Python knows nothing yet.
pub struct Beginning {
    pub lent: Lent,
    key: Py<PyBytes>,
    handshake: Py<PyBytes>,
    first: Arc<First>,
    /// The comment of its first line, if it is of a request log.
    line: Option<Py<PyBytes>>,
}

/// A packet of a handshake.
struct Packed {
    time_ns: i64,
    seq: u32,
    ack: u32,
    flags: u8,
    window: u16,
    ip_id: i32,
}

impl Packed {
    /// That with these bytes, which begin with its time, and whose other numbers begin at `at`.
    fn of(bytes: &[u8], at: usize) -> Option<Packed> {
        let (_, rest) = bytes.split_at_checked(at)?;
        let [a, b, c, d, e, f, g, h, flags, i, j, k, l, m, n] = *rest.first_chunk()?;
        Some(Packed {
            time_ns: i64::from_be_bytes(*bytes.first_chunk()?),
            seq: u32::from_be_bytes([a, b, c, d]),
            ack: u32::from_be_bytes([e, f, g, h]),
            flags,
            window: u16::from_be_bytes([i, j]),
            ip_id: i32::from_be_bytes([k, l, m, n]),
        })
    }

    /// The packets of a handshake, with the last one first.
    fn each(half: &[u8]) -> Option<Vec<Packed>> {
        let (later, first) = half.split_at_checked(half.len().checked_sub(FIRST)?)?;
        let mut found = vec![Packed::of(first, 32)?];
        for one in later.rchunks(LATER) {
            found.push(Packed::of(one, 16)?);
        }
        Some(found)
    }
}

impl Syns {
    /// Take a segment of a flow that is no connection. `latest_ns` is the latest time of all
    /// packets so far, if a caller needs its place in the order of all.
    pub fn take(
        &self,
        py: Python<'_>,
        flow: &Flow<'_>,
        segment: &Segment<'_>,
        latest_ns: Option<i64>,
        work: &mut Work,
    ) -> PyResult<Handshake> {
        let flows = self.flows.bind(py);
        let key = PyBytes::new(py, flow.key());
        let mut found = flows.get_item(&key)?.map(|half| (0, key.clone(), half));
        if found.is_none() {
            let key = PyBytes::new(py, &flow.reverse());
            found = flows.get_item(&key)?.map(|half| (1, key, half));
        }
        let Some((direction, key, half)) = found else { return self.open(py, key, segment, latest_ns) };
        let Ok(half) = half.cast_into::<PyBytes>() else { return Ok(Handshake::Unusual) };
        let Some(packets) = Packed::each(half.as_bytes()) else { return Ok(Handshake::Unusual) };
        if segment.packet.payload.is_empty() {
            if !follows(&packets, direction, segment) {
                return Ok(Handshake::Unusual);
            }
            flows.set_item(key, PyBytes::new(py, &[&packed(segment, None), half.as_bytes()].concat()))?;
            return Ok(Handshake::Done);
        }
        if self.begin.is_none() || direction > 0 || !begins(&packets, segment) {
            return Ok(Handshake::Unusual);
        }
        let engine = self.engine.get();
        let Some(first) = engine.first(py, segment.packet.payload)? else { return Ok(Handshake::Unusual) };
        let Some(mut lent) = lent_of(py, &packets, &first) else { return Ok(Handshake::Unusual) };
        let turn = lent.take(py, engine, 0, segment, work)?;
        lent.talk.begins = false;
        if !matches!(turn, Turn::Taken) {
            return Ok(Handshake::Unusual);
        }
        let (key, handshake) = (key.unbind(), half.unbind());
        Ok(Handshake::Begins(Box::new(Beginning { lent, key, handshake, first, line: None })))
    }

    /// Take a segment built from a line of a request log, of a flow that is not native-owned.
    pub fn take_logged(
        &self,
        py: Python<'_>,
        flow: &Flow<'_>,
        (segment, line): (&Segment<'_>, &LineComment<'_>),
        latest_ns: Option<i64>,
        work: &mut Work,
    ) -> PyResult<Handshake> {
        let (flows, key) = (self.flows.bind(py), PyBytes::new(py, flow.key()));
        let is_known = flows.contains(&key)? || flows.contains(PyBytes::new(py, &flow.reverse()))?;
        let has_room = self.counts.get().connections() < self.most;
        if self.begin.is_none() || is_known || !has_room || latest_ns.is_some_and(i64::is_negative) {
            return Ok(Handshake::Unusual);
        }
        let engine = self.engine.get();
        let Some(first) = engine.first(py, segment.packet.payload)? else { return Ok(Handshake::Unusual) };
        let comment = PyBytes::new(py, line.whole).unbind();
        let streams = [Stream::from_middle(segment.seq), Stream::from_middle(segment.ack)];
        let mut lent = beginning(py, streams, &first, segment.packet.time_ns);
        lent.line = Some(Line::of(comment.clone_ref(py)));
        let turn = lent.take_logged(py, engine, 0, (segment, line), work)?;
        lent.talk.begins = false;
        if !matches!(turn, Turn::Taken) {
            return Ok(Handshake::Unusual);
        }
        self.counts.get().open();
        let place = (latest_ns.unwrap_or(0), if latest_ns.is_some() { segment.packet.reference } else { 0 });
        let handshake = PyBytes::new(py, &packed(segment, Some(place))).unbind();
        let line = Some(comment);
        Ok(Handshake::Begins(Box::new(Beginning { lent, key: key.unbind(), handshake, first, line })))
    }

    /// Store a SYN of a new flow.
    fn open(
        &self,
        py: Python<'_>,
        key: Bound<'_, PyBytes>,
        segment: &Segment<'_>,
        latest_ns: Option<i64>,
    ) -> PyResult<Handshake> {
        let is_syn_alone = segment.flags & ENDS == SYN && segment.packet.payload.is_empty();
        let counts = self.counts.get();
        let has_room = counts.connections() < self.most;
        if !is_syn_alone || latest_ns.is_some_and(i64::is_negative) || !has_room {
            return Ok(Handshake::Unusual);
        }
        if segment.flags & ACK == 0 {
            let (ip_id, time_ns) = (segment.ip_id as i32, segment.packet.time_ns);
            self.see.call1(py, (&key, segment.seq, segment.window, ip_id, time_ns))?;
        }
        counts.open();
        let place = (latest_ns.unwrap_or(0), if latest_ns.is_some() { segment.packet.reference } else { 0 });
        self.flows.bind(py).set_item(key, PyBytes::new(py, &packed(segment, Some(place))))?;
        Ok(Handshake::Done)
    }
}

impl Beginning {
    /// Inform Python, and return its place. `at` is the latest time of all packets so far, if it is
    /// needed, and the reference of the packet.
    pub fn of_python(&self, py: Python<'_>, begin: &Py<PyAny>, at: (Option<i64>, i64)) -> PyResult<Py<Held>> {
        begin.call1(py, (&self.key, &self.handshake, &self.first.told, at.0, at.1, &self.line))?.extract(py)
    }
}

/// The last packet's time of a half-open connection: `kdissect.engine.half_open.time_of`.
pub fn last_time_ns(half: &[u8]) -> Option<i64> {
    half.first_chunk().map(|bytes| i64::from_be_bytes(*bytes))
}

/// Whether an empty segment is the next step of a handshake:
/// `kdissect.engine.half_open.followed_by`.
fn follows(packets: &[Packed], direction: usize, segment: &Segment<'_>) -> bool {
    let ([first, ..], [.., before]) = (packets, packets) else { return false };
    let wanted = match packets.len() {
        1 => (1, SYN | ACK),
        2 => (0, ACK),
        _ => return false,
    };
    (direction, segment.flags & CONTROL) == wanted
        && first.flags & (SYN | ACK) == SYN
        && Some(segment.ack) == before.seq.checked_add(1)
        && (packets.len() == 1 || Some(segment.seq) == first.seq.checked_add(1))
}

/// Whether a segment with payload is the first one after a handshake without anomalies.
fn begins(packets: &[Packed], segment: &Segment<'_>) -> bool {
    let [first, second, more @ ..] = packets else { return false };
    let is_plain = |one: &Packed| one.flags & DSACK == 0 && one.window > 0;
    packets.len() <= WHOLE
        && packets.iter().all(is_plain)
        && segment.flags & (CONTROL | DSACK) == ACK
        && segment.seq == first.seq.wrapping_add(1)
        && segment.ack == second.seq.wrapping_add(1)
        && more.iter().all(|third| third.ack == segment.ack)
}

/// The connection of a handshake, before its first request.
fn lent_of(py: Python<'_>, packets: &[Packed], first: &First) -> Option<Lent> {
    let [syn, answer, more @ ..] = packets else { return None };
    let mut client = Stream::opened(syn.seq, syn.ip_id, syn.time_ns);
    let mut broker = Stream::opened(answer.seq, answer.ip_id, answer.time_ns);
    client.acks.acknowledge(answer.ack, answer.time_ns, true, client.start_seq);
    let mut last_time_ns = answer.time_ns;
    for third in more {
        broker.acks.acknowledge(third.ack, third.time_ns, true, broker.start_seq);
        client.packets += 1;
        last_time_ns = third.time_ns;
    }
    Some(beginning(py, [client, broker], first, last_time_ns))
}

/// A connection before its first request, with the streams of client and broker.
fn beginning(py: Python<'_>, streams: [Stream; 2], first: &First, last_time_ns: i64) -> Lent {
    let framing = || Some(Framing { under_way: None, stub: [].into(), first: (0, 0) });
    let talk = Talk {
        next: 0,
        client_id: first.client_id.clone_ref(py),
        client_bytes: first.client_bytes.clone_ref(py),
        client_length: first.client_length,
        seen: [].into(),
        pending: VecDeque::new(),
        silent: Vec::new(),
        answered: Vec::new(),
        bytes: 0,
        last_id: None,
        highest_id: i64::MIN,
        answered_ns: NEVER,
        begins: true,
    };
    let directions = streams.map(|stream| Direction { stream, framing: framing() });
    Lent { directions, client: 0, talk, last_time_ns, taken: 0, can_end: true, reset_by: None, line: None }
}

/// A packet in Python's packed form, with its place in the order of all if it is the first one.
fn packed(segment: &Segment<'_>, place: Option<(i64, i64)>) -> Vec<u8> {
    let mut made = Vec::with_capacity(FIRST);
    made.extend(segment.packet.time_ns.to_be_bytes());
    made.extend(segment.packet.reference.to_be_bytes());
    if let Some((latest_ns, reference)) = place {
        made.extend(latest_ns.to_be_bytes());
        made.extend(reference.to_be_bytes());
    }
    made.extend(segment.seq.to_be_bytes());
    made.extend(segment.ack.to_be_bytes());
    made.push(segment.flags);
    made.extend(segment.window.to_be_bytes());
    made.extend((segment.ip_id as i32).to_be_bytes());
    made
}
