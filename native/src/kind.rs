//! `kdissect.session.request_kind`: what is known of a kind of request, by the first four bytes of a frame.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

/// Kinds kept, as `request_kind.KINDS_KEPT`: hostile requests can name 2^32 of them.
const KEPT: usize = 4096;

/// Bytes of acks, timeout and an array's size.
const FIXED: usize = 10;

/// What a `RequestKind` says, for those who have no time to ask it; `python` is the object itself.
pub struct Kind {
    pub python: Py<PyAny>,
    pub pair: Py<PyTuple>,
    pub api_key: Py<PyAny>,
    pub api_version: Py<PyAny>,
    pub version: i16,
    pub tags: Vec<u8>,
    pub response_tags: Vec<u8>,
    pub is_unknown: bool,
    pub is_unusual: bool,
    pub is_produce: bool,
    pub is_watched: bool,
}

static KINDS: Mutex<BTreeMap<u32, Arc<Kind>>> = Mutex::new(BTreeMap::new());

fn kinds() -> MutexGuard<'static, BTreeMap<u32, Arc<Kind>>> {
    KINDS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// API key and version, the first four bytes of a request (spec/004 "Complete Request Format").
fn number_of(data: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(data.get(..4)?.try_into().ok()?))
}

/// The kind of a request, if it was met before; else it is the next time.
pub fn known(py: Python<'_>, data: &[u8]) -> PyResult<Option<Arc<Kind>>> {
    let Some(number) = number_of(data) else { return Ok(None) };
    let found = kinds().get(&number).cloned();
    if found.is_none() {
        learn(py, number)?;
    }
    Ok(found)
}

/// The kind of a request; None if it is too short to tell.
pub fn kind_of(py: Python<'_>, data: &[u8]) -> PyResult<Option<Arc<Kind>>> {
    let Some(number) = number_of(data) else { return Ok(None) };
    let found = kinds().get(&number).cloned();
    match found {
        Some(kind) => Ok(Some(kind)),
        None => Ok(Some(learn(py, number)?)),
    }
}

fn learn(py: Python<'_>, number: u32) -> PyResult<Arc<Kind>> {
    let kind = Arc::new(Kind::of(py, (number >> 16) as i16, number as i16)?);
    let mut kinds = kinds();
    let dropped = if kinds.len() >= KEPT { std::mem::take(&mut *kinds) } else { BTreeMap::new() };
    kinds.insert(number, kind.clone());
    drop(kinds); // before what was dropped: that may run code of Python
    drop(dropped);
    Ok(kind)
}

impl Kind {
    fn of(py: Python<'_>, key: i16, version: i16) -> PyResult<Kind> {
        let python = py.import("kdissect.session.request_kind")?.getattr("kind_of")?.call1((key, version))?;
        Ok(Kind {
            pair: python.getattr(intern!(py, "pair"))?.cast_into::<PyTuple>()?.unbind(),
            api_key: python.getattr(intern!(py, "api_key"))?.unbind(),
            api_version: python.getattr(intern!(py, "api_version"))?.unbind(),
            version,
            tags: python.getattr(intern!(py, "tags"))?.cast::<PyBytes>()?.as_bytes().to_vec(),
            response_tags: python
                .getattr(intern!(py, "response_tags"))?
                .cast::<PyBytes>()?
                .as_bytes()
                .to_vec(),
            is_unknown: !python.getattr(intern!(py, "unknown"))?.is_none(),
            is_unusual: python.getattr(intern!(py, "is_unusual"))?.is_truthy()?,
            is_produce: python.getattr(intern!(py, "is_produce"))?.is_truthy()?,
            is_watched: python.getattr(intern!(py, "is_watched"))?.is_truthy()?,
            python: python.unbind(),
        })
    }

    /// What a Produce request asks for; None where that is not certain.
    ///
    /// Versions before 3 begin with it, later ones with a transactional id, which may be null and from version 9
    /// on is compact (spec/003 "Produce API").
    pub fn acks(&self, body: &[u8]) -> Option<i16> {
        let at = match self.version {
            0..=2 => 0,
            3..=8 => 2 + usize::try_from(i16::from_be_bytes(body.get(..2)?.try_into().ok()?).max(0)).ok()?,
            _ => match body.first()? {
                length @ 0..=0x7F => 1 + usize::from(length.saturating_sub(1)),
                _ => return None,
            },
        };
        // With timeout and number of topics behind it: less is cut, and nobody asked for anything.
        let fixed = body.get(at..at + FIXED)?;
        Some(i16::from_be_bytes(fixed.get(..2)?.try_into().ok()?))
    }
}
