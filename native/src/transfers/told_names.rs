//! Exchanges with names of topics that `history.topics.topic_names.TopicNames` took: repeated by
//! the same broker, they add no names.

use std::collections::hash_map::RandomState;
use std::collections::HashSet;
use std::hash::BuildHasher;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::engine::by_loan::ByLoan;
use crate::engine::exchange_block::{BlockRow, ExchangeBlock};

/// Exchanges that are remembered, by numbers: clients ask for the same few topics again and again.
const MOST: usize = 4096;

/// A frame, and where its body begins.
type Place<'py> = (Bound<'py, PyBytes>, usize);

#[pyclass(module = "kdissect._native")]
pub struct ToldNames {
    place_of: Py<PyAny>,
    hasher: RandomState,
    /// Numbers for brokers.
    brokers: ByLoan<isize>,
    /// Numbers for broker, kind and both bodies.
    told: HashSet<u64>,
    /// How often an address moved to another cluster before.
    moves: i64,
}

#[pymethods]
impl ToldNames {
    /// `place_of` returns the identity of a connection's broker.
    #[new]
    fn new(place_of: Py<PyAny>) -> Self {
        ToldNames {
            place_of,
            hasher: RandomState::new(),
            brokers: ByLoan::default(),
            told: HashSet::new(),
            moves: 0,
        }
    }

    /// Note an exchange of a kind that Python took, by its connection and both frames.
    fn note(
        &mut self,
        info: &Bound<'_, PyAny>,
        kind: (i16, i16),
        request: Place<'_>,
        response: Place<'_>,
    ) -> PyResult<()> {
        self.follow(info)?;
        let broker = broker_of(&self.place_of, info)?;
        let bodies = (body_of(request.0.as_bytes(), request.1), body_of(response.0.as_bytes(), response.1));
        if let (Some(asked), Some(answered)) = bodies {
            if self.told.len() >= MOST {
                self.told.clear();
            }
            self.told.insert(self.hasher.hash_one((broker, kind, asked, answered)));
        }
        Ok(())
    }

    /// Forget all.
    fn clear(&mut self) {
        self.told.clear();
    }

    fn __len__(&self) -> usize {
        self.told.len()
    }
}

impl ToldNames {
    /// If an address moved to another cluster, earlier exchanges count again.
    fn follow(&mut self, info: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = info.py();
        let identities = info.getattr(intern!(py, "identities"))?;
        if !identities.is_none() {
            let moves = identities.getattr(intern!(py, "moves"))?.extract()?;
            if moves != self.moves {
                self.moves = moves;
                self.told.clear();
            }
        }
        Ok(())
    }

    /// Whether a row of a block repeats the names that its broker sent before.
    pub fn knows(&mut self, py: Python<'_>, block: &ExchangeBlock, of: &BlockRow) -> PyResult<bool> {
        let (request, number) = (&of.row.request, of.connection as usize);
        let (Some(info), Some(answer)) = (block.connections.get(number), &of.row.response) else {
            return Ok(false);
        };
        let bodies = (
            body_of(request.content.data.as_bytes(py), request.content.body),
            body_of(answer.data.as_bytes(py), answer.body),
        );
        let (Some(asked), Some(answered)) = bodies else { return Ok(false) };
        self.follow(info.bind(py))?;
        let broker = self.brokers.of(block.loan(number), || broker_of(&self.place_of, info.bind(py)))?;
        let kind = (request.kind.api_key, request.kind.version);
        Ok(self.told.contains(&self.hasher.hash_one((broker, kind, asked, answered))))
    }
}

/// A number for the broker of a connection.
fn broker_of(place_of: &Py<PyAny>, info: &Bound<'_, PyAny>) -> PyResult<isize> {
    place_of.bind(info.py()).call1((info,))?.hash()
}

/// The body of a frame, or None.
fn body_of(data: &[u8], offset: usize) -> Option<&[u8]> {
    data.get(offset..).filter(|_| offset > 0)
}
