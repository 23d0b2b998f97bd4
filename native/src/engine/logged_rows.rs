//! `kdissect.engine.exchange_log.log_writer.LogWriter.add` for rows of blocks: their columns, without an object.

use std::collections::HashMap;

use crc32c::crc32c;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::bodies::summaries::Mixed;
use crate::engine::completed::{Content, Row};
use crate::engine::exchange_block::ExchangeBlock;
use crate::exchange::Frame;
use crate::places::FILE_SHIFT;
use crate::template::Look;

/// Pairs of summaries whose numbers are remembered.
const MOST: usize = 4096;

/// Flags, `NOT_KNOWN` and `MARK_BYTES`, of `kdissect.engine.exchange_log.log_columns`.
const COMPLETE: u16 = 0;
const NO_RESPONSE_EXPECTED: u16 = 1;
const NOT_KNOWN: i64 = -1;
const HAS: [u16; 2] = [1 << 3, 1 << 4];
const KEPT: [u16; 2] = [1 << 7, 1 << 8];
const MARK_BYTES: usize = 64;

/// Readers of both bodies of one API and version.
type Readers = Option<(Look, Look)>;

/// Numbers of errors, topics and topic ids.
type Facts = (u32, u32, u32);

/// Values of one column, as bytes of this machine.
#[derive(Default)]
struct Column(Vec<u8>);

/// Of a side's frame.
#[derive(Default)]
struct FrameColumns {
    time: Column,
    end_time: Column,
    size: Column,
    first_ref: Column,
    last_ref: Column,
    body: Column,
    mark: Column,
}

#[derive(Default)]
struct Columns {
    connection: Column,
    ordinal: Column,
    api_key: Column,
    api_version: Column,
    correlation_id: Column,
    client_id: Column,
    flags: Column,
    errors: Column,
    topics: Column,
    topic_ids: Column,
    rtt: Column,
    sides: [FrameColumns; 2],
}

/// Callbacks to Python, with the types in `_native.pyi`.
struct Asked {
    connection_of: Py<PyAny>,
    client_of: Py<PyAny>,
    readers_of: Py<PyAny>,
    facts_of: Py<PyAny>,
    can_read_again: Py<PyAny>,
    put: Option<Py<PyAny>>,
}

/// Columns of the exchange log.
#[pyclass(module = "kdissect._native")]
pub struct LoggedRows {
    asked: Asked,
    readers: HashMap<u32, Readers>,
    facts: Mixed<(u64, u64), Facts>,
    /// For the current block: numbers of connections, and of client ids by their addresses in
    /// memory.
    connections: Vec<Option<u32>>,
    client_ids: HashMap<usize, u32>,
    columns: Columns,
    #[pyo3(get)]
    rows: usize,
}

impl Column {
    fn push<const N: usize>(&mut self, value: [u8; N]) {
        self.0.extend_from_slice(&value);
    }

    fn take<'py>(&mut self, py: Python<'py>, name: &str) -> (String, Bound<'py, PyBytes>) {
        let bytes = PyBytes::new(py, &self.0);
        self.0.clear();
        (name.to_owned(), bytes)
    }
}

/// A number as 32 bits hold it, or the greatest.
fn short<T: TryInto<u32>>(number: T) -> [u8; 4] {
    number.try_into().unwrap_or(u32::MAX).to_ne_bytes()
}

impl FrameColumns {
    fn push(&mut self, content: &Content, size: usize, mark: u32) {
        let span = content.span;
        self.time.push(span.first_time.to_ne_bytes());
        self.end_time.push(span.last_time.to_ne_bytes());
        self.size.push(short(size));
        self.first_ref.push(span.first_ref.to_ne_bytes());
        self.last_ref.push(span.last_ref.to_ne_bytes());
        self.body.push(short(content.body));
        self.mark.push(mark.to_ne_bytes());
    }

    fn push_none(&mut self) {
        for column in [&mut self.time, &mut self.end_time, &mut self.first_ref, &mut self.last_ref] {
            column.push([0; 8]);
        }
        for column in [&mut self.size, &mut self.body, &mut self.mark] {
            column.push([0; 4]);
        }
    }

