//! What is read of `kdissect.session.exchange.Exchange` and `kdissect.model.frame.Frame`, in one place.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// An attribute as a number of 64 bits; None where it is none.
macro_rules! number {
    ($of:expr, $name:literal) => {
        $of.getattr(intern!($of.py(), $name))?.extract::<i64>().ok()
    };
}

macro_rules! attribute {
    ($of:expr, $name:literal) => {
        $of.getattr(intern!($of.py(), $name))?
    };
}

/// A frame of which every byte was captured, without anomalies.
pub struct Frame<'py> {
    data: Bound<'py, PyBytes>,
    pub size: i64,
    pub first_ref: i64,
    pub last_ref: i64,
    pub time_ns: i64,
    pub end_time_ns: i64,
}

impl<'py> Frame<'py> {
    /// None for a frame that is not whole, or odd.
    fn of(frame: &Bound<'py, PyAny>) -> PyResult<Option<Frame<'py>>> {
        if frame.is_none() || is_full(&attribute!(frame, "anomalies"))? {
            return Ok(None);
        }
        let Ok(data) = attribute!(frame, "data").cast_into::<PyBytes>() else { return Ok(None) };
        let (Some(size), Some(first_ref), Some(last_ref), Some(time_ns), Some(end_time_ns)) = (
            number!(frame, "size"),
            number!(frame, "first_ref"),
            number!(frame, "last_ref"),
            number!(frame, "time_ns"),
            number!(frame, "end_time_ns"),
        ) else {
            return Ok(None);
        };
        let is_whole = usize::try_from(size) == Ok(data.as_bytes().len());
        Ok(is_whole.then_some(Frame { data, size, first_ref, last_ref, time_ns, end_time_ns }))
    }

    pub fn data(&self) -> &[u8] {
        self.data.as_bytes()
    }

    pub fn object(&self) -> &Bound<'py, PyAny> {
        self.data.as_any()
    }
}

/// Members of `ExchangeKind` and `State`: of exchanges that are Kafka's, of those with an answer, and of those
/// to which none belongs.
pub struct Members {
    pub kafka: Py<PyAny>,
    pub complete: Py<PyAny>,
    pub silent: Py<PyAny>,
}

/// An exchange with whole frames and nothing odd about it. Only where none belongs it has no response.
pub struct Exchange<'py> {
    pub connection: Bound<'py, PyAny>,
    pub client_id: Bound<'py, PyAny>,
    pub api_key: i64,
    pub api_version: i64,
    pub ordinal: i64,
    pub correlation_id: i64,
    pub request: Frame<'py>,
    pub response: Option<Frame<'py>>,
    pub request_body_offset: i64,
    pub response_body_offset: i64,
}

impl<'py> Exchange<'py> {
    /// None for any other one.
    pub fn of(exchange: &Bound<'py, PyAny>, members: &Members) -> PyResult<Option<Exchange<'py>>> {
        let state = attribute!(exchange, "state");
        let is_complete = state.is(&members.complete);
        if !is_complete && !state.is(&members.silent)
            || !attribute!(exchange, "kind").is(&members.kafka)
            || !attribute!(exchange, "close").is_none()
            || is_full(&attribute!(exchange, "anomalies"))?
        {
            return Ok(None);
        }
        let Some(request) = Frame::of(&attribute!(exchange, "request"))? else { return Ok(None) };
        let response = attribute!(exchange, "response");
        let response = if is_complete { Frame::of(&response)? } else { None };
        if is_complete != response.is_some() {
            return Ok(None);
        }
        let (Some(api_key), Some(api_version), Some(ordinal), Some(correlation_id)) = (
            number!(exchange, "api_key"),
            number!(exchange, "api_version"),
            number!(exchange, "ordinal"),
            number!(exchange, "correlation_id"),
        ) else {
            return Ok(None);
        };
        let (Some(request_body_offset), Some(response_body_offset)) =
            (number!(exchange, "request_body_offset"), number!(exchange, "response_body_offset"))
        else {
            return Ok(None);
        };
        Ok(Some(Exchange {
            connection: attribute!(exchange, "connection"),
            client_id: attribute!(exchange, "client_id"),
            api_key,
            api_version,
            ordinal,
            correlation_id,
            request,
            response,
            request_body_offset,
            response_body_offset,
        }))
    }
}

impl Exchange<'_> {
    /// First byte of the response minus last byte of the request. None without one, or beyond 64 bits.
    pub fn latency_ns(&self) -> Option<i64> {
        self.response.as_ref()?.time_ns.checked_sub(self.request.end_time_ns)
    }
}

/// Whether there is a list with something in it.
fn is_full(list: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(!list.is_none() && list.is_truthy()?)
}

/// The summary of a request that was kept when it was paired, or None.
pub fn kept_summary<'py>(exchange: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let kept = attribute!(exchange, "request_summary_cache");
    Ok((!kept.is_none()).then_some(kept))
}
