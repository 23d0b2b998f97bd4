//! Packets of chosen frames, copied out of a block without looking at what is in them: what `kdissect.excerpt` does with
//! packets that are in order, and nothing else.

pub mod choice;
pub mod copied;
pub mod copier;
pub mod cut;
pub mod packet_out;
pub mod plan;
pub mod plans;
