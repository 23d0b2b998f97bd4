//! The table `exchanges`: columns by their names in `kdissect.engine.tables.exchange_tables`.

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;

use super::asked::{Facts, Kind, Turn};
use super::{day, micros, Named, Order};
use crate::exchange::Frame;
use crate::places::NUMBER_MASK;
use crate::records::column::{Blobs, Lists, Numbers, Spelled};

/// Without size prefix, which counts as well (spec/001 "Protocol Primitive Types").
const PREFIX: i64 = 4;

/// Packets, times and size of a frame, or null without one.
#[derive(Default)]
struct FrameColumns {
    file: Spelled,
    first: Numbers<8>,
    last: Numbers<8>,
    last_file: Spelled,
    time: Numbers<8>,
    time_ns: Numbers<8>,
    end_time: Numbers<8>,
    end_time_ns: Numbers<8>,
    bytes: Numbers<8>,
}

/// A list of texts in each row.
#[derive(Default)]
struct Texts {
    count: usize,
    ends: Lists,
    texts: Spelled,
}

#[derive(Default)]
pub struct ExchangeTable {
    pub rows: usize,
    connection: Spelled,
    exchange: Numbers<8>,
    capture_set: Spelled,
    client: Spelled,
    broker: Spelled,
    client_proxied: Spelled,
    software: Spelled,
    principal: Spelled,
    client_id: Spelled,
    api_key: Numbers<2>,
    api: Spelled,
    api_version: Numbers<2>,
    correlation_id: Numbers<4>,
    state: Spelled,
    request: FrameColumns,
    response: FrameColumns,
    latency_ns: Numbers<8>,
    errors: Texts,
    topics: Texts,
    topic_ids: Texts,
    group: Texts,
    throttle: Numbers<4>,
    rack: Spelled,
    same_as: Spelled,
    event_order: Blobs,
    time: Numbers<8>,
    time_ns: Numbers<8>,
    day: Numbers<4>,
}

/// The names of the files with a frame's first and last packet.
pub type Files<'a> = (&'a str, &'a str);

impl FrameColumns {
    fn push(&mut self, frame: Option<(&Frame<'_>, Files<'_>)>) {
        let of = |value: fn(&Frame<'_>) -> i64| frame.map(|(frame, _)| value(frame));
        let last_file = frame.and_then(|(_, (first, last))| (first != last).then_some(last));
        self.file.push(frame.map(|(_, (first, _))| first.as_bytes()), 1);
        self.first.push(of(|frame| frame.first_ref & NUMBER_MASK), 1);
        self.last.push(of(|frame| frame.last_ref & NUMBER_MASK), 1);
        self.last_file.push(last_file.map(str::as_bytes), 1);
        self.time.push(of(|frame| micros(frame.time_ns)), 1);
        self.time_ns.push(of(|frame| frame.time_ns), 1);
        self.end_time.push(of(|frame| micros(frame.end_time_ns)), 1);
        self.end_time_ns.push(of(|frame| frame.end_time_ns), 1);
        self.bytes.push(of(|frame| frame.size + PREFIX), 1);
    }

    fn take<'py>(&mut self, py: Python<'py>, side: &str, columns: &mut Vec<Named<'py>>) -> PyResult<()> {
        let of = |name: &str| format!("{side}.{name}");
        columns.push((of("packets.file"), self.file.take(py)?));
        columns.push((of("packets.first"), self.first.take(py)));
        columns.push((of("packets.last"), self.last.take(py)));
        columns.push((of("packets.last_file"), self.last_file.take(py)?));
        columns.push((of("time"), self.time.take(py)));
        columns.push((of("time_ns"), self.time_ns.take(py)));
        columns.push((of("end_time"), self.end_time.take(py)));
        columns.push((of("end_time_ns"), self.end_time_ns.take(py)));
        columns.push((of("bytes"), self.bytes.take(py)));
        Ok(())
    }
}

impl Texts {
    fn push(&mut self, texts: &[PyBackedStr]) {
        for text in texts {
            self.texts.push(Some(text.as_bytes()), 1);
        }
        self.count += texts.len();
        self.ends.push(self.count);
    }

    fn take<'py>(&mut self, py: Python<'py>, name: &str, columns: &mut Vec<Named<'py>>) -> PyResult<()> {
        self.count = 0;
        columns.push((name.to_owned(), self.ends.take(py)));
        columns.push((format!("{name}.item"), self.texts.take(py)?));
        Ok(())
    }
}

