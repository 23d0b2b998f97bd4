//! Frames of a direction whose position is certain: `kdissect.session.framing.FrameReader`.

use std::ops::Range;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::engine::completed::Span;
use crate::engine::shared::Engine;
use crate::wire::are_same;

/// Bytes of a frame's size (spec/004 "Frame Structure").
const PREFIX: usize = 4;
/// Bytes by which a frame grows until it is counted, as `framing.COUNTED_BYTES`.
const COUNTED_BYTES: i64 = 1 << 20;
pub const NO_FRAME: i64 = -1;

/// A payload, and where it comes from.
#[derive(Clone, Copy)]
pub struct Packet<'a> {
    pub payload: &'a [u8],
    pub reference: i64,
    pub time_ns: i64,
}

impl Packet<'_> {
    fn origin(&self) -> Origin {
        (self.reference, self.time_ns)
    }
}

/// Reference and time of a packet.
pub type Origin = (i64, i64);

/// The reader of a direction. Most have no incomplete frame at most times: a hundred thousand
/// connections may be open.
pub struct Framing {
    pub under_way: Option<Box<UnderWay>>,
    /// 1-3 bytes of a size.
    pub stub: Box<[u8]>,
    pub first: Origin,
}

/// A frame that continues in the next packet: its fields are equal to the fields of the reader in
/// Python.
pub struct UnderWay {
    pub size: i64,
    pub stop: i64,
    pub counted: i64,
    /// Its captured part so far: payloads of packets, as the reader in Python has them, and their
    /// bytes.
    pub parts: Py<PyList>,
    pub have: usize,
    pub last: Origin,
}

/// The effect of a payload on a reader, before any change.
pub enum Plan<'py> {
    Collect,
    /// It goes into a frame that is larger by `COUNTED_BYTES` now.
    Grow,
    Cut(Cuts<'py>),
}

impl Plan<'_> {
    /// Whether the payload leaves no incomplete frame.
    pub fn is_between_frames(&self) -> bool {
        matches!(self, Plan::Cut(cuts) if cuts.next_size.is_none())
    }
}

/// Frames that a payload completes, and the bytes after them.
pub struct Cuts<'py> {
    /// The content of the frame that was incomplete.
    joined: Option<Bound<'py, PyBytes>>,
    /// Replaces the payload if bytes of a size preceded it.
    with_stub: Option<Vec<u8>>,
    first: Origin,
    rest: usize,
    /// Of the frame that begins at `rest`; without one there is less than a size.
    next_size: Option<usize>,
}

/// A frame that a payload completes. Without a place it is the one that was incomplete.
pub struct Piece {
    place: Option<Range<usize>>,
    pub span: Span,
}

impl<'py> Cuts<'py> {
    fn buffer<'a>(&'a self, payload: &'a [u8]) -> &'a [u8] {
        self.with_stub.as_deref().unwrap_or(payload)
    }

    /// The content of a frame.
    pub fn content<'a>(&'a self, payload: &'a [u8], piece: &Piece) -> &'a [u8] {
        match (&piece.place, &self.joined) {
            (Some(place), _) => self.buffer(payload).get(place.clone()).unwrap_or_default(),
            (None, joined) => joined.as_ref().map_or(&[], |joined| joined.as_bytes()),
        }
    }

