//! `kdissect.session.framing.FrameReader`: frames of a direction whose position is certain.
//!
//! Everything else is for the methods of `FrameReader`, before anything was changed. Nothing of a reader is
//! borrowed while Python or a dialogue is called.

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::dialogue;
use crate::frame::{Frame, Span};
use crate::store::StoreState;
use crate::take::{BoundTake, Take};

/// Bytes of a frame's size (spec/004 "Frame Structure").
const PREFIX: usize = 4;
/// Bytes by which a frame grows until the store is told, as `framing.COUNTED_BYTES`.
const COUNTED_BYTES: i64 = 1 << 20;
/// `framing.Mode.FRAMES`.
const FRAMES: i64 = 1;

/// What `FrameReader` holds; its methods in Python use the same fields.
#[pyclass(subclass, module = "kdissect._native")]
pub struct ReaderState {
    #[pyo3(get, set)]
    pub room: i64,
    #[pyo3(get, set)]
    pub parts: Py<PyList>,
    #[pyo3(get, set)]
    pub last_ref: i64,
    #[pyo3(get, set)]
    pub last_time_ns: i64,
    #[pyo3(get, set, name = "_size")]
    size: i64,
    #[pyo3(get, set, name = "_stop")]
    stop: i64,
    #[pyo3(get, set, name = "_stub")]
    stub: Py<PyBytes>,
    #[pyo3(get, set, name = "_again")]
    again: Py<PyBytes>,
    #[pyo3(get, set, name = "_doubt")]
    doubt: i16,
    #[pyo3(get, set, name = "_holed")]
    is_holed: bool,
    #[pyo3(get, set, name = "_counted")]
    counted: i64,
    #[pyo3(get, set, name = "_first_ref")]
    first_ref: i64,
    #[pyo3(get, set, name = "_first_time")]
    first_time: i64,
    #[pyo3(get, set, name = "_store")]
    store: Option<Py<StoreState>>,
    to: Take,
    #[pyo3(get)]
    mode: Py<PyAny>,
    is_framing: bool, // mode is FRAMES
}

#[pymethods]
impl ReaderState {
    #[new]
    #[pyo3(signature = (*_args))]
    fn new(py: Python<'_>, _args: &Bound<'_, PyAny>) -> Self {
        let nothing = PyBytes::new(py, b"");
        ReaderState {
            room: 0,
            parts: PyList::empty(py).unbind(),
            last_ref: 0,
            last_time_ns: 0,
            size: -1,
            stop: 0,
            stub: nothing.clone().unbind(),
            again: nothing.unbind(),
            doubt: 0,
            is_holed: false,
            counted: 0,
            first_ref: 0,
            first_time: 0,
            store: None,
            to: Take::Any(py.None()),
            mode: py.None(),
            is_framing: false,
        }
    }

    #[setter]
    fn set_mode(&mut self, mode: Bound<'_, PyAny>) -> PyResult<()> {
        self.is_framing = mode.extract::<i64>()? == FRAMES;
        self.mode = mode.unbind();
        Ok(())
    }

    #[setter(_take)]
    fn set_take(&mut self, take: Bound<'_, PyAny>) {
        self.to = Take::of(&take);
    }

    #[getter(_take)]
    fn take<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.to.python(py)
    }

    /// `FrameReader.data`.
    #[pyo3(name = "data")]
    fn data_in_python(
        slf: &Bound<'_, Self>,
        payload: &Bound<'_, PyBytes>,
        reference: i64,
        time_ns: i64,
    ) -> PyResult<()> {
        data(slf, payload, reference, time_ns)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        match &self.to {
            Take::Request(dialogue) | Take::Response(dialogue) => visit.call(dialogue),
            Take::Any(take) => visit.call(take),
        }
    }

    fn __clear__(&mut self, py: Python<'_>) {
        self.to = Take::Any(py.None());
    }
}

/// A payload, and where it comes from.
#[derive(Clone, Copy)]
struct Packet<'a, 'py> {
    payload: &'a Bound<'py, PyBytes>,
    reference: i64,
    time_ns: i64,
}

/// What a payload is to a reader.
enum Step {
    Odd,
    Collected,
    Whole,           // one frame
    Cut,             // begins where a frame begins, or inside its size
    Complete(usize), // ends the frame under way, and has so many bytes beyond
}

