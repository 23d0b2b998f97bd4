//! Requests like the one before, and answers to the first that waits: `kdissect.session.conversation.Conversation` with its
//! `kdissect.session.pairing.Pairing`.

use std::collections::VecDeque;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::engine::completed::{Content, Request, Row, Trips, NEVER};
use crate::engine::kind::Kind;
use crate::engine::shared::Engine;
use crate::wire::are_same;

/// An acks=0 request waits until this many requests followed it, as `pairing.NO_RESPONSE_HOLD`.
pub const NO_RESPONSE_HOLD: i64 = 5;
/// Answered ids that are looked at, as `pairing.ANSWERED_KEPT`.
pub const ANSWERED_KEPT: usize = 64;
/// Behind API key, version and correlation id: length of the client id, and the id (spec/004 "Complete Request
/// Format").
const ID_AT: usize = 4;
const LENGTH_AT: usize = 8;
const CLIENT_ID_AT: usize = 10;
/// Maximum number of request kinds on a native-owned connection, as `conversation.KINDS_LENT`.
pub const KINDS: usize = 64;
/// Number of requests that are searched for one id. Ids mostly grow, but need not.
const LOOKED_THROUGH: usize = 64;

/// Common state of a connection's directions: its fields are equal to those in the Python classes.
pub struct Talk {
    pub next: i64,
    pub client_id: Py<PyAny>,
    pub client_bytes: Py<PyBytes>,
    pub client_length: i32,
    /// Numbers of kinds that were met.
    pub seen: Box<[u32]>,
    pub pending: VecDeque<Request>,
    /// Ordinals of the requests that expect no response.
    pub silent: Vec<i64>,
    pub answered: Vec<i32>,
    pub bytes: i64,
    pub last_id: Option<i32>,
    /// No request waits under an id beyond this one.
    pub highest_id: i64,
    /// When the last byte of the last response came, or `NEVER`.
    pub answered_ns: i64,
    /// The next request was checked, and is for the engine whatever its content (`beginning.rs`).
    pub begins: bool,
}

/// Type of a frame.
pub enum Told {
    Request(Asked),
    /// The ordinal of its request, and the start of its body.
    Response(i64, usize),
}

pub struct Asked {
    kind: Arc<Kind>,
    id: i32,
    body: usize,
    is_silent: bool,
}

/// Sum of one payload's requests that were checked and not taken yet.
pub struct Ahead {
    requests: i64,
    bytes: i64,
    highest_id: i64,
}

impl Talk {
    pub fn ahead(&self) -> Ahead {
        Ahead { requests: 0, bytes: 0, highest_id: self.highest_id }
    }

    /// A frame from the client, after earlier frames of its payload; None if Python must read it.
    pub fn request(
        &self,
        py: Python<'_>,
        engine: &Engine,
        data: &[u8],
        before: &[Told],
        ahead: &mut Ahead,
    ) -> PyResult<Option<Told>> {
        let Some(kind) = engine.kind(py, data)? else { return Ok(None) };
        let Some(asked) = self.header(py, kind, data) else { return Ok(None) };
        let bytes = data.len() as i64;
        let takes = self.has_room(engine, ahead, bytes) && self.is_free(asked.id, before, ahead);
        ahead.requests += 1;
        ahead.bytes += bytes;
        ahead.highest_id = ahead.highest_id.max(i64::from(asked.id));
        Ok(takes.then_some(Told::Request(asked)))
    }

    /// The header of a request from the client that asked before.
    fn header(&self, py: Python<'_>, kind: Arc<Kind>, data: &[u8]) -> Option<Asked> {
        let id = i32::from_be_bytes(*data.get(ID_AT..)?.first_chunk()?);
        let length = i16::from_be_bytes(*data.get(LENGTH_AT..)?.first_chunk()?);
        let is_ours = (kind.is_ordinary || self.begins) && i32::from(length) == self.client_length;
        let stop = CLIENT_ID_AT + usize::try_from(length).unwrap_or(0); // -1 for null
        let body = stop + kind.tags.len();
        let is_new = !self.seen.contains(&kind.number());
        let is_ours = is_ours
            && are_same(data.get(CLIENT_ID_AT..stop)?, self.client_bytes.as_bytes(py))
            && are_same(data.get(stop..body)?, &kind.tags)
            && (!is_new || self.seen.len() < KINDS);
        let is_silent = is_ours && kind.acks(data.get(body..)?)? == 0;
        is_ours.then_some(Asked { kind, id, body, is_silent })
    }

    /// Whether all limits allow a request of this size.
    fn has_room(&self, engine: &Engine, ahead: &Ahead, bytes: i64) -> bool {
        let (limits, counts) = (&engine.limits, engine.counts());
        let (requests, bytes) = (ahead.requests, ahead.bytes.saturating_add(bytes));
        (self.pending.len() as i64) + requests < limits.connection_pending_requests()
            && counts.pending_requests() + requests < limits.pending_requests()
            && self.bytes.saturating_add(bytes) <= limits.connection_pending_bytes()
            && counts.pending_bytes().saturating_add(bytes) <= limits.pending_bytes()
    }

