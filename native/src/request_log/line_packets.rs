//! A line of JSON to the packets of its request and its response.

use std::collections::HashMap;
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::json_out;
use crate::request_log::json::Json;
use crate::request_log::line_comment::{COMMENT, LENGTHS, LINK_TYPE, PREFIX};
use crate::request_log::line_time::time_in;
use crate::request_log::logged_body::LoggedBody;

/// `REQUEST_LOG_MARKER`, and bounds of `kdissect.capture.formats.request_log`.
const MARKER: &[u8] = b"Completed request:";
const PREFIX_BYTES: usize = 200;
const PAYLOAD: usize = 60_000;
const LONGEST: usize = 1000;
const MOST_MS: f64 = 1e9;
const US_NS: i64 = 1000;
const TIMES: [&str; 6] = [
    "requestQueueTimeMs",
    "localTimeMs",
    "remoteTimeMs",
    "throttleTimeMs",
    "responseQueueTimeMs",
    "sendTimeMs",
];
const ANONYMOUS: &str = "User:ANONYMOUS";
const USER: &str = "User:";
const UNKNOWN: &str = "unknown";
const PRODUCE: i64 = 0;
const UNSUPPORTED_VERSION: i64 = 35;
/// A client id that is null, in a header.
const NULL: [u8; 2] = [0xFF; 2];
/// Kinds that are remembered.
const MOST_KINDS: usize = 4096;
/// Headers of IP and TCP, RFC 791, RFC 8200 and RFC 9293.
const IPV4: usize = 20;
const IPV6: usize = 40;
const TCP: usize = 20;

/// Both ends: addresses in network order, and ports.
type Ends = (Vec<u8>, u16, Vec<u8>, u16);

/// The bytes after the correlation id in a request header without client id, and in a response header. Then encoders
/// of request, response, and response in version 0, if the broker may refuse the version of the request.
type KindRow = (Vec<u8>, Vec<u8>, Py<LoggedBody>, Py<LoggedBody>, Option<Py<LoggedBody>>);

/// Packets with their places as Python has them, bytes of all packets without comments, forwarded requests, lines, and
/// where the next line begins.
type Found<'py> = (Bound<'py, PyBytes>, Vec<(usize, i64, u32, usize, usize)>, usize, u64, u64, usize);

#[pyclass(module = "kdissect._native")]
pub struct LinePackets {
    ends_of: Py<PyAny>,
    kind_of: Py<PyAny>,
    kinds: HashMap<(i64, i64), Option<Arc<KindRow>>>,
}

#[pymethods]
impl LinePackets {
    /// `ends_of` returns the ends of a connection by its name, or raises ValueError. `kind_of` returns the row of an API
    /// and version, None for one that Python encodes.
    #[new]
    fn new(ends_of: Py<PyAny>, kind_of: Py<PyAny>) -> Self {
        LinePackets { ends_of, kind_of, kinds: HashMap::new() }
    }

    /// The packets of the lines from `start` on, the first of which has this number, up to a line that Python must read, or
    /// report what is wrong with it, or that has no end.
    fn take<'py>(
        &mut self,
        py: Python<'py>,
        data: &Bound<'py, PyBytes>,
        start: usize,
        number: u64,
    ) -> PyResult<Found<'py>> {
        let data = data.as_bytes();
        let (mut out, mut at, mut lines) = (Packets::default(), start, 0);
        while let Some(rest) = data.get(at..) {
            let Some(end) = rest.iter().position(|byte| *byte == b'\n') else { break };
            if !self.line(py, rest.get(..end).unwrap_or_default(), number + lines, &mut out)? {
                break;
            }
            at += end + 1;
            lines += 1;
        }
        Ok((PyBytes::new(py, &out.out), out.places, out.bytes, out.forwarded, lines, at))
    }
}