impl ReaderState {
    fn step(&mut self, packet: &Packet<'_, '_>) -> PyResult<Step> {
        if !self.is_framing || self.doubt != 0 {
            return Ok(Step::Odd);
        }
        let payload = packet.payload.as_bytes();
        if self.size < 0 {
            let is_whole = size_of(payload) == Some(payload.len() as i64 - PREFIX as i64);
            let is_whole = is_whole && self.is_aligned(packet.payload.py());
            return Ok(if is_whole { Step::Whole } else { Step::Cut });
        }
        let room = self.room - payload.len() as i64;
        if room > 0 {
            self.collect(packet, room)?;
            return Ok(Step::Collected);
        }
        Ok(match usize::try_from(self.stop - room - self.size) {
            Ok(extra) if !self.is_holed && self.counted == 0 && extra <= payload.len() => {
                Step::Complete(extra)
            }
            _ => Step::Odd,
        })
    }

    fn is_aligned(&self, py: Python<'_>) -> bool {
        self.stub.bind(py).as_bytes().is_empty()
    }

    fn collect(&mut self, packet: &Packet<'_, '_>, room: i64) -> PyResult<()> {
        self.room = room;
        self.last_ref = packet.reference;
        self.last_time_ns = packet.time_ns;
        self.parts.bind(packet.payload.py()).append(packet.payload)
    }

    /// `FrameReader._begin`: a frame of which `content` is the beginning.
    fn begin(&mut self, packet: &Packet<'_, '_>, size: i64, content: &[u8]) -> PyResult<()> {
        let py = packet.payload.py();
        self.size = size;
        self.stop = size.min(COUNTED_BYTES);
        self.room = self.stop - content.len() as i64;
        self.parts = PyList::new(py, [PyBytes::new(py, content)])?.unbind();
        self.last_ref = packet.reference;
        self.last_time_ns = packet.time_ns;
        Ok(())
    }

    /// What `FrameReader._complete` joins, and whose it is; no frame is under way any more.
    fn finish<'py>(
        &mut self,
        packet: &Packet<'_, 'py>,
        extra: usize,
    ) -> PyResult<(Bound<'py, PyBytes>, i64, Span)> {
        let py = packet.payload.py();
        let payload = packet.payload.as_bytes();
        let parts = self.parts.bind(py);
        parts.append(PyBytes::new(py, &payload[..payload.len().saturating_sub(extra)]))?;
        let content =
            PyBytes::new(py, b"").call_method1(intern!(py, "join"), (parts,))?.cast_into::<PyBytes>()?;
        let (size, span) = (self.size, self.span(packet));
        self.size = -1;
        self.room = 0;
        self.parts = PyList::empty(py).unbind();
        Ok((content, size, span))
    }

    /// `_cut` begins: what is to be cut where 1-3 bytes were there before, and the largest size of a frame.
    fn aligned<'py>(
        &mut self,
        packet: &Packet<'_, 'py>,
        position: usize,
    ) -> PyResult<(Option<Bound<'py, PyBytes>>, i64)> {
        let py = packet.payload.py();
        let most = self.store.as_ref().map_or(0, |store| store.borrow(py).most.frame_size);
        if self.is_aligned(py) {
            self.first_ref = packet.reference;
            self.first_time = packet.time_ns;
            return Ok((None, most));
        }
        let rest = packet.payload.as_bytes().get(position..).unwrap_or_default();
        let joined = PyBytes::new(py, &[self.stub.bind(py).as_bytes(), rest].concat());
        self.stub = PyBytes::new(py, b"").unbind();
        Ok((Some(joined), most))
    }

    fn span(&self, packet: &Packet<'_, '_>) -> Span {
        Span {
            first_ref: self.first_ref,
            last_ref: packet.reference,
            first_time: self.first_time,
            last_time: packet.time_ns,
        }
    }
}

/// An int32 that begins `data`.
fn size_of(data: &[u8]) -> Option<i64> {
    Some(i64::from(i32::from_be_bytes(data.get(..PREFIX)?.try_into().ok()?)))
}

