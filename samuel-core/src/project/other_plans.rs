//! The plans of a project that are other methodologies'.

use std::{fmt, path::PathBuf};

use serde::{Deserialize, Serialize};

use super::Project;
use crate::{
    config::check_methodology_name,
    model::TaskCounts,
    state::{RunDir, Stores},
    text::counted,
};

/// How many entries of `.samuel/run` are looked at.
const MAX_ENTRIES: usize = 1_000;
/// How many other plans are told of.
const MAX_PLANS: usize = 32;

/// A plan of a project that is not that of the methodology in use.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OtherPlan {
    /// The methodology it was made for; the default one's name where it names none.
    pub methodology: String,
    /// The plan, relative to the project.
    pub path: PathBuf,
    /// How many tasks stand where; nothing where it cannot be read.
    pub tasks: Option<TaskCounts>,
    /// Why it cannot be read.
    pub problem: Option<String>,
}

impl fmt::Display for OtherPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { methodology, path, tasks, problem } = self;
        write!(f, "another plan, of {methodology}, is at {}: ", path.display())?;
        match (tasks, problem) {
            (Some(tasks), _) => {
                write!(f, "{} of {} completed", tasks.completed, counted(tasks.total, "task"))
            }
            (None, problem) => f.write_str(problem.as_deref().unwrap_or("it cannot be read")),
        }
    }
}

impl Project {
    /// Returns the plans of other methodologies, by path: that in `.samuel/run`, and those in
    /// directories below it; at most 32. Changes nothing.
    pub fn other_plans(&self) -> Vec<OtherPlan> {
        let (first, used) = (RunDir::new(self.root()), self.run_dir());
        let entries = first.root().list(first.path(), MAX_ENTRIES).unwrap_or_default();
        let names = entries.iter().filter_map(|entry| entry.name.to_str());
        let mut own: Vec<&str> = names.filter(|name| check_methodology_name(name).is_ok()).collect();
        own.sort_unstable();
        let of_first = first.named_methodology().unwrap_or_else(|| self.config().default_methodology.clone());
        let own = own.into_iter().map(|name| (name.to_owned(), RunDir::for_methodology(self.root(), name)));
        let others = std::iter::once((of_first, first.clone())).chain(own);
        let others = others.filter(|(_, dir)| *dir != used && dir.has_plan());
        others.take(MAX_PLANS).map(|(methodology, dir)| self.other_plan(methodology, dir)).collect()
    }

    fn other_plan(&self, methodology: String, dir: RunDir) -> OtherPlan {
        let path = dir.prd();
        let path = path.strip_prefix(self.root()).unwrap_or(&path).to_owned();
        let loaded = Stores::in_files(dir, &methodology, self.clock(), None).plan().load();
        let (tasks, problem) = match loaded {
            Ok(loaded) => (Some(TaskCounts::of(&loaded.plan)), None),
            Err(error) => (None, Some(error.to_string())),
        };
        OtherPlan { methodology, path, tasks, problem }
    }
}
