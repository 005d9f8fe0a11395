//! Payload records.
