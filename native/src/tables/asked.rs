//! Callbacks to Python, from `kdissect.stages.rows.compiled_rows`.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyBytes, PyString};

use crate::bodies::partition_rows::PartitionRows;
use crate::bodies::plan::Layout;
use crate::bodies::visitor::Program;
use crate::engine::exchange_block::ExchangeBlock;
use crate::exchange::Frame;
use crate::records::program::RecordsFields;
use crate::template::Look;

/// A text that may not be there.
type Maybe = Option<PyBackedStr>;
/// Id, capture set, client, broker, the connection that it equals, the broker's address, by which
/// names of topics are known, software and principal of the client, and the proxy's client.
type ConnectionRow =
    (PyBackedStr, PyBackedStr, PyBackedStr, PyBackedStr, Maybe, PyBackedStr, Maybe, Maybe, Maybe);
/// Groups, throttle time in milliseconds, rack (`kdissect.engine.exchange_rows.More`).
type More = (Vec<PyBackedStr>, Option<i32>, Maybe);
/// Ordinal, API key, version, correlation id, client id.
type Header = (i64, i16, i16, i32, Option<PyBackedStr>);
/// Bytes, where the body begins, first and last packet, time of the first and the last byte.
type Bytes<'py> = (Bound<'py, PyBytes>, i64, i64, i64, i64, i64);
/// Fields of an exchange: its connection, header, request and response.
pub type Fields<'py> = (Bound<'py, PyAny>, Header, Bytes<'py>, Option<Bytes<'py>>);

/// A connection's part of rows.
pub struct Connection {
    pub id: Box<str>,
    pub capture_set: Box<str>,
    pub client: Box<str>,
    pub broker: Box<str>,
    pub same_as: Option<Box<str>>,
    pub software: Option<Box<str>>,
    pub principal: Option<Box<str>>,
    pub client_proxied: Option<Box<str>>,
    /// Of its capture set and its broker's address.
    pub broker_number: u32,
}

/// An exchange, or where one is that is none yet.
pub enum Source<'a, 'py> {
    Object(&'a Bound<'py, PyAny>),
    Row(&'a Bound<'py, ExchangeBlock>, usize),
}

impl<'py> Source<'_, 'py> {
    fn py(&self) -> Python<'py> {
        match self {
            Source::Object(object) => object.py(),
            Source::Row(block, _) => block.py(),
        }
    }

    /// The exchange, or None.
    fn object(&self) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self {
            Source::Object(object) => Ok(Some((*object).clone())),
            Source::Row(block, at) => ExchangeBlock::exchange(block, *at),
        }
    }
}

/// An exchange with whole frames and nothing unusual about it.
pub struct Turn<'a, 'py> {
    pub source: Source<'a, 'py>,
    pub connection: Arc<Connection>,
    pub ordinal: i64,
    pub api_key: i16,
    pub api_version: i16,
    pub correlation_id: i32,
    pub client_id: Option<Arc<str>>,
    pub request: Frame<'py>,
    /// None only if the request expects no response.
    pub response: Option<Frame<'py>>,
}

impl<'py> Turn<'_, 'py> {
    pub fn py(&self) -> Python<'py> {
        self.source.py()
    }
}

/// Common facts of exchanges with one API and version.
pub struct Kind {
    pub api: Option<Box<str>>,
    /// Whether it may say names of topic ids.
    pub tells_names: bool,
    pub ask: Look,
    pub answer: Look,
    pub records: Option<RecordsSide>,
    /// Readers of partitions in requests and responses; None if Python must read them.
    pub transfers: Option<(Py<PartitionRows>, Py<PartitionRows>)>,
}

/// The side that has records, how that direction is called, and the way to them: None where Python has to go it.
pub struct RecordsSide {
    pub is_response: bool,
    pub direction: Box<str>,
    pub way: Option<Program>,
}

/// Topics, their ids and error codes of an exchange, by name, then groups, throttle time and rack.
#[derive(Default)]
pub struct Facts {
    pub topics: Vec<PyBackedStr>,
    pub topic_ids: Vec<PyBackedStr>,
    pub errors: Vec<PyBackedStr>,
    pub groups: Vec<PyBackedStr>,
    pub throttle_ms: Option<i32>,
    pub rack: Option<PyBackedStr>,
}

/// How long facts are valid for the two summaries.
#[derive(Clone, Copy, PartialEq)]
pub enum Lasting {
    Not,
    /// Until names of topics change, on connections to the same broker.
    OfNames,
    Always,
}

/// Callables, as `_native.pyi` types them.
pub struct Asked {
    pub fields_of: Py<PyAny>,
    pub connection_of: Py<PyAny>,
    pub kind_of: Py<PyAny>,
    pub facts_of: Py<PyAny>,
    pub name_of: Py<PyAny>,
    pub id_text: Py<PyAny>,
    pub file_of: Py<PyAny>,
    pub rest_fits: Py<PyAny>,
    pub changes_of: Py<PyAny>,
    pub error_of: Py<PyAny>,
}

