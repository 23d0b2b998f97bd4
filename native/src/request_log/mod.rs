//! Lines of request logs to packets: `kdissect.capture.formats.request_log`.

pub mod json;
pub mod line_comment;
pub mod line_packets;
pub mod line_time;
pub mod logged_body;