impl LinePackets {
    /// Append the packets of a line; false, without any change, if it is Python's.
    fn line(&mut self, py: Python<'_>, line: &[u8], number: u64, out: &mut Packets) -> PyResult<bool> {
        let Some(marker) = find(line, MARKER) else { return Ok(true) };
        let start = marker + MARKER.len();
        let text = line.get(start..).and_then(|text| std::str::from_utf8(text).ok());
        let text = text.filter(|text| text.starts_with('{') && find(text.as_bytes(), MARKER).is_none());
        let Some(row) = text.and_then(Json::first) else { return Ok(false) };
        let prefix = line.get(marker.saturating_sub(PREFIX_BYTES)..marker).unwrap_or_default();
        let Some(time_ns) = time_in(prefix) else { return Ok(false) };
        if matches!(row.get("isForwarded"), Some(Json::Bool(true))) {
            out.forwarded += 1;
            return Ok(true);
        }
        let Some(of) = Line::of(&row) else { return Ok(false) };
        let (Some(kind), Some(ends)) = (self.kind(py, of.kind)?, self.ends(py, of.connection)?) else {
            return Ok(false);
        };
        let Some((request, response)) = of.frames(&kind) else { return Ok(false) };
        let comment = of.comment(number);
        let in_range = |time_ns: i128| time_ns.clamp(0, i64::MAX.into()) as i64;
        out.put(&ends, in_range(time_ns - i128::from(of.total_ns)), true, &request, &comment);
        if let Some(response) = response {
            out.put(&ends, in_range(time_ns), false, &response, &comment);
        }
        Ok(true)
    }

    fn kind(&mut self, py: Python<'_>, kind: (i64, i64)) -> PyResult<Option<Arc<KindRow>>> {
        if let Some(known) = self.kinds.get(&kind) {
            return Ok(known.clone());
        }
        let found: Option<KindRow> = self.kind_of.call1(py, kind)?.extract(py)?;
        let found = found.map(Arc::new);
        if self.kinds.len() >= MOST_KINDS {
            self.kinds.clear();
        }
        self.kinds.insert(kind, found.clone());
        Ok(found)
    }

    fn ends(&self, py: Python<'_>, connection: &str) -> PyResult<Option<Ends>> {
        match self.ends_of.call1(py, (connection,)) {
            Ok(found) => found.extract(py).map(Some),
            Err(error) if error.is_instance_of::<PyValueError>(py) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The fields of a line.
struct Line<'a> {
    row: &'a Json<'a>,
    kind: (i64, i64),
    id: i32,
    /// None without the field, Some(None) for null.
    client_id: Option<Option<&'a str>>,
    connection: &'a str,
    total_ns: i64,
    request: &'a Json<'a>,
    response: &'a Json<'a>,
}

impl<'a> Line<'a> {
    fn of(row: &'a Json<'a>) -> Option<Line<'a>> {
        let header = row.get("requestHeader")?;
        let client_id = match header.get("clientId") {
            None => None,
            Some(Json::Null) => Some(None),
            Some(client_id) => Some(Some(client_id.text()?)),
        };
        Some(Line {
            row,
            kind: (header.get("requestApiKey")?.int()?, header.get("requestApiVersion")?.int()?),
            id: header.get("correlationId")?.int()?.try_into().ok()?,
            client_id,
            connection: row.get("connection")?.text()?,
            total_ns: nanoseconds(row.get("totalTimeMs"))?,
            request: row.get("request")?,
            response: row.get("response")?,
        })
    }

    /// The frames of request and response without their sizes. No response of a Produce that asks for none.
    fn frames(&self, kind: &KindRow) -> Option<(Vec<u8>, Option<Vec<u8>>)> {
        let (behind, answer_behind, request, response, refused) = kind;
        let mut asked = Vec::new();
        asked.extend(i16::try_from(self.kind.0).ok()?.to_be_bytes());
        asked.extend(i16::try_from(self.kind.1).ok()?.to_be_bytes());
        asked.extend(self.id.to_be_bytes());
        match (self.client_id, behind.strip_prefix(&NULL)) {
            (None, Some(_)) => return None, // its header has a client id
            (Some(Some(client_id)), Some(tags)) => {
                asked.extend(i16::try_from(client_id.len()).ok()?.to_be_bytes());
                asked.extend(client_id.as_bytes());
                asked.extend(tags);
            }
            _ => asked.extend(behind),
        }
        request.get().put(self.request, &mut asked)?;
        let is_silent =
            self.kind.0 == PRODUCE && self.request.get("acks").and_then(|acks| acks.int()) == Some(0);
        if is_silent && matches!(self.response, Json::Null) || self.response.text() == Some("") {
            return is_silent.then_some((asked, None));
        }
        let code = self.response.get("errorCode").and_then(|code| code.int());
        let response = refused.as_ref().filter(|_| code == Some(UNSUPPORTED_VERSION)).unwrap_or(response);
        let mut answered = [&self.id.to_be_bytes(), answer_behind.as_slice()].concat();
        response.get().put(self.response, &mut answered)?;
        Some((asked, Some(answered)))
    }

    /// `Logged.comment` of the line.
    fn comment(&self, number: u64) -> Vec<u8> {
        let mut out = [PREFIX, b"["].concat();
        json_out::string(&mut out, cut(self.connection));
        out.extend(format!(", {number}").bytes());
        for name in TIMES {
            out.extend(b", ");
            match nanoseconds(self.row.get(name)) {
                Some(time_ns) => json_out::number(&mut out, time_ns),
                None => out.extend(b"null"),
            }
        }
        let software = self.row.get("clientInformation");
        let principal = self.row.get("principal").and_then(Json::text).filter(|text| *text != ANONYMOUS);
        let named = |name| self.row.get(name).and_then(Json::text);
        let of_software = |name| software.and_then(|software| software.get(name)).and_then(Json::text);
        let texts = [
            principal.map(|text| text.strip_prefix(USER).unwrap_or(text)),
            named("listener"),
            named("securityProtocol"),
            of_software("softwareName"),
            of_software("softwareVersion"),
        ];
        for text in texts {
            out.extend(b", ");
            match text.filter(|text| !text.is_empty() && *text != UNKNOWN) {
                Some(text) => json_out::string(&mut out, cut(text)),
                None => out.extend(b"null"),
            }
        }
        out.push(b']');
        out
    }
}

/// A time of a line in nanoseconds; None for any other value.
fn nanoseconds(milliseconds: Option<&Json<'_>>) -> Option<i64> {
    let milliseconds = match milliseconds? {
        Json::Int(value) => *value as f64,
        Json::Float(value) => *value,
        _ => return None,
    };
    let is_time = (0.0..=MOST_MS).contains(&milliseconds);
    is_time.then(|| (milliseconds * 1000.0).round_ties_even() as i64 * US_NS) // the log has three digits
}

fn cut(text: &str) -> &str {
    text.char_indices().nth(LONGEST).and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}

/// Where a text begins in others.
fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    let first = wanted.first()?;
    let mut at = 0;
    loop {
        at += text.get(at..)?.iter().position(|byte| byte == first)?;
        if text.get(at..)?.starts_with(wanted) {
            return Some(at);
        }
        at += 1;
    }
}

