//! What is recorded of runs, and what is read from it.

mod browser;
mod clean;
mod cut_off;
mod every_text;
mod goes_on;
mod handlers;
mod interrupted;
mod kit;
mod lanes;
mod odd_store;
mod own_store;
mod pages;
mod queue;
mod real_ends;
mod record;
mod replay;
mod row_store;
mod waiting;
mod why;
mod without_config;
