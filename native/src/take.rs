//! Who takes the frames of a reader: what `FrameReader.start_frames` was given.

use pyo3::prelude::*;
use pyo3::types::PyCFunction;

use crate::dialogue::DialogueState;

/// Who takes frames.
pub enum Take {
    Request(Py<DialogueState>),
    Response(Py<DialogueState>),
    Any,
}

impl Take {
    /// Methods of a compiled dialogue are called without Python in between.
    pub fn of(take: &Bound<'_, PyAny>) -> Take {
        let Ok(method) = take.cast::<PyCFunction>() else { return Take::Any };
        let Ok(owner) = method.getattr("__self__") else { return Take::Any };
        let Ok(dialogue) = owner.cast_into::<DialogueState>() else { return Take::Any };
        match method.getattr("__name__").and_then(|name| name.extract::<String>()).as_deref() {
            Ok("request") => Take::Request(dialogue.unbind()),
            Ok("response") => Take::Response(dialogue.unbind()),
            _ => Take::Any,
        }
    }

    pub fn bind<'py>(&self, py: Python<'py>) -> BoundTake<'py> {
        match self {
            Take::Request(dialogue) => BoundTake::Request(dialogue.bind(py).clone()),
            Take::Response(dialogue) => BoundTake::Response(dialogue.bind(py).clone()),
            Take::Any => BoundTake::Any,
        }
    }
}

/// The same, to be called.
pub enum BoundTake<'py> {
    Request(Bound<'py, DialogueState>),
    Response(Bound<'py, DialogueState>),
    Any,
}