pub fn frame<'py>((data, body_offset, first_ref, last_ref, time_ns, end_time_ns): Bytes<'py>) -> Frame<'py> {
    let size = data.as_bytes().len() as i64;
    Frame { data, body_offset, size, first_ref, last_ref, time_ns, end_time_ns }
}

impl Asked {
    /// Fields of an exchange, and its connection; None for an unusual exchange.
    pub fn fields<'py>(&self, exchange: &Bound<'py, PyAny>) -> PyResult<Option<Fields<'py>>> {
        let fields = self.fields_of.bind(exchange.py()).call1((exchange,))?;
        Ok(fields.extract::<Fields<'py>>().ok()) // None, or a text or a number that is none of UTF-8 or 64 bits
    }

    /// A connection; None for one with a text that is not UTF-8. `number_of` numbers brokers.
    pub fn connection(
        &self,
        info: &Bound<'_, PyAny>,
        number_of: impl FnOnce(&str, &str) -> u32,
    ) -> PyResult<Option<Connection>> {
        let row = self.connection_of.bind(info.py()).call1((info,))?;
        let Ok((id, capture_set, client, broker, same_as, address, software, principal, proxied)) =
            row.extract::<ConnectionRow>()
        else {
            return Ok(None);
        };
        let text = |text: PyBackedStr| Box::from(&*text);
        let broker_number = number_of(&capture_set, &address);
        let same_as = same_as.map(text);
        Ok(Some(Connection {
            id: text(id),
            capture_set: text(capture_set),
            client: text(client),
            broker: text(broker),
            same_as,
            software: software.map(text),
            principal: principal.map(text),
            client_proxied: proxied.map(text),
            broker_number,
        }))
    }

    pub fn kind(&self, py: Python<'_>, api_key: i16, api_version: i16) -> PyResult<Kind> {
        type Records<'py> = Option<(bool, PyBackedStr, Option<Py<Layout>>)>;
        type Looks<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>);
        type Transfers = Option<(Py<PartitionRows>, Py<PartitionRows>)>;
        type Told<'py> = (Option<PyBackedStr>, bool, Looks<'py>, Transfers, Records<'py>);
        let found = self.kind_of.bind(py).call1((api_key, api_version))?;
        let (api, tells_names, (ask, answer), transfers, records) = found.extract::<Told<'_>>()?;
        let records = records.map(|(is_response, direction, layout)| RecordsSide {
            is_response,
            direction: Box::from(&*direction),
            way: layout.map(|layout| Program::of::<RecordsFields>(layout.get())),
        });
        let api = api.map(|name| Box::from(&*name));
        Ok(Kind { api, tells_names, ask: Look::of(ask), answer: Look::of(answer), records, transfers })
    }

    /// The facts of two summaries.
    pub fn facts(
        &self,
        turn: &Turn<'_, '_>,
        asked: Py<PyAny>,
        answered: Option<Py<PyAny>>,
    ) -> PyResult<(Facts, Lasting)> {
        let Some(object) = turn.source.object()? else { return Ok((Facts::default(), Lasting::Not)) };
        let found = self.facts_of.bind(turn.py()).call1((object, asked, answered))?;
        let (topics, topic_ids, errors, lasting, more) = found.extract::<(_, _, _, u8, More)>()?;
        let (groups, throttle_ms, rack) = more;
        let lasting = match lasting {
            0 => Lasting::Not,
            1 => Lasting::OfNames,
            _ => Lasting::Always,
        };
        Ok((Facts { topics, topic_ids, errors, groups, throttle_ms, rack }, lasting))
    }

    /// The name of a topic id, None if it is unknown, and whether all exchanges with the broker
    /// have that name.
    pub fn name(&self, turn: &Turn<'_, '_>, id: &[u8; 16]) -> PyResult<(Option<PyBackedStr>, bool)> {
        let Some(object) = turn.source.object()? else { return Ok((None, false)) };
        let py = turn.py();
        self.name_of.bind(py).call1((object, PyBytes::new(py, id)))?.extract()
    }

    /// How often names of topics changed so far.
    pub fn changes(&self, py: Python<'_>) -> PyResult<i64> {
        self.changes_of.bind(py).call0()?.extract()
    }

    pub fn id_text(&self, py: Python<'_>, id: &[u8; 16]) -> PyResult<PyBackedStr> {
        self.id_text.bind(py).call1((PyBytes::new(py, id),))?.extract()
    }

    /// Name of an error code.
    pub fn error(&self, py: Python<'_>, code: i64) -> PyResult<PyBackedStr> {
        self.error_of.bind(py).call1((code,))?.extract()
    }

    /// The name of an input; None for one that is no UTF-8.
    pub fn file(&self, py: Python<'_>, number: i64) -> PyResult<Option<Box<str>>> {
        let found: Bound<'_, PyString> = self.file_of.bind(py).call1((number,))?.extract()?;
        Ok(found.to_str().ok().map(Box::from))
    }

    /// Whether the bytes behind whole batches are no fault: the beginning of one that was cut.
    pub fn rest_fits(&self, frame: &Frame<'_>, at: usize, end: usize, may_be_cut: bool) -> PyResult<bool> {
        self.rest_fits.bind(frame.data.py()).call1((&frame.data, at, end, may_be_cut))?.extract()
    }
}
