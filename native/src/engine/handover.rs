//! A connection as data: what `kdissect.session.handover.HeldState` says, from Python and back.

use std::collections::VecDeque;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::engine::completed::{Content, FrameRow, Request, Span};
use crate::engine::framing::{Framing, UnderWay, NO_FRAME};
use crate::engine::kind::{number, pair};
use crate::engine::lent::{Direction, Lent, Line};
use crate::engine::shared::Engine;
use crate::engine::stream::{AckState, AckTimes, Delivered, Recent, Stream};
use crate::engine::talk::Talk;

/// `kdissect.net.streams.recent.Delivered`.
type DeliveredRow<'py> = (i64, Bound<'py, PyBytes>, i64, i64);
/// `kdissect.net.streams.reassembly.StreamState`.
type StreamState<'py> = (i64, i64, u32, i64, i64, i32, i64, Vec<DeliveredRow<'py>>, AckState);
/// `kdissect.session.framing.FramingState`.
type FramingState<'py> =
    (i64, i64, i64, i64, Bound<'py, PyList>, Bound<'py, PyBytes>, (i64, i64), (i64, i64));
/// `kdissect.session.pairing.WaitingRow`.
type WaitingRow<'py> =
    (i64, i16, i16, i32, Bound<'py, PyAny>, FrameRow<'py>, usize, bool, Option<Bound<'py, PyBytes>>);
/// `kdissect.session.pairing.PairingState`.
type PairingState<'py> = (Vec<WaitingRow<'py>>, Vec<i64>, Vec<i32>, i64, Option<i32>);
/// `kdissect.session.conversation.ConversationState`.
type ConversationState<'py> =
    (i64, Bound<'py, PyAny>, Bound<'py, PyBytes>, i32, Vec<(i16, i16)>, PairingState<'py>, i64);
/// `kdissect.session.handover.EndState`.
type EndState = (bool, Option<(i64, i64)>, u32);
/// `kdissect.session.handover.Ends`.
pub type Ends = ([EndState; 2], Option<(usize, i64, i64)>);
/// Direction of the client, time of the last packet, both streams, both readers, the conversation, the comment of the
/// last line of a request log.
pub type HeldState<'py> = (
    usize,
    i64,
    (StreamState<'py>, StreamState<'py>),
    (Option<FramingState<'py>>, Option<FramingState<'py>>),
    ConversationState<'py>,
    Option<Bound<'py, PyBytes>>,
);

impl Lent {
    pub fn of(py: Python<'_>, engine: &Engine, state: HeldState<'_>, can_end: bool) -> PyResult<Lent> {
        let (client, last_time_ns, streams, framings, conversation, line) = state;
        let directions = [direction_of(streams.0, framings.0), direction_of(streams.1, framings.1)];
        let talk = talk_of(py, engine, conversation)?;
        let line = line.map(|comment| Line::of(comment.unbind()));
        Ok(Lent { directions, client, talk, last_time_ns, taken: 0, can_end, reset_by: None, line })
    }

    /// How its directions ended.
    pub fn ends(&self) -> Ends {
        let of_one = |one: &Direction| match &one.stream.end {
            Some(end) => (true, end.fin, end.resets),
            None => (false, None, 0),
        };
        (self.directions.each_ref().map(of_one), self.reset_by)
    }

    pub fn state<'py>(self, py: Python<'py>) -> PyResult<HeldState<'py>> {
        let [first, second] = self.directions;
        let framings =
            (first.framing.map(|of| framing_state(py, of)), second.framing.map(|of| framing_state(py, of)));
        let streams = (stream_state(py, first.stream), stream_state(py, second.stream));
        let line = self.line.map(|line| line.comment().bind(py).clone());
        Ok((self.client, self.last_time_ns, streams, framings, talk_state(py, self.talk)?, line))
    }
}

fn direction_of(stream: StreamState<'_>, framing: Option<FramingState<'_>>) -> Direction {
    let (next_seq, offset, packets, trim_at, start_seq, syn_id, syn_time_ns, rows, acks) = stream;
    let acks = AckTimes::of(acks);
    let mut recent = Recent::default();
    for (offset, payload, ip_id, time_ns) in rows {
        let payload = payload.as_bytes();
        recent.push(Delivered { offset, size: payload.len(), ip_id, time_ns }, payload);
    }
    let end = None;
    let stream =
        Stream { next_seq, offset, packets, trim_at, start_seq, syn_id, syn_time_ns, recent, acks, end };
    Direction { stream, framing: framing.map(framing_of) }
}

