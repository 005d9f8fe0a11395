//! The conversion: which form a PRD has, and its tasks.

use std::{
    ops::Range,
    path::{Path, PathBuf},
};

use serde::Serialize;

use super::block::{self, Block};
use super::draft::{Draft, Reading};
use super::error::PrdError;
use super::remark::{Remark, RemarkKind, Remarks};
use super::source::{Document, Place, Source};
use super::{about, checklist, heading, resolve, section};
use crate::model::Task;

/// Where the tasks of a conversion come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// The checklists of the companion.
    Companion,
    /// Numbered headings in task sections of the PRD.
    Headings,
    /// The checklists of the PRD.
    Checklist,
    /// Nowhere: there are none.
    None,
}

/// What a PRD says.
#[derive(Clone, Debug, PartialEq)]
pub struct Conversion {
    /// The tasks, in the order of the document. Ids are unique, parents and
    /// dependencies are among them.
    pub tasks: Vec<Task>,
    /// The name of the project, from the PRD's title; never empty unless the
    /// path has no name either.
    pub name: String,
    /// The description of the project, Markdown; may be empty.
    pub description: String,
    /// Where the tasks come from.
    pub form: Form,
    /// What the author should know, in the order of the lines.
    pub warnings: Vec<Remark>,
    /// What must be corrected before the tasks are used, in the order of the
    /// lines.
    pub errors: Vec<Remark>,
}

impl Conversion {
    /// Returns the conversion unless it has errors.
    ///
    /// # Errors
    /// Returns [`PrdError::Invalid`] with the errors; `path` is the PRD's.
    pub fn require_valid(self, path: impl Into<PathBuf>) -> Result<Self, PrdError> {
        if self.errors.is_empty() {
            Ok(self)
        } else {
            Err(PrdError::Invalid { path: path.into(), errors: self.errors })
        }
    }
}

/// Converts a PRD, and the companion that belongs to it, into tasks.
///
/// The companion's checklists win; without any, the headings of the PRD's task
/// sections, then the checklists there, then those anywhere in the PRD.
/// Everything that is odd but usable is a warning, and what is not is an error
/// of the conversion, each with its line. `now` becomes the time at which the
/// tasks were added.
///
/// # Errors
/// Returns [`PrdError`] for a document that is refused as a whole: too large,
/// too many tasks, nested too deep.
///
/// ```
/// use samuel_core::prd::{Document, convert};
///
/// let prd = Document::new("prd-notes.md", "# PRD: Notes\n\n## Tasks\n\n### 1 Store notes\n\nIn one file.\n");
/// let conversion = convert(&prd, None, jiff::Timestamp::UNIX_EPOCH)?;
///
/// assert_eq!(conversion.name, "Notes");
/// assert_eq!(conversion.tasks[0].title, "Store notes");
/// assert_eq!(conversion.tasks[0].description, "In one file.");
/// # Ok::<(), samuel_core::prd::PrdError>(())
/// ```
pub fn convert(
    prd: &Document,
    companion: Option<&Document>,
    now: jiff::Timestamp,
) -> Result<Conversion, PrdError> {
    let source = Source::new(prd)?;
    let blocks = block::parse(&source)?;
    let sections = section::find(&blocks);
    let name = about::name(&source, &blocks, &sections);
    let description = about::description(&source, &blocks, &sections);

    let mut found = match companion {
        Some(companion) => from_companion(companion, now)?,
        None => Found::nothing(),
    };
    if found.tasks.is_none() {
        let Found { tasks, form, warnings, errors } = from_prd(&source, &blocks, &sections, now)?;
        found.warnings.extend(warnings);
        found.errors.extend(errors);
        (found.tasks, found.form) = (tasks, form);
    }
    let Found { tasks, form, warnings, errors } = found;
    Ok(Conversion { tasks: tasks.unwrap_or_default(), name, description, form, warnings, errors })
}