    /// Whether no request waits under an id, as far as that is quick to find out.
    fn is_free(&self, id: i32, before: &[Told], ahead: &Ahead) -> bool {
        if i64::from(id) > ahead.highest_id {
            return true;
        }
        let has_id = |told: &Told| matches!(told, Told::Request(asked) if asked.id == id);
        self.pending.len() + before.len() <= LOOKED_THROUGH
            && !self.pending.iter().any(|request| request.id == id)
            && !before.iter().any(has_id)
    }

    /// A frame from the broker, with the number of earlier frames in its payload; None if Python
    /// must read it.
    pub fn response(&self, data: &[u8], number: usize) -> Option<Told> {
        let id = i32::from_be_bytes(*data.first_chunk()?);
        let next = if self.silent.is_empty() { self.pending.get(number) } else { self.next_due(number) };
        let next = next.filter(|next| next.id == id)?;
        next.kind.body_offset(data).map(|body| Told::Response(next.ordinal, body))
    }

    /// The request whose response comes next, among requests that expect none; None if only Python
    /// can know.
    fn next_due(&self, number: usize) -> Option<&Request> {
        if number > 0 || self.pending.len() > LOOKED_THROUGH {
            return None;
        }
        let next = self.pending.iter().find(|request| !request.is_silent)?;
        let is_next = |request: &Request| request.is_silent || request.ordinal >= next.ordinal;
        self.pending.iter().all(is_next).then_some(next)
    }

    /// Take a checked frame; `rows` are the exchanges that it completes, `met` the kinds of
    /// requests that the connection did not have before.
    pub fn take(
        &mut self,
        py: Python<'_>,
        engine: &Engine,
        told: Told,
        mut content: Content,
        rows: &mut Vec<Row>,
        met: &mut Vec<u32>,
    ) {
        match told {
            Told::Request(asked) => {
                content.body = asked.body;
                let number = asked.kind.number();
                if !self.seen.contains(&number) {
                    met.push(number);
                    self.seen = [&*self.seen, &[number]].concat().into();
                }
                // A line of a request log has both frames: no response can follow.
                let hold = if content.line.is_some() { 0 } else { NO_RESPONSE_HOLD };
                self.wait(py, engine, asked, content);
                self.release(py, engine, self.next - 1 - hold, rows);
            }
            Told::Response(ordinal, body) => {
                content.body = body;
                if self.pending.front().is_some_and(|first| first.ordinal != ordinal) {
                    self.release(py, engine, ordinal, rows);
                }
                let found = self.pending.iter().position(|request| request.ordinal == ordinal);
                let Some(request) = found.and_then(|at| self.pending.remove(at)) else { return };
                self.answered.push(request.id);
                if self.answered.len() >= 2 * ANSWERED_KEPT {
                    self.answered.drain(..ANSWERED_KEPT);
                }
                self.gone(py, engine, &request);
                let answered_before = std::mem::replace(&mut self.answered_ns, content.span.last_time);
                rows.push(Row { request, response: Some(content), answered_before, trips: Trips::default() });
            }
        }
    }

    fn wait(&mut self, py: Python<'_>, engine: &Engine, asked: Asked, content: Content) {
        let Asked { kind, id, is_silent, .. } = asked;
        let bytes = content.data.as_bytes(py).len() as i64;
        let (ordinal, client_id) = (self.next, self.client_id.clone_ref(py));
        if self.pending.capacity() == 0 {
            self.pending.reserve_exact(1); // most connections have one request under way
        }
        self.pending.push_back(Request { ordinal, kind, id, client_id, content, is_silent });
        self.next += 1;
        self.bytes += bytes;
        engine.counts().wait(1, bytes);
        self.last_id = Some(id);
        self.highest_id = self.highest_id.max(i64::from(id));
        if is_silent {
            self.silent.push(ordinal);
        }
    }

    /// `Pairing._release`: requests with acks=0 up to an ordinal, whose answer is not coming.
    fn release(&mut self, py: Python<'_>, engine: &Engine, up_to: i64, rows: &mut Vec<Row>) {
        while let Some(&ordinal) = self.silent.first() {
            if ordinal > up_to {
                return;
            }
            self.silent.remove(0); // they are few
            let found = self.pending.iter().rposition(|request| request.ordinal == ordinal);
            if let Some(request) = found.and_then(|at| self.pending.remove(at)) {
                self.gone(py, engine, &request);
                rows.push(Row { request, response: None, answered_before: NEVER, trips: Trips::default() });
            }
        }
    }

    /// A request does not wait any more.
    fn gone(&mut self, py: Python<'_>, engine: &Engine, request: &Request) {
        let bytes = request.content.data.as_bytes(py).len() as i64;
        self.bytes -= bytes;
        engine.counts().wait(-1, -bytes);
        if self.pending.is_empty() {
            self.highest_id = i64::MIN;
            if self.pending.capacity() == 1 {
                self.pending = VecDeque::new(); // of a hundred thousand connections most wait for nothing
            }
        }
    }
}
