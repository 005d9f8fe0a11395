//! Methodologies: what a loop does at each of its hook points by default.
//!
//! A methodology is a set of default handlers, two prompt templates and the
//! defaults of its configuration. [`ralph`] is built in; others come from
//! plugins, as profiles over the same functions. Its handlers know what they are
//! called with and what they were made from, as those of everybody else.

pub mod ralph;