/// `FrameReader.data`.
pub fn data(
    reader: &Bound<'_, ReaderState>,
    payload: &Bound<'_, PyBytes>,
    reference: i64,
    time_ns: i64,
) -> PyResult<()> {
    let py = reader.py();
    let packet = Packet { payload, reference, time_ns };
    let step = reader.borrow_mut().step(&packet)?;
    match step {
        Step::Collected => Ok(()),
        Step::Whole => {
            let content = PyBytes::new(py, payload.as_bytes().get(PREFIX..).unwrap_or_default());
            let size = content.as_bytes().len() as i64;
            let span =
                Span { first_ref: reference, last_ref: reference, first_time: time_ns, last_time: time_ns };
            deliver(reader, content, size, span)
        }
        Step::Cut => cut(reader, &packet, 0),
        Step::Complete(extra) => complete(reader, &packet, extra),
        Step::Odd => reader.call_method1(intern!(py, "_data"), (payload, reference, time_ns)).map(drop),
    }
}

/// `FrameReader._complete`, and what is behind it.
fn complete(reader: &Bound<'_, ReaderState>, packet: &Packet<'_, '_>, extra: usize) -> PyResult<()> {
    let (content, size, span) = reader.borrow_mut().finish(packet, extra)?;
    deliver(reader, content, size, span)?;
    if extra == 0 {
        return Ok(());
    }
    let rest = packet.payload.as_bytes().len() - extra;
    if reader.borrow().is_framing {
        return cut(reader, packet, rest);
    }
    look_again(reader, packet, packet.payload.as_bytes().get(rest..).unwrap_or_default())
}

/// `FrameReader._look_again` at `rest`, after the reader stopped to cut frames.
fn look_again(reader: &Bound<'_, ReaderState>, packet: &Packet<'_, '_>, rest: &[u8]) -> PyResult<()> {
    let py = reader.py();
    reader.borrow_mut().again = PyBytes::new(py, rest).unbind();
    reader.call_method1(intern!(py, "_look_again"), (packet.reference, packet.time_ns)).map(drop)
}

/// `FrameReader._cut` of a payload from `position` on.
fn cut(reader: &Bound<'_, ReaderState>, packet: &Packet<'_, '_>, mut position: usize) -> PyResult<()> {
    let (joined, most) = reader.borrow_mut().aligned(packet, position)?;
    let buffer = match &joined {
        Some(joined) => {
            position = 0;
            joined.as_bytes()
        }
        None => packet.payload.as_bytes(),
    };
    loop {
        let rest = buffer.get(position..).unwrap_or_default();
        let Some(size) = size_of(rest) else {
            reader.borrow_mut().stub = PyBytes::new(reader.py(), rest).unbind();
            return Ok(());
        };
        if size < 0 || size > most {
            return bad_size(reader, packet, size, rest);
        }
        let (content, stop) = (&rest[PREFIX..], size as usize);
        let Some(content) = content.get(..stop) else {
            return reader.borrow_mut().begin(packet, size, content);
        };
        let span = reader.borrow().span(packet);
        deliver(reader, PyBytes::new(reader.py(), content), size, span)?;
        position += PREFIX + stop;
        let mut state = reader.borrow_mut();
        state.first_ref = packet.reference;
        state.first_time = packet.time_ns;
        if !state.is_framing {
            drop(state);
            return look_again(reader, packet, buffer.get(position..).unwrap_or_default());
        }
    }
}

/// `FrameReader._bad_size` of the size that begins `rest`, and what follows from it.
fn bad_size(
    reader: &Bound<'_, ReaderState>,
    packet: &Packet<'_, '_>,
    size: i64,
    rest: &[u8],
) -> PyResult<()> {
    let py = reader.py();
    let (reference, time_ns) = (packet.reference, packet.time_ns);
    let rest = PyBytes::new(py, rest);
    reader.call_method1(intern!(py, "_bad_size"), (size, rest, reference, time_ns))?;
    reader.call_method1(intern!(py, "_look_again"), (reference, time_ns)).map(drop)
}

/// Make a frame and give it away: `FrameReader._deliver` where the position is certain.
fn deliver(
    reader: &Bound<'_, ReaderState>,
    content: Bound<'_, PyBytes>,
    size: i64,
    span: Span,
) -> PyResult<()> {
    let py = reader.py();
    let frame = Frame::make(content, size, span)?;
    let to = reader.borrow().to.bind(py);
    match to {
        BoundTake::Request(dialogue) => dialogue::request(&dialogue, &frame, false).map(drop),
        BoundTake::Response(dialogue) => dialogue::response(&dialogue, &frame, false).map(drop),
        BoundTake::Any(take) => take.call1((frame, false)).map(drop),
    }
}
