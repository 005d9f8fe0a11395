//! The conversion: which form a PRD has, and its tasks.

use std::path::{Path, PathBuf};

use super::about;
use super::checklist;
use super::content::Content;
use super::draft::{Drafts, Reading, Use};
use super::error::PrdError;
use super::form::{Confidence, Form, READERS, Reader};
use super::heading;
use super::remark::{Remark, RemarkKind, Remarks};
use super::resolve;
use super::source::{Document, Place, Source};
use super::sweep::sweep;
use samuel_model::Task;

/// How many forms are named where none fits.
const SHOWN_NEAREST: usize = 3;

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
    /// The forms that come nearest, the nearest first; only where there are no
    /// tasks.
    pub nearest: Vec<Form>,
    /// Those among [`nearest`](Self::nearest) as which the PRD has tasks, if it is forced.
    pub readable: Vec<Form>,
}

impl Conversion {
    /// Returns the conversion unless it has no tasks.
    ///
    /// # Errors
    /// Returns [`PrdError::NoTasks`]; `path` is the PRD's.
    pub fn require_tasks(self, path: impl Into<PathBuf>) -> Result<Self, PrdError> {
        if !self.tasks.is_empty() || !self.errors.is_empty() {
            return Ok(self);
        }
        let told = self.warnings.iter().find(|remark| remark.kind == RemarkKind::NoTasks);
        let told = told.or(self.warnings.first());
        let (line, reason) =
            told.map_or((1, "no tasks found".to_owned()), |remark| (remark.line, remark.message.clone()));
        let Self { nearest, readable, .. } = self;
        Err(PrdError::NoTasks { path: path.into(), line, reason, nearest, readable })
    }

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
/// The companion's checklists win; without any, the PRD is read in the
/// [`Form`] that it is surest to have. Everything that is odd but usable is a
/// warning, and what is not is an error of the conversion, each with its line.
/// `now` becomes the time at which the tasks were added.
///
/// # Errors
/// Returns [`PrdError`] for a document that is refused as a whole: too large,
/// too many tasks, nested too deep, no text.
///
/// ```
/// use samuel_prd::{Document, convert};
///
/// let prd = Document::new("prd-notes.md", "# PRD: Notes\n\n## Tasks\n\n### 1 Store notes\n\nIn one file.\n");
/// let conversion = convert(&prd, None, jiff::Timestamp::UNIX_EPOCH)?;
///
/// assert_eq!(conversion.name, "Notes");
/// assert_eq!(conversion.tasks[0].title, "Store notes");
/// assert_eq!(conversion.tasks[0].description, "In one file.");
/// # Ok::<(), samuel_prd::PrdError>(())
/// ```
pub fn convert(
    prd: &Document,
    companion: Option<&Document>,
    now: jiff::Timestamp,
) -> Result<Conversion, PrdError> {
    convert_as(None, prd, companion, now)
}

/// Converts a PRD as a form, whatever it looks like; without one as
/// [`convert`] does.
///
/// # Errors
/// Returns what [`convert`] does, and [`PrdError::NoCompanion`] for
/// [`Form::Companion`] without one.
///
/// ```
/// use samuel_prd::{Document, Form, convert_as};
///
/// let prd = Document::new("a.md", "- [ ] one\n\n1. two\n");
/// let conversion = convert_as(Some(Form::NumberedList), &prd, None, jiff::Timestamp::UNIX_EPOCH)?;
///
/// assert_eq!(conversion.tasks[0].title, "two");
/// # Ok::<(), samuel_prd::PrdError>(())
/// ```
pub fn convert_as(
    form: Option<Form>,
    prd: &Document,
    companion: Option<&Document>,
    now: jiff::Timestamp,
) -> Result<Conversion, PrdError> {
    convert_with_uses(form, prd, companion, now).map(|(conversion, _)| conversion)
}

/// Converts a PRD, and says what became of each line of the document that has
/// the tasks.
pub(super) fn convert_with_uses(
    form: Option<Form>,
    prd: &Document,
    companion: Option<&Document>,
    now: jiff::Timestamp,
) -> Result<(Conversion, Vec<Use>), PrdError> {
    let content = Content::parse(Source::new(prd)?)?;
    let mut before = Vec::new();
    let mut found = None;
    if matches!(form, None | Some(Form::Companion)) {
        match companion {
            Some(companion) => match from_companion(companion)? {
                Ok(read) => found = Some(read),
                Err(warning) => before.push(warning),
            },
            None if form.is_some() => return Err(PrdError::NoCompanion { path: prd.path.clone() }),
            None => {}
        }
    }
    let found = match found {
        Some(found) => found,
        None => from_prd(form, &content)?,
    };
    let first_task = found.drafts.first().filter(|_| found.form != Form::Companion);
    let (name, description) = about::project(&content, first_task.map(|draft| draft.place.line));
    // From here on the document only takes room.
    drop(content);
    let Found { form, drafts, mut remarks, nearest, readable, uses } = found;
    let placed = resolve::tasks(drafts, &mut remarks, now);
    let tasks = placed.into_iter().map(|(task, _)| task).collect();
    let (mut warnings, errors) = remarks.finish();
    warnings.splice(..0, before);
    Ok((Conversion { tasks, name, description, form, warnings, errors, nearest, readable }, uses))
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

/// What was found in one document.
pub(super) struct Found {
    form: Form,
    pub(super) drafts: Drafts,
    pub(super) remarks: Remarks,
    /// The forms that come nearest, if there are no tasks.
    nearest: Vec<Form>,
    /// Those among them as which the document has tasks.
    readable: Vec<Form>,
    /// For each line what became of it.
    pub(super) uses: Vec<Use>,
}

/// Reads a companion; one without tasks gives a warning.
fn from_companion(companion: &Document) -> Result<Result<Found, Remark>, PrdError> {
    let content = Content::parse(Source::new(companion)?)?;
    if let Some(found) = read(&Companion, &content)? {
        return Ok(Ok(found));
    }
    let message = "no checklist lines such as \"- [ ] 1.1 Title\"; the tasks are taken from the PRD";
    Ok(Err(Remark::warning(companion.path.clone(), RemarkKind::EmptyCompanion, message)))
}

/// Finds the tasks of a PRD without a companion.
pub(super) fn from_prd(form: Option<Form>, content: &Content<'_>) -> Result<Found, PrdError> {
    let ranked = ranked(content);
    for (reader, confidence) in &ranked {
        let is_asked_for = match form {
            Some(form) => reader.form() == form,
            None => *confidence >= Confidence::RECOGNISED,
        };
        if is_asked_for && let Some(found) = read(*reader, content)? {
            return Ok(found);
        }
    }
    let mut remarks = Remarks::new(&content.source);
    warn_of_nothing(form, content, &mut remarks);
    let others = ranked.into_iter().map(|(reader, _)| reader).filter(|reader| Some(reader.form()) != form);
    let mut readable: Vec<Form> = Vec::new();
    let mut nearest: Vec<Form> = Vec::new();
    for reader in others {
        // What is advised has to help.
        let is_readable = readable.len() < SHOWN_NEAREST && matches!(read(reader, content), Ok(Some(_)));
        if is_readable { &mut readable } else { &mut nearest }.push(reader.form());
    }
    let nearest = readable.iter().copied().chain(nearest).take(SHOWN_NEAREST).collect();
    Ok(Found { form: Form::None, drafts: Vec::new(), remarks, nearest, readable, uses: Vec::new() })
}

/// Returns the readers, the surest first.
fn ranked(content: &Content<'_>) -> Vec<(&'static dyn Reader, Confidence)> {
    let mut ranked: Vec<(&dyn Reader, Confidence)> =
        READERS.iter().map(|reader| (*reader, reader.recognise(content))).collect();
    ranked.sort_by_key(|(_, confidence)| std::cmp::Reverse(*confidence));
    ranked
}

/// Reads a document with one reader, and tells what it left out. Returns
/// nothing if there is no task: what was odd then is about none.
fn read(reader: &dyn Reader, content: &Content<'_>) -> Result<Option<Found>, PrdError> {
    let mut remarks = Remarks::new(&content.source);
    let mut reading = Reading::new(&content.source, &mut remarks);
    reader.read(&mut reading, content)?;
    if reading.drafts.is_empty() {
        return Ok(None);
    }
    sweep(&mut reading, content);
    let (drafts, uses) = reading.into_parts();
    Ok(Some(Found { form: reader.form(), drafts, remarks, nearest: Vec::new(), readable: Vec::new(), uses }))
}

/// What reads a companion.
struct Companion;

impl Reader for Companion {
    fn form(&self) -> Form {
        Form::Companion
    }

    fn recognise(&self, _: &Content<'_>) -> Confidence {
        Confidence::NONE
    }

    fn read(&self, reading: &mut Reading<'_, '_>, content: &Content<'_>) -> Result<(), PrdError> {
        checklist::Rules::default().read_all(reading, &content.blocks)
    }
}

/// Says what was looked for, and what came closest.
fn warn_of_nothing(form: Option<Form>, content: &Content<'_>, remarks: &mut Remarks) {
    let looked_for = match form {
        Some(form) => format!("no tasks found as {form}; looked for {}", form.description()),
        None => "no tasks found; looked for headings such as \"### 1.1 Title\" in a section titled \"tasks\", \
                 \"implementation\", \"implementation plan\", \"steps\" or \"work items\", for checklist lines such as \
                 \"- [ ] 1.1 Title\", and for the forms of every other tool that is known"
            .to_owned(),
    };
    let (place, message) = match heading::outside(&content.blocks, &content.sections).next() {
        Some(heading) if form.is_none() => (
            content.source.place(heading.range.start),
            format!("{looked_for}; this heading looks like a task but is in no such section"),
        ),
        _ => (Place::START, looked_for),
    };
    remarks.warn(RemarkKind::NoTasks, place, message);
}
