//! Where the segments of a flow go: `kdissect.engine.flows`.

use std::sync::atomic::Ordering;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::engine::half_open;
use crate::engine::held::Held;
use crate::flow::{ByFlow, Flow};

/// The places of a capture set's open connections, each once, for both of its flows. They refer to
/// connections, which do not refer back: the garbage collector need not know them.
#[pyclass(module = "kdissect._native")]
#[derive(Default)]
pub struct HeldFlows {
    by_flow: ByFlow<Py<Held>>,
}

#[pymethods]
impl HeldFlows {
    #[new]
    fn new() -> Self {
        HeldFlows::default()
    }

    fn __len__(&self) -> usize {
        self.by_flow.len()
    }

    /// From here on, segments of the flow have direction 0 on this connection, segments in the
    /// response direction 1.
    fn set(slf: &Bound<'_, Self>, py: Python<'_>, flow: &[u8], held: Py<Held>) -> PyResult<()> {
        let Some(flow) = Flow::of(flow) else { return Ok(()) };
        let (key, is_turned) = flow.either_way();
        held.try_borrow_mut(py)?.is_turned = is_turned;
        let before = slf.try_borrow_mut()?.by_flow.insert(&key.flow(), held);
        drop(before); // may run anything, which is why the map is not held any more
        Ok(())
    }

    /// The flow is that of no connection any more.
    fn drop(slf: &Bound<'_, Self>, flow: &[u8]) -> PyResult<()> {
        let Some(flow) = Flow::of(flow) else { return Ok(()) };
        let held = slf.try_borrow_mut()?.by_flow.remove(&flow.either_way().0.flow());
        drop(held);
        Ok(())
    }

    /// The keys of the flows in their Python table, in its order, whose connections may be over at a time, and of those
    /// that Python must look at: the others had a packet less than `idle_ns` ago, or `logged_idle_ns` on connections of
    /// request logs, or `linger_ns` if both directions ended.
    fn may_be_over<'py>(
        &self,
        py: Python<'py>,
        table: &Bound<'py, PyDict>,
        time_ns: i64,
        idle_ns: i64,
        logged_idle_ns: i64,
        linger_ns: i64,
    ) -> Vec<Bound<'py, PyAny>> {
        let [idle_ns, logged_idle_ns, linger_ns] =
            [idle_ns, logged_idle_ns, linger_ns].map(|limit_ns| time_ns.saturating_sub(limit_ns));
        let since = Since { idle_ns, logged_idle_ns, linger_ns };
        // Hot, every 10 s of traffic for each open connection: the map here is faster than the table.
        let mut over = ByFlow::default();
        for (flow, _) in self.by_flow.iter().filter(|(_, held)| !is_heard_since(held.bind(py), since)) {
            over.insert(&flow, ());
        }
        let are_all_here = table.len() == self.by_flow.len();
        if are_all_here && over.len() == 0 {
            return Vec::new();
        }
        let is_heard = |key: &Bound<'py, PyAny>, flow: &Bound<'py, PyAny>| {
            if let Ok(half) = flow.cast::<PyBytes>() {
                return half_open::last_time_ns(half.as_bytes()).is_some_and(|last_ns| last_ns >= idle_ns);
            }
            let Some(flow) = key.cast::<PyBytes>().ok().and_then(|key| Flow::of(key.as_bytes())) else {
                return false;
            };
            let (key, _) = flow.either_way();
            over.get(&key.flow()).is_none() && (are_all_here || self.by_flow.get(&key.flow()).is_some())
        };
        table.iter().filter(|(key, flow)| !is_heard(key, flow)).map(|(key, _)| key).collect()
    }

    /// Forget what silent connections delivered: nothing since a time.
    fn forget_delivered(&self, py: Python<'_>, since_ns: i64) {
        for (_, held) in self.by_flow.iter() {
            let Ok(mut held) = held.bind(py).try_borrow_mut() else { continue };
            if let Some(lent) = held.lent.as_mut().filter(|lent| (1..since_ns).contains(&lent.last_time_ns)) {
                lent.forget_delivered();
            }
        }
    }

    /// Free no memory of the connections from here on, and forget what they delivered: in a copy of the process,
    /// freeing writes to pages which both share.
    fn keep_memory(&self, py: Python<'_>) {
        for (_, held) in self.by_flow.iter() {
            if let Ok(held) = held.bind(py).try_borrow() {
                held.engine.get().keeps_memory.store(true, Ordering::Relaxed);
            }
            std::mem::forget(held.clone_ref(py));
        }
    }

    fn clear(slf: &Bound<'_, Self>) -> PyResult<()> {
        let flows = std::mem::take(&mut slf.try_borrow_mut()?.by_flow);
        drop(flows);
        Ok(())
    }
}

impl HeldFlows {
    /// The connection of a flow, and whether it goes the way that the key for both goes.
    pub fn get(&self, flow: &Flow<'_>) -> Option<(&Py<Held>, bool)> {
        let (key, is_turned) = flow.either_way();
        self.by_flow.get(&key.flow()).map(|held| (held, is_turned))
    }
}

/// Times since which connections must have had a packet to be open: captured ones, those of request logs, and those of
/// which both directions ended.
#[derive(Clone, Copy)]
struct Since {
    idle_ns: i64,
    logged_idle_ns: i64,
    linger_ns: i64,
}

/// Whether a connection is open. Python alone knows that of one that it has.
fn is_heard_since(held: &Bound<'_, Held>, since: Since) -> bool {
    held.try_borrow().ok().as_ref().and_then(|held| held.lent.as_ref()).is_some_and(|lent| {
        let since_ns = match (lent.is_over(), &lent.line) {
            (true, _) => since.linger_ns,
            (false, Some(_)) => since.logged_idle_ns,
            (false, None) => since.idle_ns,
        };
        lent.last_time_ns != 0 && lent.last_time_ns >= since_ns // without a packet, Python has its start
    })
}

/// Flows that are to be passed by (`kdissect.engine.shards`).
#[pyclass(module = "kdissect._native")]
#[derive(Default)]
pub struct PassedBy {
    pub by_flow: ByFlow<()>,
}

#[pymethods]
impl PassedBy {
    #[new]
    fn new() -> Self {
        PassedBy::default()
    }

    fn __len__(&self) -> usize {
        self.by_flow.len()
    }

    fn add(&mut self, flow: &[u8]) {
        if let Some(flow) = Flow::of(flow) {
            self.by_flow.insert(&flow, ());
        }
    }

    fn clear(&mut self) {
        self.by_flow = ByFlow::default();
    }
}
