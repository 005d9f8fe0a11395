//! The samuel library behind the binary.
