//! Who takes the frames of a reader: what `FrameReader.start_frames` was given.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyCFunction;

use crate::dialogue::DialogueState;

/// Who takes frames.
pub enum Take {
    Request(Py<DialogueState>),
    Response(Py<DialogueState>),
    Any(Py<PyAny>),
}

impl Take {
    /// Methods of a compiled dialogue are called without Python in between.
    pub fn of(take: &Bound<'_, PyAny>) -> Take {
        Take::of_dialogue(take).unwrap_or_else(|| Take::Any(take.clone().unbind()))
    }

    fn of_dialogue(take: &Bound<'_, PyAny>) -> Option<Take> {
        let method = take.cast::<PyCFunction>().ok()?;
        let dialogue = method.getattr("__self__").ok()?.cast_into::<DialogueState>().ok()?;
        match method.getattr("__name__").ok()?.extract::<String>().ok()?.as_str() {
            "request" => Some(Take::Request(dialogue.unbind())),
            "response" => Some(Take::Response(dialogue.unbind())),
            _ => None,
        }
    }

    /// What `of` was given. A method is made anew: kept, it would be 72 bytes for each direction.
    pub fn python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Take::Request(dialogue) => dialogue.bind(py).getattr(intern!(py, "request")),
            Take::Response(dialogue) => dialogue.bind(py).getattr(intern!(py, "response")),
            Take::Any(take) => Ok(take.bind(py).clone()),
        }
    }

    pub fn bind<'py>(&self, py: Python<'py>) -> BoundTake<'py> {
        match self {
            Take::Request(dialogue) => BoundTake::Request(dialogue.bind(py).clone()),
            Take::Response(dialogue) => BoundTake::Response(dialogue.bind(py).clone()),
            Take::Any(take) => BoundTake::Any(take.bind(py).clone()),
        }
    }
}

/// The same, to be called.
pub enum BoundTake<'py> {
    Request(Bound<'py, DialogueState>),
    Response(Bound<'py, DialogueState>),
    Any(Bound<'py, PyAny>),
}
