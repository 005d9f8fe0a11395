//! What happened in runs: `runs`, `log`, `why`, `report`.

use std::{
    fs::{self, Permissions},
    io::{self, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::Path,
};

use samuel_core::{
    history::{History, HistoryError, LogEntry, RunKind, event_line},
    model::ErrorCode,
    project::Project,
    text::counted,
};

use super::block_on_or_leave;
use crate::{
    args::{Global, ReportArgs, ReportFormat, RunLogArgs, WhyArgs},
    failure::Failure,
    host::Host,
    render::{run_table, safe, safe_json, safe_words, time_of_day, why_text},
    reply::Reply,
    terminal::{self, Stream},
};

/// Lists the runs that are recorded.
pub(crate) fn runs(project: &Project) -> Result<Reply, Failure> {
    let runs = History::of(project).runs()?;
    let text = run_table(&runs);
    Ok(Reply::new(&runs, text))
}

/// Tells the events of a run, and of one that is under way those to come.
pub(crate) fn log(project: &Project, args: &RunLogArgs, global: &Global) -> Result<Reply, Failure> {
    let history = History::of(project);
    let run = history.resolve(args.run.as_deref())?;
    let (filter, json) = (args.filter(), global.json);
    let mut told = 0_u64;
    // Says whether to go on.
    let mut tell = |entry: &LogEntry| {
        let line = if filter.takes(entry) { line_of(entry, json)? } else { None };
        let Some(line) = line else { return Ok::<_, Failure>(true) };
        told += 1;
        terminal::show_on(Stream::Out, &line).map_err(|error| {
            Failure::new(ErrorCode::INPUT_IO, "the events cannot be written to stdout")
                .because(&error)
                .advise("Free some space, or send the output elsewhere.")
        })
    };
    let (unreadable, is_cut_off) = if args.tail {
        let mut tail = history.tail(&run);
        block_on_or_leave(async {
            while let Some(entry) = tail.next().await? {
                // Nobody reads it any more.
                if !tell(&entry)? {
                    return Ok(());
                }
            }
            Ok::<_, Failure>(tail.check_told()?)
        })??;
        (tail.unreadable(), tail.is_cut_off())
    } else {
        let mut entries = history.entries(&run);
        while let Some(entry) = entries.next_entry()?
            && tell(&entry)?
        {}
        entries.check_told()?;
        (entries.unreadable(), false)
    };
    let unread = format!("{} of the record cannot be read", counted(unreadable, "line"));
    let gone = format!("the loop of run {} is gone, and no end of it is recorded", safe(&run));
    let warnings = [(unreadable > 0, unread), (is_cut_off, gone)];
    let warnings = warnings.into_iter().filter_map(|(is_so, warning)| is_so.then_some(warning));
    let data = serde_json::json!({ "run": run, "events": told });
    if told == 0 {
        let message = format!("run {run} has no event{}", args.wanted());
        let help = "See all of them with `samuel run log`, the tasks with `samuel run tasks` and the runs with \
                    `samuel run runs`.";
        let failure = Failure::new(ErrorCode::RECORD_NOT_FOUND, message).advise(help);
        return Err(failure.detail(warnings).with_data(data));
    }
    Ok(Reply::new(data, "").warn(warnings))
}

/// Returns what is printed of an event, where there is something to print.
fn line_of(entry: &LogEntry, json: bool) -> Result<Option<String>, Failure> {
    let line = match json {
        true => {
            let line = serde_json::to_string(&entry.record);
            let line = line
                .map_err(|error| Failure::internal("an event cannot be written as JSON").because(&error))?;
            safe_json(&line).into_owned()
        }
        false => {
            let Some(words) = event_line(&entry.record.event) else { return Ok(None) };
            let inside = if entry.iteration.is_some() { "  " } else { "" };
            let lane = entry.record.doer().map(|lane| format!("[{lane}] ")).unwrap_or_default();
            format!(
                "{} {:>6}  {lane}{inside}{}",
                time_of_day(entry.record.at),
                entry.record.seq,
                safe_words(&words)
            )
        }
    };
    Ok(Some(line + "\n"))
}

/// Says why something is as it is.
pub(crate) fn why(project: &Project, args: WhyArgs) -> Result<Reply, Failure> {
    let why = History::of(project).why(&args.question()?)?;
    let text = why_text(&why);
    let skipped = why.unread.iter().map(|unread| {
        let (run, problem) = (safe(&unread.run), safe_words(&unread.problem));
        format!("the answer leaves out what cannot be read of run {run}: {problem}")
    });
    Ok(Reply::new(&why, text).warn(skipped))
}

/// Makes a page of a run.
pub(crate) fn report(
    project: &Project,
    args: &ReportArgs,
    global: &Global,
    host: &Host,
) -> Result<Reply, Failure> {
    let history = History::of(project);
    let page = history.report(&history.resolve(args.run.as_deref())?)?;
    let before = match &args.run {
        // A landing never makes iterations.
        None if page.run.begun().0 == 0 && page.run.kind != RunKind::Landing => {
            history.last_at_work_before(&page.run.run)
        }
        _ => None,
    };
    let before = before.map(|before| {
        let run = safe(&page.run.run);
        format!(
            "run {run} made no iteration; `samuel run report {}` shows the last one that did",
            safe(&before)
        )
    });
    let text = |form| match form {
        ReportFormat::Html => page.to_html(),
        ReportFormat::Md => page.to_markdown(),
        ReportFormat::Json => serde_json::to_string_pretty(&page).unwrap_or_default() + "\n",
    };
    let Some(path) = &args.output else {
        let form = if global.json { ReportFormat::Json } else { args.form()? };
        return Ok(Reply::new(&page, text(form)).for_a_program().warn(before));
    };
    let path = host.absolute(path)?;
    let run_dir = project.run_dir();
    if is_within(&path, run_dir.path()) {
        let message = format!("{} is among what Samuel keeps of the run itself", path.display());
        let advice = format!("Name a file outside of {}.", run_dir.path().display());
        return Err(Failure::usage(message).advise(advice));
    }
    put(&path, text(args.form()?).as_bytes()).map_err(|error| {
        Failure::new(ErrorCode::INPUT_IO, format!("{} cannot be written", path.display()))
            .because(&error)
            .advise("Check that the directory exists, is writable and has space left.")
    })?;
    let told = format!("wrote {}\n", path.display());
    Ok(Reply::new(&page, told).warn(before))
}

/// Says whether a file is, or would be, below a directory, whatever links lead there.
fn is_within(path: &Path, directory: &Path) -> bool {
    let there = path.canonicalize().or_else(|_| path.parent().unwrap_or(path).canonicalize());
    let directory = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    there.is_ok_and(|there| there.starts_with(directory))
}

/// Puts a file in the place of the one that is there, once it is written whole. What is no file, such as a
/// pipe, is written to.
fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let directory = path.parent().filter(|_| path.is_file() || !path.exists());
    let Some(directory) = directory else { return fs::write(&path, bytes) };
    // As of any new file, the umask takes its part away.
    let mut new =
        tempfile::Builder::new().permissions(Permissions::from_mode(0o666)).tempfile_in(directory)?;
    new.write_all(bytes)?;
    new.persist(&path).map_err(|error| error.error)?;
    Ok(())
}

impl From<HistoryError> for Failure {
    fn from(error: HistoryError) -> Self {
        Self::of(&error)
    }
}
