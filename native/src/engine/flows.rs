//! Where the segments of a flow go: `kdissect.net.flow_table`.

use pyo3::prelude::*;

use crate::engine::held::Held;
use crate::flow::{ByFlow, Flow};

/// The places of a capture set's open flows, and the direction that each is. They lead to connections, and nothing of
/// a connection leads here: the garbage collector need not know them.
#[pyclass(module = "kdissect._native")]
#[derive(Default)]
pub struct HeldFlows {
    pub by_flow: ByFlow<(Py<Held>, usize)>,
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

    /// Segments of the flow are of a direction of this connection from here on.
    fn set(slf: &Bound<'_, Self>, flow: &[u8], held: Py<Held>, direction: usize) -> PyResult<()> {
        let Some(flow) = Flow::of(flow) else { return Ok(()) };
        let before = slf.try_borrow_mut()?.by_flow.insert(&flow, (held, direction.min(1)));
        drop(before); // may run anything, which is why the map is not held any more
        Ok(())
    }

    /// The flow is that of no connection any more.
    fn drop(slf: &Bound<'_, Self>, flow: &[u8]) -> PyResult<()> {
        let Some(flow) = Flow::of(flow) else { return Ok(()) };
        let lane = slf.try_borrow_mut()?.by_flow.remove(&flow);
        drop(lane);
        Ok(())
    }

    fn clear(slf: &Bound<'_, Self>) -> PyResult<()> {
        let lanes = std::mem::take(&mut slf.try_borrow_mut()?.by_flow);
        drop(lanes);
        Ok(())
    }
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
