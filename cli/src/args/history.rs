//! Arguments of the commands that tell what happened in runs.

use std::path::PathBuf;

use clap::Args;
use samuel_core::{
    history::{EntryFilter, WhyQuestion},
    model::TaskId,
};

use super::{ITERATIONS, whole_number};
use crate::failure::Failure;

#[derive(Debug, Args)]
#[command(
    after_help = "A run is named by its id or by the beginning of it; `samuel run runs` lists them. With --json \
                  each event is a document of its own, and the last one is the answer.\n\nExamples:\n  samuel run \
                  log\n  samuel run log --task 1.2\n  samuel run log --tail\n\nExit codes: 0 shown, 1 there is no \
                  such run or no such event in it"
)]
pub(crate) struct RunLogArgs {
    /// The run [default: the one that is under way, else the last]
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// Only what belongs to this iteration
    #[arg(long, value_name = "N", value_parser = whole_number::<u32>(ITERATIONS))]
    iteration: Option<u32>,
    /// Only what is about this task, and what happened in iterations for it
    #[arg(long, value_name = "ID")]
    task: Option<TaskId>,
    /// Follow a run that is under way, and end with it
    #[arg(long)]
    pub(crate) tail: bool,
}

impl RunLogArgs {
    /// Returns which events are wanted.
    pub(crate) fn filter(&self) -> EntryFilter {
        EntryFilter { iteration: self.iteration, task: self.task.clone() }
    }

    /// Says which events are wanted, as the end of a sentence.
    pub(crate) fn wanted(&self) -> String {
        let iteration = self.iteration.map(|number| format!(" of iteration {number}"));
        let task = self.task.as_ref().map(|task| format!(" of task {task}"));
        [iteration, task].into_iter().flatten().collect()
    }
}

#[derive(Debug, Args)]
#[command(
    after_help = "Without an argument: why the next task is next, and why each other one is not. Each answer names \
                  the events that it rests on, by their number in the record of the run.\n\nExamples:\n  samuel run \
                  why\n  samuel run why 1.2\n  samuel run why check\n  samuel run why run\n  samuel run why handler \
                  lint:hooks/check.sh\n\nExit codes: 0 answered, 1 there is no such task or no record"
)]
pub(crate) struct WhyArgs {
    /// A task, the word check, or a run; or one of the words task, run and handler with an id behind it
    #[arg(value_name = "WHAT", num_args = 0..=2)]
    what: Vec<String>,
}

impl WhyArgs {
    /// Returns the question.
    pub(crate) fn question(self) -> Result<WhyQuestion, Failure> {
        let task = |id: &str| {
            id.parse::<TaskId>().map(WhyQuestion::Task).map_err(|error| Failure::usage(error.to_string()))
        };
        let words: Vec<&str> = self.what.iter().map(String::as_str).collect();
        let unnamed = |word: &str| {
            let failure = Failure::usage(format!("name the {word} that the question is about"));
            failure.advise(format!("Put its id behind the word: `samuel run why {word} ID`."))
        };
        match words.as_slice() {
            [] => Ok(WhyQuestion::Next),
            [word @ ("task" | "handler")] => Err(unnamed(word)),
            ["check"] => Ok(WhyQuestion::Check),
            ["run"] => Ok(WhyQuestion::Run(None)),
            [run] if is_run_id(run) => Ok(WhyQuestion::Run(Some((*run).to_owned()))),
            [id] | ["task", id] => task(id),
            ["run", run] => Ok(WhyQuestion::Run(Some((*run).to_owned()))),
            ["handler", id] => Ok(WhyQuestion::Handler((*id).to_owned())),
            [word, ..] => Err(Failure::usage(format!("{word:?} is none of task, run and handler"))),
        }
    }
}

/// Says whether a word looks like the id of a run, or the beginning of one.
fn is_run_id(word: &str) -> bool {
    let (date, rest) = word.split_at_checked(8).unwrap_or_default();
    !date.is_empty() && date.bytes().all(|byte| byte.is_ascii_digit()) && rest.starts_with('T')
}

/// The form of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ReportFormat {
    /// One page that needs nothing else
    Html,
    /// Text for a pull request
    Md,
    /// JSON: what --json has as its data
    Json,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  samuel run report --format html -o run.html\n  samuel run report | gh pr create \
                  --body-file - --title Parser"
)]
pub(crate) struct ReportArgs {
    /// The run [default: the one that is under way, else the last]
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// The form [default: that of the file's ending, else md]
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub(crate) format: Option<ReportFormat>,
    /// Write it to this file, which is replaced
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

impl ReportArgs {
    /// Returns the form that is wanted.
    pub(crate) fn form(&self) -> Result<ReportFormat, Failure> {
        if let Some(format) = self.format {
            return Ok(format);
        }
        let ending = self.output.as_ref().and_then(|path| path.extension()?.to_str());
        match ending {
            Some("html" | "htm") => Ok(ReportFormat::Html),
            Some("json") => Ok(ReportFormat::Json),
            None | Some("md" | "markdown" | "txt") => Ok(ReportFormat::Md),
            Some(other) => {
                let failure =
                    Failure::usage(format!("no report has the form of a file that ends with .{other}"));
                Err(failure.advise("End its name with .md, .html or .json, or say the form with --format."))
            }
        }
    }
}
