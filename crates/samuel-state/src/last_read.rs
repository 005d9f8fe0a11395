//! What the plan's file said last.
//!
//! A loop reads and changes its plan many times, and mostly nobody else does
//! in between. [`LastRead`] keeps the bytes of the file with what they say, so
//! that the same bytes are not decoded again. It trusts nothing but the bytes:
//! the file is read each time.

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use super::{
    LoadedPlan, Mutation, StateDiagnostic, StateError, TaskChange, files,
    plan_file::{self, Document, Lines, Pieces},
};
use samuel_fs::Root;

/// The plan's file: its bytes and what they say.
#[derive(Debug)]
pub(super) struct PlanFile {
    pub(super) content: Vec<u8>,
    pub(super) document: Document,
    pub(super) diagnostics: Vec<StateDiagnostic>,
}

/// The file as it was last read or written.
#[derive(Debug, Default)]
pub(super) struct LastRead(Mutex<Option<PlanFile>>);

impl LastRead {
    /// Reads what the file says. What was kept stays, for others who ask in this moment.
    pub(super) fn loaded(&self, root: &Root, path: &Path) -> Result<LoadedPlan, StateError> {
        let content = content_of(root, path)?;
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = kept.as_ref().filter(|kept| kept.content == content) {
            return Ok(kept.loaded());
        }
        drop(kept);
        let (document, diagnostics) = plan_file::decode(path, &content)?;
        let file = PlanFile { content, document, diagnostics };
        let loaded = file.loaded();
        self.keep(file);
        Ok(loaded)
    }

    /// Reads the file. What was kept is handed over, not copied.
    pub(super) fn read(&self, root: &Root, path: &Path) -> Result<PlanFile, StateError> {
        self.read_with(root, path, |_| None)
    }

    /// Reads of the file what a mutation is about, unless the whole was kept.
    pub(super) fn read_for(
        &self,
        root: &Root,
        path: &Path,
        mutation: &Mutation,
    ) -> Result<PlanFile, StateError> {
        self.read_with(root, path, |content| plan_file::read_excerpt(path, content, &mutation.rows()?))
    }

    /// Reads the file, as a whole if `excerpt` has nothing.
    fn read_with(
        &self,
        root: &Root,
        path: &Path,
        excerpt: impl FnOnce(&[u8]) -> Option<Document>,
    ) -> Result<PlanFile, StateError> {
        let content = content_of(root, path)?;
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(kept) = kept.filter(|kept| kept.content == content) {
            return Ok(kept);
        }
        let (document, diagnostics) = match excerpt(&content) {
            Some(document) => (document, Vec::new()),
            None => plan_file::decode(path, &content)?,
        };
        Ok(PlanFile { content, document, diagnostics })
    }

    /// Keeps what the file says now.
    pub(super) fn keep(&self, file: PlanFile) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(file);
    }
}

fn content_of(root: &Root, path: &Path) -> Result<Vec<u8>, StateError> {
    files::read(root, path)?.ok_or_else(|| StateError::NotInitialised { path: path.to_owned() })
}

impl PlanFile {
    pub(super) fn loaded(&self) -> LoadedPlan {
        let Document { plan, unparsed, .. } = &self.document;
        LoadedPlan {
            revision: plan.revision,
            plan: Arc::clone(plan),
            diagnostics: self.diagnostics.clone(),
            unparsed: unparsed.clone(),
        }
    }

    /// Writes a document that differs by one change from the file.
    pub(super) fn encode_changed(&self, change: &TaskChange) -> Result<Pieces<'_>, StateError> {
        // Rows in a damaged text need not be those of the tasks in turn.
        let is_in_turn = !matches!(change, TaskChange::Several { .. });
        let is_sound = self.diagnostics.is_empty() && !self.document.is_regrouped && is_in_turn;
        let text = is_sound.then(|| str::from_utf8(&self.content).ok()).flatten();
        match text.and_then(Lines::find) {
            Some(read) => plan_file::encode_changed(&self.document, read, change),
            None => Ok(vec![plan_file::encode(&self.document)?.into()]),
        }
    }

    /// Says whether the text that [`encode_changed`](Self::encode_changed)
    /// writes is sure to decode to this document and nothing else.
    pub(super) fn says_all(&self) -> bool {
        self.document.is_whole() && self.diagnostics.is_empty()
    }
}