impl ExchangeTable {
    /// One more row. `latency_ns` fits 64 bits.
    pub fn push(
        &mut self,
        turn: &Turn<'_, '_>,
        kind: &Kind,
        facts: &Facts,
        order: Order<'_>,
        (asked, answered): (Files<'_>, Option<Files<'_>>),
        latency_ns: Option<i64>,
    ) {
        let connection = &turn.connection;
        let (request, response) = (&turn.request, turn.response.as_ref());
        let state: &[u8] = if response.is_some() { b"complete" } else { b"no_response_expected" };
        self.connection.push(Some(connection.id.as_bytes()), 1);
        self.exchange.push(Some(turn.ordinal), 1);
        self.capture_set.push(Some(connection.capture_set.as_bytes()), 1);
        self.client.push(Some(connection.client.as_bytes()), 1);
        self.broker.push(Some(connection.broker.as_bytes()), 1);
        self.client_proxied.push(connection.client_proxied.as_ref().map(|name| name.as_bytes()), 1);
        self.software.push(connection.software.as_ref().map(|name| name.as_bytes()), 1);
        self.principal.push(connection.principal.as_ref().map(|name| name.as_bytes()), 1);
        self.client_id.push(turn.client_id.as_ref().map(|id| id.as_bytes()), 1);
        self.api_key.push(Some(turn.api_key.into()), 1);
        self.api.push(kind.api.as_ref().map(|name| name.as_bytes()), 1);
        self.api_version.push(Some(turn.api_version.into()), 1);
        self.correlation_id.push(Some(turn.correlation_id.into()), 1);
        self.state.push(Some(state), 1);
        self.request.push(Some((request, asked)));
        self.response.push(response.zip(answered));
        self.latency_ns.push(latency_ns, 1);
        self.errors.push(&facts.errors);
        self.topics.push(&facts.topics);
        self.topic_ids.push(&facts.topic_ids);
        self.group.push(&facts.groups);
        self.throttle.push(facts.throttle_ms.map(i64::from), 1);
        self.rack.push(facts.rack.as_ref().map(|rack| rack.as_bytes()), 1);
        self.same_as.push(connection.same_as.as_ref().map(|id| id.as_bytes()), 1);
        self.event_order.push(Some(order));
        self.time.push(Some(micros(request.time_ns)), 1);
        self.time_ns.push(Some(request.time_ns), 1);
        self.day.push(Some(day(request.time_ns)), 1);
        self.rows += 1;
    }

    pub fn take<'py>(&mut self, py: Python<'py>) -> PyResult<Vec<Named<'py>>> {
        let mut columns: Vec<Named<'py>> = [
            ("connection", self.connection.take(py)?),
            ("exchange", self.exchange.take(py)),
            ("capture_set", self.capture_set.take(py)?),
            ("client", self.client.take(py)?),
            ("broker", self.broker.take(py)?),
            ("client_proxied", self.client_proxied.take(py)?),
            ("software", self.software.take(py)?),
            ("principal", self.principal.take(py)?),
            ("client_id", self.client_id.take(py)?),
            ("api_key", self.api_key.take(py)),
            ("api", self.api.take(py)?),
            ("api_version", self.api_version.take(py)),
            ("correlation_id", self.correlation_id.take(py)),
            ("state", self.state.take(py)?),
            ("latency_ns", self.latency_ns.take(py)),
            ("throttle", self.throttle.take(py)),
            ("rack", self.rack.take(py)?),
            ("same_as", self.same_as.take(py)?),
            ("event_order", self.event_order.take(py)),
            ("time", self.time.take(py)),
            ("time_ns", self.time_ns.take(py)),
            ("day", self.day.take(py)),
        ]
        .map(|(name, buffers)| (name.to_owned(), buffers))
        .into();
        self.request.take(py, "request", &mut columns)?;
        self.response.take(py, "response", &mut columns)?;
        self.errors.take(py, "errors", &mut columns)?;
        self.topics.take(py, "topics", &mut columns)?;
        self.topic_ids.take(py, "topic_ids", &mut columns)?;
        self.group.take(py, "group", &mut columns)?;
        self.rows = 0;
        Ok(columns)
    }
}
