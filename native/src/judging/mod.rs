//! The judge over blocks (`kdissect.rules.judging.unmarked_rows`): exchanges that no rule needs,
//! and about which the histories' machines have no facts, never become objects.

mod batches;
mod connections;
mod counted;
pub mod members;
pub mod unmarked_rows;

pub use connections::BOUNDS;
