//! Bodies: the plan of a message in one version, the one visitor, and what becomes of bodies.

pub mod body_text;
pub mod canonical_body;
pub mod guards;
pub mod partition_rows;
pub mod plan;
pub mod protobuf;
pub mod summaries;
pub mod tree_text;
pub mod validate;
pub mod visitor;
