//! The hot path of kdissect from file to stream, compiled: what `kdissect.model.native` looks for.
//!
//! It does the work of the Python modules that it names, only for the plain case. Tests check that
//! both are equal. Every access to bytes of a capture is checked: bad input can end in an
//! exception, never in foreign memory.

#![forbid(unsafe_code)]

use pyo3::prelude::*;

mod bodies;
mod capture;
mod codecs;
mod decimal;
mod engine;
mod excerpt;
mod exchange;
mod flow;
mod headers;
mod json_out;
mod json_values;
mod judging;
mod line_merge;
mod lines;
mod places;
mod recent_table;
mod records;
mod request_log;
mod runs;
mod sha256;
mod stats;
mod tables;
mod template;
mod transfers;
mod wire;

/// Version of the interface between Python and this library. Python rejects another number.
const INTERFACE: u32 = 32;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("INTERFACE", INTERFACE)?;
    add_capture(module)?;
    add_engine(module)?;
    add_bodies(module)?;
    add_transfers(module)?;
    add_excerpt(module)?;
    add_lines(module)?;
    module.add("JUDGED", judging::BOUNDS)?;
    module.add_class::<judging::unmarked_rows::UnmarkedRows>()?;
    module.add_class::<stats::kind_counts::KindCounts>()?;
    module.add_class::<stats::watermarks::Watermarks>()?;
    module.add_class::<stats::traffic::TrafficCounter>()
}

fn add_capture(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<places::Places>()?;
    module.add_class::<runs::PacketRuns>()?;
    module.add_function(wrap_pyfunction!(runs::interleaved, module)?)?;
    module.add_class::<sha256::Sha256>()?;
    module.add_function(wrap_pyfunction!(capture::records, module)?)?;
    module.add_function(wrap_pyfunction!(capture::blocks, module)?)
}

fn add_engine(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("RECENT", (engine::stream::BYTES, engine::stream::SEGMENTS))?;
    module.add("TALK", (engine::talk::NO_RESPONSE_HOLD, engine::talk::ANSWERED_KEPT, engine::talk::KINDS))?;
    module.add_class::<engine::counts::Counts>()?;
    module.add_class::<engine::shared::Engine>()?;
    module.add_class::<engine::held::Held>()?;
    module.add_class::<engine::flows::HeldFlows>()?;
    module.add_class::<engine::flows::PassedBy>()?;
    module.add_class::<engine::exchange_block::ExchangeBlock>()?;
    module.add_class::<engine::exchange_block::BlockIterator>()?;
    module.add_class::<engine::logged_rows::LoggedRows>()?;
    module.add_class::<engine::in_order::InOrder>()
}

fn add_bodies(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<bodies::plan::Layout>()?;
    module.add_class::<bodies::summaries::Summaries>()?;
    module.add_class::<bodies::validate::Validators>()?;
    module.add_class::<bodies::canonical_body::CanonicalBody>()?;
    module.add_class::<bodies::guards::Guards>()?;
    module.add_class::<bodies::protobuf::Protobuf>()?;
    module.add_class::<bodies::body_text::BodyText>()?;
    module.add_class::<bodies::tree_text::TreeText>()?;
    module.add_class::<request_log::logged_body::LoggedBody>()?;
    module.add_class::<request_log::line_packets::LinePackets>()?;
    module.add_class::<records::batch_text::BatchText>()?;
    module.add_class::<records::record_choice::RecordChoice>()?;
    module.add_class::<records::held_records::HeldRecords>()?;
    module.add_class::<records::record_lines::RecordLines>()?;
    module.add_class::<records::table::RecordColumns>()?;
    module.add_class::<records::avro::AvroProgram>()?;
    module.add_class::<tables::exchange_tables::ExchangeTables>()?;
    module.add_function(wrap_pyfunction!(records::record_objects::record_objects, module)?)?;
    module.add_function(wrap_pyfunction!(records::canonical_records::latest_delta, module)?)
}

fn add_transfers(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<bodies::partition_rows::PartitionRows>()?;
    module.add_class::<transfers::told_names::ToldNames>()?;
    module.add_class::<transfers::topic_sums::TopicSums>()?;
    module.add_class::<transfers::fetch_positions::FetchPositions>()?;
    module.add_class::<transfers::position_table::PositionTable>()?;
    module.add_class::<transfers::delays::Delays>()?;
    module.add_class::<transfers::refetches::Refetches>()?;
    module.add_class::<transfers::fetch_polls::FetchPolls>()?;
    module.add_class::<transfers::sequences::Sequences>()?;
    module.add_class::<transfers::sessions::Sessions>()?;
    module.add_class::<transfers::stored_batches::StoredBatches>()?;
    module.add_class::<transfers::lent_members::LentMembers>()?;
    module.add_class::<transfers::group_logs::GroupLogs>()?;
    module.add_class::<transfers::produced_batches::ProducedBatches>()
}

fn add_excerpt(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<excerpt::plans::PlanRuns>()?;
    module.add_class::<excerpt::plans::MergedPlans>()?;
    module.add_class::<excerpt::choice::FrameChoice>()?;
    module.add_class::<excerpt::copied::CopiedFlows>()?;
    module.add_class::<excerpt::copier::Copier>()?;
    module.add_class::<excerpt::copier::CopyInOrder>()
}

fn add_lines(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<lines::LineFiller>()?;
    module.add_class::<line_merge::LineMerge>()?;
    module.add_class::<template::LineTemplate>()
}
