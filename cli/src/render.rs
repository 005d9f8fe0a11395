//! How answers look: as JSON, and as text on a terminal.

mod checkup;
mod claims;
mod envelope;
mod escape;
mod guards;
mod history;
mod hook_trials;
mod hooks;
mod lanes;
mod next_prompt;
mod places;
mod plugins;
mod profile;
mod prompt_stats;
#[cfg(test)]
mod properties;
mod remedy;
mod repair;
mod run_words;
mod status;
mod task;
mod tasks;
mod time;
mod watch;

pub(crate) use checkup::{checkup_data, checkup_text};
pub(crate) use envelope::Envelope;
pub(crate) use escape::{safe, safe_json, safe_lines, safe_words};
pub(crate) use guards::guards;
pub(crate) use history::{run_table, why_text};
pub(crate) use hook_trials::{
    firing_text, hook_list_text, hook_log_text, milliseconds, shown_hooks_text, trial_text, validation_text,
};
pub(crate) use hooks::{chain_table, point_text};
pub(crate) use lanes::{cleaned_text, landed_text, lanes_text, merged_text, queue_text, unmerged_text};
pub(crate) use next_prompt::{ExportedTemplates, NextPrompt, NextPromptStats};
pub(crate) use places::Places;
pub(crate) use plugins::{columns, fetched_data, fetched_text, info_text};
pub(crate) use profile::profile_table;
pub(crate) use prompt_stats::prompt_stats_text;
pub(crate) use remedy::remedy_text;
pub(crate) use repair::{left_text, records_text, repair_text};
pub(crate) use run_words::with_methodology;
pub(crate) use status::{does, end_text, status_text};
pub(crate) use task::task_text;
pub(crate) use tasks::{named_ids, task_table};
pub(crate) use time::{holder_text, time_of_day, with_local_time};
pub(crate) use watch::Watch;