    /// The same as Python has it.
    pub fn bytes(&self, py: Python<'py>, payload: &[u8], piece: &Piece) -> Bound<'py, PyBytes> {
        match (&piece.place, &self.joined) {
            (None, Some(joined)) => joined.clone(),
            _ => PyBytes::new(py, self.content(payload, piece)),
        }
    }
}

/// An int32 that begins `data`.
fn size_of(data: &[u8]) -> Option<i64> {
    Some(i64::from(i32::from_be_bytes(*data.first_chunk()?)))
}

impl Framing {
    /// The effect of a payload, and which frames it completes; None if Python must handle it.
    pub fn plan<'py>(
        &self,
        py: Python<'py>,
        packet: &Packet<'_>,
        engine: &Engine,
        pieces: &mut Vec<Piece>,
    ) -> Option<Plan<'py>> {
        let Some(frame) = &self.under_way else { return self.cut(packet, 0, None, engine, pieces) };
        let have = (frame.have + packet.payload.len()) as i64;
        if have < frame.stop {
            return Some(Plan::Collect);
        }
        if have < frame.size {
            let has_room = engine.counts().frame_bytes() + COUNTED_BYTES <= engine.limits.frame_bytes();
            return has_room.then_some(Plan::Grow);
        }
        let rest = packet.payload.len().checked_sub(usize::try_from(have - frame.size).ok()?)?;
        let end = packet.payload.get(..rest)?;
        let joined = PyBytes::new_with(py, frame.size as usize, |room| {
            frame.copy_to(py, room)?.copy_from_slice(end);
            Ok(())
        });
        pieces.push(Piece { place: None, span: span(self.first, packet.origin()) });
        self.cut(packet, rest, Some(joined.ok()?), engine, pieces)
    }

    /// Frames of a payload from `position` on, where one begins.
    fn cut<'py>(
        &self,
        packet: &Packet<'_>,
        position: usize,
        joined: Option<Bound<'py, PyBytes>>,
        engine: &Engine,
        pieces: &mut Vec<Piece>,
    ) -> Option<Plan<'py>> {
        let with_stub = (!self.stub.is_empty()).then(|| [&*self.stub, packet.payload].concat());
        let mut first = if with_stub.is_some() { self.first } else { packet.origin() };
        let buffer = with_stub.as_deref().unwrap_or(packet.payload);
        let (mut rest, mut next_size) = (position, None);
        while let Some(size) = size_of(buffer.get(rest..)?) {
            if size < 0 || size > engine.limits.frame_size() {
                return None;
            }
            let (start, size) = (rest + PREFIX, size as usize);
            if buffer.len() - start < size {
                next_size = Some(size);
                break;
            }
            pieces.push(Piece { place: Some(start..start + size), span: span(first, packet.origin()) });
            first = packet.origin();
            rest = start + size;
        }
        Some(Plan::Cut(Cuts { joined, with_stub, first, rest, next_size }))
    }

    /// Go on by a payload as planned.
    pub fn apply(
        &mut self,
        py: Python<'_>,
        plan: Plan<'_>,
        packet: &Packet<'_>,
        engine: &Engine,
    ) -> PyResult<()> {
        match (plan, &mut self.under_way) {
            (Plan::Cut(cuts), _) => self.go_on(py, &cuts, packet, engine)?,
            (Plan::Collect, Some(frame)) => frame.collect(packet, &PyBytes::new(py, packet.payload))?,
            (Plan::Grow, Some(frame)) => {
                frame.collect(packet, &PyBytes::new(py, packet.payload))?;
                frame.stop = frame.size.min(frame.have as i64 + COUNTED_BYTES);
                frame.counted += COUNTED_BYTES;
                engine.counts().grow(COUNTED_BYTES);
            }
            (_, None) => {} // it is planned for a frame under way alone
        }
        Ok(())
    }

    fn go_on(
        &mut self,
        py: Python<'_>,
        cuts: &Cuts<'_>,
        packet: &Packet<'_>,
        engine: &Engine,
    ) -> PyResult<()> {
        if let Some(frame) = self.under_way.take() {
            engine.counts().grow(-frame.counted);
        }
        self.first = cuts.first;
        let rest = cuts.buffer(packet.payload).get(cuts.rest..).unwrap_or_default();
        let stub = if cuts.next_size.is_some() { &[] } else { rest };
        if !are_same(stub, &self.stub) {
            self.stub = stub.into();
        }
        if let Some(size) = cuts.next_size {
            let mut frame = Box::new(UnderWay::new(py, size as i64));
            frame.collect(packet, &PyBytes::new(py, rest.get(PREFIX..).unwrap_or_default()))?;
            self.under_way = Some(frame);
        }
        Ok(())
    }
}

impl UnderWay {
    /// A frame of which there is nothing yet.
    fn new(py: Python<'_>, size: i64) -> UnderWay {
        let (stop, parts) = (size.min(COUNTED_BYTES), PyList::empty(py).unbind());
        UnderWay { size, stop, counted: 0, parts, have: 0, last: (0, 0) }
    }

    fn collect(&mut self, packet: &Packet<'_>, part: &Bound<'_, PyBytes>) -> PyResult<()> {
        self.have += part.as_bytes().len();
        self.last = packet.origin();
        self.parts.bind(part.py()).append(part)
    }

    /// Copy the parts, and return the memory after them.
    fn copy_to<'a>(&self, py: Python<'_>, mut room: &'a mut [u8]) -> PyResult<&'a mut [u8]> {
        for part in self.parts.bind(py) {
            let part = part.cast_into::<PyBytes>()?;
            let (mine, behind) = room.split_at_mut(part.as_bytes().len());
            mine.copy_from_slice(part.as_bytes());
            room = behind;
        }
        Ok(room)
    }
}

fn span(first: Origin, last: Origin) -> Span {
    Span { first_ref: first.0, last_ref: last.0, first_time: first.1, last_time: last.1 }
}