/// Returns where the companion of a PRD may be, the likeliest first.
///
/// For `prd-foo.md` and for `foo.md` these are `tasks-foo.md` and
/// `tasks-prd-foo.md` in the same directory. Looking is left to the caller.
pub fn companion_name(prd: &Path) -> Vec<PathBuf> {
    let Some(stem) = prd.file_stem().and_then(|stem| stem.to_str()) else { return Vec::new() };
    let name = stem.strip_prefix("prd-").filter(|name| !name.is_empty()).unwrap_or(stem);
    let candidates = [format!("tasks-{name}.md"), format!("tasks-prd-{name}.md")];
    candidates.iter().map(|file| prd.with_file_name(file)).collect()
}

/// The tasks of one document.
struct Found {
    /// Nothing if another document must be asked.
    tasks: Option<Vec<Task>>,
    form: Form,
    warnings: Vec<Remark>,
    errors: Vec<Remark>,
}

impl Found {
    fn nothing() -> Self {
        Self { tasks: None, form: Form::None, warnings: Vec::new(), errors: Vec::new() }
    }

    fn new(form: Form, drafts: Vec<Draft>, mut remarks: Remarks, now: jiff::Timestamp) -> Self {
        let tasks = resolve::tasks(drafts, &mut remarks, now);
        let (warnings, errors) = remarks.finish();
        Self { tasks: Some(tasks), form, warnings, errors }
    }
}

fn from_companion(companion: &Document, now: jiff::Timestamp) -> Result<Found, PrdError> {
    let source = Source::new(companion)?;
    let blocks = block::parse(&source)?;
    let mut remarks = Remarks::new(&source);
    let mut reading = Reading::new(&source, &mut remarks);
    checklist::read_all(&mut reading, &blocks)?;
    let drafts = reading.drafts;
    if drafts.is_empty() {
        let message = "no checklist lines such as \"- [ ] 1.1 Title\"; the tasks are taken from the PRD";
        remarks.warn(RemarkKind::EmptyCompanion, Place::START, message);
        let (warnings, errors) = remarks.finish();
        return Ok(Found { tasks: None, form: Form::None, warnings, errors });
    }
    Ok(Found::new(Form::Companion, drafts, remarks, now))
}

fn from_prd(
    source: &Source<'_>,
    blocks: &[Block],
    sections: &[Range<usize>],
    now: jiff::Timestamp,
) -> Result<Found, PrdError> {
    for attempt in [Attempt::Headings, Attempt::SectionChecklists, Attempt::AllChecklists] {
        // Each attempt has its own remarks: what one without tasks had to say
        // is about no task.
        let mut remarks = Remarks::new(source);
        let mut reading = Reading::new(source, &mut remarks);
        match attempt {
            Attempt::Headings => heading::read(&mut reading, blocks, sections)?,
            Attempt::SectionChecklists => checklist::read_sections(&mut reading, blocks, sections)?,
            Attempt::AllChecklists => checklist::read_all(&mut reading, blocks)?,
        }
        let drafts = reading.drafts;
        if !drafts.is_empty() {
            return Ok(Found::new(attempt.form(), drafts, remarks, now));
        }
    }
    let mut remarks = Remarks::new(source);
    warn_of_nothing(source, blocks, sections, &mut remarks);
    Ok(Found::new(Form::None, Vec::new(), remarks, now))
}

/// A form to look for in a PRD.
#[derive(Clone, Copy)]
enum Attempt {
    Headings,
    SectionChecklists,
    AllChecklists,
}

impl Attempt {
    fn form(self) -> Form {
        match self {
            Self::Headings => Form::Headings,
            Self::SectionChecklists | Self::AllChecklists => Form::Checklist,
        }
    }
}

/// Says what was looked for, and what came closest.
fn warn_of_nothing(source: &Source<'_>, blocks: &[Block], sections: &[Range<usize>], remarks: &mut Remarks) {
    let titles: Vec<String> = section::TITLES.iter().map(|title| format!("\"{title}\"")).collect();
    let looked_for = format!(
        "no tasks found; looked for headings such as \"### 1.1 Title\" in a section titled {}, \
         and for checklist lines such as \"- [ ] 1.1 Title\"",
        titles.join(", ")
    );
    let (place, message) = match heading::outside(blocks, sections).next() {
        Some(heading) => (
            source.place(heading.range.start),
            format!("{looked_for}; this heading looks like a task but is in no such section"),
        ),
        None => (Place::START, looked_for),
    };
    remarks.warn(RemarkKind::NoTasks, place, message);
}