    fn take<'py>(&mut self, py: Python<'py>, side: &str) -> [(String, Bound<'py, PyBytes>); 7] {
        [
            ("time", &mut self.time),
            ("end_time", &mut self.end_time),
            ("size", &mut self.size),
            ("first_ref", &mut self.first_ref),
            ("last_ref", &mut self.last_ref),
            ("body", &mut self.body),
            ("mark", &mut self.mark),
        ]
        .map(|(name, column)| column.take(py, &format!("{side}_{name}")))
    }
}

#[pymethods]
impl LoggedRows {
    /// `connection_of` returns the number of a connection, None if its exchanges are Python's.
    /// `client_of` returns the number of a client id. `readers_of` returns the summarizers of an
    /// API and version, None if all its exchanges are Python's. `facts_of` returns the numbers of
    /// the facts in two summaries. `can_read_again` returns whether a file's packets can be read
    /// again. If not, `put` stores frames and numbers them.
    #[new]
    fn new(
        connection_of: Py<PyAny>,
        client_of: Py<PyAny>,
        readers_of: Py<PyAny>,
        facts_of: Py<PyAny>,
        can_read_again: Py<PyAny>,
        put: Option<Py<PyAny>>,
    ) -> Self {
        LoggedRows {
            asked: Asked { connection_of, client_of, readers_of, facts_of, can_read_again, put },
            readers: HashMap::new(),
            facts: Mixed::default(),
            connections: Vec::new(),
            client_ids: HashMap::new(),
            columns: Columns::default(),
            rows: 0,
        }
    }

    /// Take rows from `start` on, and return the number of the first row that is Python's, or the
    /// block's length.
    fn take_block(&mut self, block: &Bound<'_, ExchangeBlock>, start: usize) -> PyResult<usize> {
        let py = block.py();
        let block = block.borrow();
        if start == 0 {
            self.connections.clear();
            self.client_ids.clear();
        }
        self.connections.resize(block.connections.len(), None);
        let mut at = start;
        while let Some(of) = block.row(at) {
            let number = of.connection as usize;
            let Some(info) = block.connections.get(number) else { break };
            if !self.add(py, &of.row, number, info)? {
                break;
            }
            at += 1;
        }
        Ok(at)
    }

    /// The columns by name, which have nothing then.
    fn take<'py>(&mut self, py: Python<'py>) -> Vec<(String, Bound<'py, PyBytes>)> {
        self.rows = 0;
        let columns = &mut self.columns;
        let mut found: Vec<_> = [
            ("connection", &mut columns.connection),
            ("ordinal", &mut columns.ordinal),
            ("api_key", &mut columns.api_key),
            ("api_version", &mut columns.api_version),
            ("correlation_id", &mut columns.correlation_id),
            ("client_id", &mut columns.client_id),
            ("flags", &mut columns.flags),
            ("errors", &mut columns.errors),
            ("topics", &mut columns.topics),
            ("topic_ids", &mut columns.topic_ids),
            ("rtt", &mut columns.rtt),
        ]
        .map(|(name, column)| column.take(py, name))
        .into();
        for (side, frame) in ["request", "response"].iter().zip(&mut columns.sides) {
            found.extend(frame.take(py, side));
        }
        found
    }
}

