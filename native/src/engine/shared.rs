//! Common state of the connections in an analysis: limits, counts, kinds of requests, and the
//! constructors of exchanges.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::call::PyCallArgs;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::engine::counts::Counts;
use crate::engine::kind::{number_of, pair, Kind, Row as KindRow};
use crate::records::quick::QuickMap;

/// Kinds kept, as `request_kind.KINDS_KEPT`: hostile requests can name 2^32 of them.
const KEPT: usize = 4096;

/// The fields of `kdissect.model.limits.Limits` that are used once a frame, in this order.
#[derive(Clone, Copy, FromPyObject)]
pub struct Limits(i64, i64, i64, i64, i64, i64);

impl Limits {
    pub fn frame_size(&self) -> i64 {
        self.0
    }

    pub fn frame_bytes(&self) -> i64 {
        self.1
    }

    pub fn pending_bytes(&self) -> i64 {
        self.2
    }

    pub fn pending_requests(&self) -> i64 {
        self.3
    }

    pub fn connection_pending_bytes(&self) -> i64 {
        self.4
    }

    pub fn connection_pending_requests(&self) -> i64 {
        self.5
    }
}

/// First payloads that are remembered, how long they may be, and where their correlation id stands.
const FIRSTS_KEPT: usize = 1024;
const FIRST_BYTES: usize = 512;
const ID: Range<usize> = 8..12;

type Firsts = HashMap<Box<[u8]>, Option<Arc<First>>>;
/// `kdissect.session.beginning.First`.
type FirstRow = (Py<PyAny>, Py<PyBytes>, i32, Py<PyAny>);

/// Facts from the first request of a connection about its client: client id, its bytes, their
/// number as it is on the wire, and the facts for Python.
pub struct First {
    pub client_id: Py<PyAny>,
    pub client_bytes: Py<PyBytes>,
    pub client_length: i32,
    pub told: Py<PyAny>,
}

/// Facts from a packet about its connection.
pub enum Note {
    /// The number of a kind that its requests did not have before.
    Met(u32),
    /// The comment of a request log line that says something else about it.
    Line(Py<PyBytes>),
    Over(Over),
}

/// Both directions ended: time of the last packet, which direction ended first, whether with RST, and when.
#[derive(Clone, Copy)]
pub struct Over {
    pub last_ns: i64,
    pub direction: usize,
    pub is_reset: bool,
    pub at_ns: i64,
}

/// A connection, how many of some rows are complete, and how many ask for no answer.
pub type CountedRows<'a> = (&'a Py<PyAny>, u64, u64);

#[pyclass(frozen, module = "kdissect._native")]
pub struct Engine {
    counts: Py<Counts>,
    pub limits: Limits,
    kind_of: Py<PyAny>,
    pub exchange_of: Py<PyAny>,
    count: Py<PyAny>,
    met: Py<PyAny>,
    line: Py<PyAny>,
    over: Py<PyAny>,
    first_of: Py<PyAny>,
    number_of_news: Py<PyAny>,
    read_news: Py<PyAny>,
    kinds: Mutex<QuickMap<u32, Arc<Kind>>>,
    firsts: Mutex<Firsts>,
    /// Whether the memory of connections is never freed (`HeldFlows::keep_memory`).
    pub keeps_memory: AtomicBool,
}

#[pymethods]
impl Engine {
    /// `kind_of` returns the row of an API key and a version. `exchange_of` converts a pair, or a
    /// request that no longer waits, to an exchange. `count` receives connections, each with its
    /// numbers of answered requests and of requests without a response, before these are exchanges.
    /// `met` receives a connection, an API key and a version that its requests did not have before.
    /// `line` receives a connection and the comment of a request log line about it.
    /// `over` receives a connection that ended, the time of its last packet, which direction ended
    /// it first, whether with RST, and when. `first_of` returns the facts from the first payload of
    /// a connection about its client (`FirstRow`), None if Python must read it. `news` are
    /// `number_of_news` and `read_news` of `kdissect.session.identities`.
    #[new]
    #[allow(clippy::too_many_arguments)]
    fn new(
        counts: Py<Counts>,
        limits: Limits,
        kind_of: Py<PyAny>,
        exchange_of: Py<PyAny>,
        count: Py<PyAny>,
        met: Py<PyAny>,
        line: Py<PyAny>,
        over: Py<PyAny>,
        first_of: Py<PyAny>,
        news: (Py<PyAny>, Py<PyAny>),
    ) -> Self {
        let (kinds, firsts) = (Mutex::default(), Mutex::default());
        let (number_of_news, read_news) = news;
        Engine {
            counts,
            limits,
            kind_of,
            exchange_of,
            count,
            met,
            line,
            over,
            first_of,
            number_of_news,
            read_news,
            kinds,
            firsts,
            keeps_memory: AtomicBool::new(false),
        }
    }
}

