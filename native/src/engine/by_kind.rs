//! Answers that are equal for all exchanges of one connection, API, version and client id: Python
//! answers for the first of them.

use pyo3::prelude::*;

use crate::engine::completed::Row;
use crate::records::quick::QuickMap;

/// Answers by connection.
#[derive(Default)]
pub struct ByKind {
    /// By the addresses of the connections' infos, which stay alive while they are here.
    known: QuickMap<usize, Known>,
}

/// Facts about a connection.
struct Known {
    _info: Py<PyAny>,
    client_id: Py<PyAny>,
    kinds: Vec<(u32, i64)>,
}

impl ByKind {
    pub fn get(&self, py: Python<'_>, row: &Row, info: &Py<PyAny>) -> Option<i64> {
        let known = self.known.get(&address(info))?;
        let kind = row.request.kind.number();
        let is_same = known.client_id.bind(py).is(row.request.client_id.bind(py));
        Some(known.kinds.iter().find(|one| one.0 == kind).filter(|_| is_same)?.1)
    }

    pub fn set(&mut self, py: Python<'_>, row: &Row, info: &Py<PyAny>, answer: i64) {
        let client_id = &row.request.client_id;
        let known = self.known.entry(address(info)).or_insert_with(|| Known {
            _info: info.clone_ref(py),
            client_id: client_id.clone_ref(py),
            kinds: Vec::new(),
        });
        if !known.client_id.bind(py).is(client_id.bind(py)) {
            known.client_id = client_id.clone_ref(py);
            known.kinds.clear();
        }
        known.kinds.push((row.request.kind.number(), answer));
    }

    /// A connection is over.
    pub fn close(&mut self, info: &Bound<'_, PyAny>) {
        self.known.remove(&(info.as_ptr() as usize));
    }
}

fn address(info: &Py<PyAny>) -> usize {
    info.as_ptr() as usize
}
