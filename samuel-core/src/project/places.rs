//! The places that templates and handlers are told of.

use std::path::Path;

use crate::{
    context::PromptContext,
    state::{Artifact, RunDir},
};

/// Names a root and the files of a run in a prompt context. `dir` is the run directory below that root.
pub(crate) fn name_places(context: &mut PromptContext, root: &Path, dir: &RunDir) {
    let show = |path: &Path| path.display().to_string();
    context.project.root = show(root);
    context.paths.samuel_dir = show(&root.join(".samuel"));
    context.paths.run_dir = show(dir.path());
    context.paths.prd_file = show(&dir.prd());
    context.paths.progress_file = show(&dir.progress());
    context.paths.task_context_file = show(&dir.artifact(Artifact::TaskContext));
    context.paths.progress_context_file = show(&dir.artifact(Artifact::ProgressContext));
    context.paths.snapshot_file = show(&dir.artifact(Artifact::ProjectSnapshot));
}