impl Engine {
    pub fn counts(&self) -> &Counts {
        self.counts.get()
    }

    /// Have connections count.
    pub fn count(&self, py: Python<'_>, counted: Vec<CountedRows<'_>>) -> PyResult<()> {
        self.count.call1(py, (counted,)).map(drop)
    }

    /// Note a packet's facts about a connection.
    pub fn note(&self, py: Python<'_>, info: &Py<PyAny>, note: &Note) -> PyResult<()> {
        match note {
            Note::Met(number) => {
                let (api_key, version) = pair(*number);
                self.met.call1(py, (info, api_key, version))
            }
            Note::Line(comment) => self.line.call1(py, (info, comment)),
            Note::Over(Over { last_ns, direction, is_reset, at_ns }) => {
                self.over.call1(py, (info, last_ns, direction, is_reset, at_ns))
            }
        }
        .map(drop)
    }

    /// `number_of_news` of an exchange: connection, API key, version, and the bodies of request and response.
    pub fn number_of_news<'py, A: PyCallArgs<'py>>(
        &self,
        py: Python<'py>,
        exchange: A,
    ) -> PyResult<Option<i64>> {
        self.number_of_news.bind(py).call1(exchange)?.extract()
    }

    /// `read_news` of an exchange and its number.
    pub fn read_news(&self, py: Python<'_>, exchange: &Bound<'_, PyAny>, number: i64) -> PyResult<()> {
        self.read_news.call1(py, (exchange, number)).map(drop)
    }

    /// Facts from the first payload of a connection about its client; None if Python must read it.
    pub fn first(&self, py: Python<'_>, payload: &[u8]) -> PyResult<Option<Arc<First>>> {
        if payload.len() > FIRST_BYTES {
            return Ok(None);
        }
        let mut key: Box<[u8]> = payload.into();
        let Some(id) = key.get_mut(ID) else { return Ok(None) };
        id.fill(0); // it tells nothing
        let found = self.firsts.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some(first) = found {
            return Ok(first);
        }
        let row: Option<FirstRow> = self.first_of.call1(py, (PyBytes::new(py, payload),))?.extract(py)?;
        let first = row.map(|(client_id, client_bytes, client_length, told)| {
            Arc::new(First { client_id, client_bytes, client_length, told })
        });
        let mut firsts = self.firsts.lock().unwrap_or_else(PoisonError::into_inner);
        if firsts.len() >= FIRSTS_KEPT {
            firsts.clear();
        }
        firsts.insert(key, first.clone());
        Ok(first)
    }

    /// The kind of the request in `data`; None if it is too short.
    pub fn kind(&self, py: Python<'_>, data: &[u8]) -> PyResult<Option<Arc<Kind>>> {
        number_of(data).map(|number| self.kind_of(py, number)).transpose()
    }

    pub fn kind_of(&self, py: Python<'_>, number: u32) -> PyResult<Arc<Kind>> {
        let found = self.kinds.lock().unwrap_or_else(PoisonError::into_inner).get(&number).cloned();
        if let Some(kind) = found {
            return Ok(kind);
        }
        let row: KindRow = self.kind_of.call1(py, pair(number))?.extract(py)?;
        let kind = Arc::new(Kind::of(number, row));
        let mut kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        if kinds.len() >= KEPT {
            kinds.clear();
        }
        kinds.insert(number, kind.clone());
        Ok(kind)
    }
}
