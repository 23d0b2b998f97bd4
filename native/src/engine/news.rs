//! Exchanges from which identities of clusters and topics learn (`kdissect.session.identities`).

use pyo3::prelude::*;

use crate::engine::completed::Row;
use crate::engine::shared::Engine;

/// The number of an exchange that identities must read; None if it repeats known facts.
fn number(engine: &Engine, py: Python<'_>, info: &Py<PyAny>, row: &Row) -> PyResult<Option<i64>> {
    let (request, Some(response)) = (&row.request, &row.response) else { return Ok(None) };
    if !request.kind.may_be_news {
        return Ok(None);
    }
    let (asked, answered) = (request.content.of_body(py), response.of_body(py));
    engine.number_of_news(py, (info, request.kind.api_key, request.kind.version, asked, answered))
}

/// Whether identities must read one of a connection's exchanges.
pub fn has_news(engine: &Engine, py: Python<'_>, info: &Py<PyAny>, rows: &[Row]) -> PyResult<bool> {
    for row in rows {
        if number(engine, py, info, row)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Have identities read the exchanges of a connection that contain news.
pub fn read_news(engine: &Engine, py: Python<'_>, info: &Py<PyAny>, rows: &[Row]) -> PyResult<()> {
    for row in rows {
        if let Some(number) = number(engine, py, info, row)? {
            engine.read_news(py, &row.exchange(py, engine, info)?, number)?;
        }
    }
    Ok(())
}
