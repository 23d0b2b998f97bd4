//! Names of Python that are needed once an exchange.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// Classes and values by which exchanges are made and told apart.
pub struct Names {
    pub exchange: Py<PyAny>,
    pub complete: Py<PyAny>,
    pub no_response: Py<PyAny>,
}

static NAMES: PyOnceLock<Names> = PyOnceLock::new();

/// Those of this process.
pub fn names(py: Python<'_>) -> PyResult<&Names> {
    NAMES.get_or_try_init(py, || {
        let exchange = py.import("kdissect.session.exchange")?;
        let state = exchange.getattr("State")?;
        Ok(Names {
            exchange: exchange.getattr("Exchange")?.unbind(),
            complete: state.getattr("COMPLETE")?.unbind(),
            no_response: state.getattr("NO_RESPONSE_EXPECTED")?.unbind(),
        })
    })
}