fn stream_state<'py>(py: Python<'py>, mut of: Stream) -> StreamState<'py> {
    let recent = of.recent.each();
    let recent = recent.map(|(one, payload)| (one.offset, PyBytes::new(py, payload), one.ip_id, one.time_ns));
    let recent = recent.collect();
    let acks = of.acks.state();
    (of.next_seq, of.offset, of.packets, of.trim_at, of.start_seq, of.syn_id, of.syn_time_ns, recent, acks)
}

fn framing_of((size, stop, room, counted, parts, stub, first, last): FramingState<'_>) -> Framing {
    let (have, parts) = (usize::try_from(stop - room).unwrap_or(0), parts.unbind());
    let under_way = (size >= 0).then(|| Box::new(UnderWay { size, stop, counted, parts, have, last }));
    Framing { under_way, stub: stub.as_bytes().into(), first }
}

fn framing_state<'py>(py: Python<'py>, of: Framing) -> FramingState<'py> {
    let stub = PyBytes::new(py, &of.stub);
    match of.under_way.map(|frame| *frame) {
        Some(UnderWay { size, stop, counted, parts, have, last }) => {
            (size, stop, stop - have as i64, counted, parts.into_bound(py), stub, of.first, last)
        }
        None => (NO_FRAME, 0, 0, 0, PyList::empty(py), stub, of.first, of.first),
    }
}

fn talk_of(py: Python<'_>, engine: &Engine, state: ConversationState<'_>) -> PyResult<Talk> {
    let (next, client_id, client_bytes, client_length, seen, pairing, answered_ns) = state;
    let (rows, silent, answered, bytes, last_id) = pairing;
    let mut pending = VecDeque::with_capacity(rows.len());
    for row in rows {
        pending.push_back(request_of(py, engine, row)?);
    }
    let highest_id = pending.iter().map(|request: &Request| i64::from(request.id)).max().unwrap_or(i64::MIN);
    Ok(Talk {
        next,
        client_id: client_id.unbind(),
        client_bytes: client_bytes.unbind(),
        client_length,
        seen: seen.into_iter().map(|(api_key, version)| number(api_key, version)).collect(),
        pending,
        silent,
        answered,
        bytes,
        last_id,
        highest_id,
        answered_ns,
        begins: false,
    })
}

fn request_of(py: Python<'_>, engine: &Engine, row: WaitingRow<'_>) -> PyResult<Request> {
    let (ordinal, api_key, version, id, client_id, frame, body, is_silent, line) = row;
    let (data, _, first_ref, last_ref, first_time, last_time) = frame;
    let span = Span {
        first_ref: first_ref.extract()?,
        last_ref: last_ref.extract()?,
        first_time: first_time.extract()?,
        last_time: last_time.extract()?,
    };
    let content = match line {
        Some(line) => Content::of_line(data.unbind(), body, span, line.unbind()),
        None => Content::new(data.unbind(), body, span),
    };
    let kind = engine.kind_of(py, number(api_key, version))?;
    Ok(Request { ordinal, kind, id, client_id: client_id.unbind(), content, is_silent })
}

fn talk_state<'py>(py: Python<'py>, of: Talk) -> PyResult<ConversationState<'py>> {
    let seen = of.seen.iter().copied().map(pair).collect();
    let rows = of.pending.into_iter().map(|request| waiting_row(py, request)).collect::<PyResult<_>>()?;
    let pairing = (rows, of.silent, of.answered, of.bytes, of.last_id);
    let client_bytes = of.client_bytes.into_bound(py);
    Ok((of.next, of.client_id.into_bound(py), client_bytes, of.client_length, seen, pairing, of.answered_ns))
}

fn waiting_row<'py>(py: Python<'py>, request: Request) -> PyResult<WaitingRow<'py>> {
    let Request { ordinal, kind, id, client_id, content, is_silent } = request;
    let (body, client_id) = (content.body, client_id.into_bound(py));
    let line = content.line.as_ref().map(|line| line.bind(py).clone());
    Ok((ordinal, kind.api_key, kind.version, id, client_id, content.row(py), body, is_silent, line))
}
