//! Native-owned connections: equal to `kdissect.session.connection.ConnectionAnalyzer` for packets
//! that are in order and for ordinary frames.
//!
//! A connection is in Python or here, never in both. It is handed over as a whole, as data
//! (`handover`). A packet that is not for here changes nothing: who gave it takes the connection
//! back and goes on in Python.

pub mod by_kind;
pub mod by_loan;
pub mod completed;
pub mod counts;
pub mod exchange_block;
pub mod flows;
pub mod framing;
pub mod half_open;
pub mod handover;
pub mod held;
pub mod in_order;
pub mod kind;
pub mod lent;
pub mod logged_rows;
pub mod news;
pub mod sets;
pub mod shared;
pub mod stream;
pub mod talk;
