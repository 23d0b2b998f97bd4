//! Connections that are lent to the compiled engine: what `kdissect.session.connection.ConnectionAnalyzer` does with
//! packets that are in order and frames that are as most are, and nothing else.
//!
//! A connection is in Python or here, never in both; it is handed over whole, as data (`handover`). A packet that is
//! not for here changes nothing: who gave it takes the connection back and goes on in Python.

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