impl LoggedRows {
    /// False, without adding it, for a row that is Python's.
    fn add(&mut self, py: Python<'_>, row: &Row, number: usize, info: &Py<PyAny>) -> PyResult<bool> {
        let request = &row.request;
        if row.is_logged() {
            return Ok(false);
        }
        let Some((errors, topics, topic_ids)) = self.facts(py, row)? else { return Ok(false) };
        let connection = match self.connections.get(number) {
            Some(Some(known)) => *known,
            _ => {
                let found: Option<u32> = self.asked.connection_of.call1(py, (info,))?.extract(py)?;
                let Some(found) = found else { return Ok(false) };
                if let Some(known) = self.connections.get_mut(number) {
                    *known = Some(found);
                }
                found
            }
        };
        let client_id = self.client_id(py, &request.client_id)?;
        let mut flags = if row.response.is_some() { COMPLETE } else { NO_RESPONSE_EXPECTED };
        for (side, content) in [Some(&request.content), row.response.as_ref()].into_iter().enumerate() {
            flags |= self.push_frame(py, side, content)?;
        }
        let columns = &mut self.columns;
        columns.connection.push(connection.to_ne_bytes());
        columns.ordinal.push(short(request.ordinal));
        columns.api_key.push(request.kind.api_key.to_ne_bytes());
        columns.api_version.push(request.kind.version.to_ne_bytes());
        columns.correlation_id.push(request.id.to_ne_bytes());
        columns.client_id.push(client_id.to_ne_bytes());
        columns.flags.push(flags.to_ne_bytes());
        columns.errors.push(errors.to_ne_bytes());
        columns.topics.push(topics.to_ne_bytes());
        columns.topic_ids.push(topic_ids.to_ne_bytes());
        columns.rtt.push(row.trips.both().unwrap_or(NOT_KNOWN).to_ne_bytes());
        self.rows += 1;
        Ok(true)
    }

    /// The numbers of the facts in the bodies; None if Python must read them.
    fn facts(&mut self, py: Python<'_>, row: &Row) -> PyResult<Option<Facts>> {
        let kind = &row.request.kind;
        if !self.readers.contains_key(&kind.number()) {
            let found: Option<(Bound<'_, PyAny>, Bound<'_, PyAny>)> =
                self.asked.readers_of.bind(py).call1((kind.api_key, kind.version))?.extract()?;
            if self.readers.len() >= MOST {
                self.readers.clear();
            }
            self.readers.insert(kind.number(), found.map(|(ask, answer)| (Look::of(ask), Look::of(answer))));
        }
        let Some(Some((ask, answer))) = self.readers.get(&kind.number()) else { return Ok(None) };
        let asked = ask.at(&Frame::of_content(py, &row.request.content))?;
        let answered = match &row.response {
            Some(content) => Some(answer.at(&Frame::of_content(py, content))?),
            None => None,
        };
        // Numbers begin at 1, and 0 is that of a summary that is not remembered.
        let key = (asked.0, answered.as_ref().map_or(u64::MAX, |(number, _)| *number));
        if let Some(found) = self.facts.get(&key) {
            return Ok(Some(*found));
        }
        let found: Facts =
            self.asked.facts_of.call1(py, (asked.1, answered.map(|(_, summary)| summary)))?.extract(py)?;
        if key.0 > 0 && key.1 > 0 {
            if self.facts.len() >= MOST {
                self.facts.clear();
            }
            self.facts.insert(key, found);
        }
        Ok(Some(found))
    }

    fn client_id(&mut self, py: Python<'_>, client_id: &Py<PyAny>) -> PyResult<u32> {
        let place = client_id.as_ptr() as usize;
        if let Some(found) = self.client_ids.get(&place) {
            return Ok(*found);
        }
        let found = self.asked.client_of.call1(py, (client_id,))?.extract(py)?;
        self.client_ids.insert(place, found);
        Ok(found)
    }

    /// Add a frame, or a missing one, and return its flags.
    fn push_frame(&mut self, py: Python<'_>, side: usize, content: Option<&Content>) -> PyResult<u16> {
        let Some(columns) = self.columns.sides.get_mut(side) else { return Ok(0) };
        let Some(content) = content else {
            columns.push_none();
            return Ok(0);
        };
        let data = content.data.as_bytes(py);
        let flag = |flags: [u16; 2]| flags.get(side).copied().unwrap_or(0);
        let file = content.span.first_ref >> FILE_SHIFT;
        let put = match &self.asked.put {
            Some(put) if !self.asked.can_read_again.call1(py, (file,))?.extract::<bool>(py)? => Some(put),
            _ => None,
        };
        let (mark, kept) = match put {
            Some(put) => (put.call1(py, (&content.data,))?.extract(py)?, flag(KEPT)),
            None => (crc32c(data.get(..MARK_BYTES).unwrap_or(data)), 0),
        };
        columns.push(content, data.len(), mark);
        Ok(flag(HAS) | kept)
    }
}
