//! Statistics over blocks of exchanges: what `kdissect.stats` counts, of the rows whose bodies fit.

pub mod distribution;
pub mod kind_counts;
pub mod response_time;
pub mod traffic;
pub mod watermarks;
