//! The judge over blocks (`kdissect.rules.judging.unmarked_rows`): exchanges that no rule is shown, and of which no
//! machine of the histories tells anything, never become objects.

mod batches;
mod connections;
mod counted;
pub mod members;
pub mod unmarked_rows;

pub use connections::BOUNDS;