/// Packets with comments, as pcapng has them.
#[derive(Default)]
struct Packets {
    out: Vec<u8>,
    bytes: usize,
    places: Vec<(usize, i64, u32, usize, usize)>,
    forwarded: u64,
}

impl Packets {
    fn put(&mut self, ends: &Ends, time_ns: i64, is_request: bool, frame: &[u8], comment: &[u8]) {
        let content = [&(frame.len() as u32).to_be_bytes(), frame].concat();
        for payload in content.chunks(PAYLOAD) {
            let at = self.out.len();
            let size = headers_size(ends) + payload.len();
            self.out.extend((size as u32).to_le_bytes());
            self.out.extend((size as u32).to_le_bytes());
            put_segment(ends, is_request, payload, &mut self.out);
            self.out.resize(at + LENGTHS + size.next_multiple_of(4), 0);
            self.out.extend(COMMENT.to_le_bytes());
            self.out.extend((comment.len() as u16).to_le_bytes());
            self.out.extend(comment);
            self.out.resize(self.out.len().next_multiple_of(4) + 4, 0);
            self.bytes += size;
            self.places.push((at, time_ns, LINK_TYPE, self.out.len(), size));
        }
    }
}

fn headers_size(ends: &Ends) -> usize {
    TCP + if ends.0.len() == 4 { IPV4 } else { IPV6 }
}

/// `kdissect.capture.formats.request_log._segment`.
fn put_segment(ends: &Ends, is_request: bool, payload: &[u8], out: &mut Vec<u8>) {
    let (broker, broker_port, client, client_port) = ends;
    let (source, target) = if is_request { (client, broker) } else { (broker, client) };
    let ports = if is_request { [client_port, broker_port] } else { [broker_port, client_port] };
    let length = (TCP + payload.len()) as u16; // PAYLOAD bytes at most
    if source.len() == 4 {
        out.extend([0x45, 0]);
        out.extend((length + IPV4 as u16).to_be_bytes());
        out.extend([0, 0, 0x40, 0, 64, 6, 0, 0]);
    } else {
        out.extend([0x60, 0, 0, 0]);
        out.extend(length.to_be_bytes());
        out.extend([6, 64]);
    }
    out.extend(source);
    out.extend(target);
    out.extend(ports.iter().flat_map(|port| port.to_be_bytes()));
    // Sequence and acknowledgment number, a header without options, PSH and ACK, a window, checksum, urgent pointer.
    out.extend([0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x18, 0x7F, 0xFF, 0, 0, 0, 0]);
    out.extend(payload);
}
