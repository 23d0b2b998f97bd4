//! Packets of chosen frames, copied out of a block without decoding them: equal to
//! `kdissect.excerpt` for packets that are in order.

pub mod choice;
pub mod copied;
pub mod copier;
pub mod cut;
pub mod packet_out;
pub mod plan;
pub mod plans;
