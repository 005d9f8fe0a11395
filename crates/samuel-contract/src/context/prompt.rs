//! The prompt context: what templates and handlers may read.
//!
//! [`PromptContext`] has eleven groups, with the fields that docs/hooks.md lists. In templates and JSON they are spelled in
//! `PascalCase` (`.Iteration.TaskID`), in Rust and Python in `snake_case`. Every
//! field is always there, so that a template can ask for it without a warning:
//! text that is not known is empty, and what may be missing as a whole
//! (`Config.Pilot`, `State.NextTask`, `State.Parent`) is null then.
//!
//! One context is made per iteration and shared; a [`ContextView`] is that base
//! together with what plugins contributed so far. Who fills it is the engine,
//! who may contribute under which name is decided by dispatch. It never holds
//! secrets, file contents or diffs.

use serde::{Deserialize, Serialize, Serializer, ser::SerializeStruct};
use std::{collections::BTreeMap, sync::Arc};

use super::groups::*;
use crate::payload::{CheckFailure, SuggestedAbility, SuggestedDocument, TaskBrief};

/// What plugins contributed: a namespace and its data, a JSON object.
pub type PluginData = BTreeMap<String, serde_json::Map<String, serde_json::Value>>;

/// Everything a template or a handler may read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct PromptContext {
    /// The running Samuel.
    pub samuel: SamuelVars,
    /// The project the loop works on.
    pub project: ProjectVars,
    /// The methodology that is run.
    pub methodology: MethodologyVars,
    /// The iteration.
    pub iteration: IterationVars,
    /// The frozen configuration of the run, as far as prompts need it.
    pub config: ConfigVars,
    /// The rules that work must keep to.
    pub guardrails: GuardrailVars,
    /// Where files are.
    pub paths: PathVars,
    /// How far the plan is.
    pub state: StateVars,
    /// What kind of iteration this is.
    pub mode: ModeVars,
    /// Which handlers are registered.
    pub hooks: HookVars,
    /// What plugins contributed, by namespace.
    pub plugins: PluginData,
}

impl PromptContext {
    /// The names of the groups, in the order they are written.
    pub const GROUPS: [&str; 11] = [
        "Samuel",
        "Project",
        "Methodology",
        "Iteration",
        "Config",
        "Guardrails",
        "Paths",
        "State",
        "Mode",
        "Hooks",
        "Plugins",
    ];
}

impl Default for ContextLimits {
    fn default() -> Self {
        Self { max_learnings: 50, max_completed: 10, max_progress_lines: 500 }
    }
}

impl Default for GuardrailVars {
    fn default() -> Self {
        Self {
            max_function_lines: 50,
            max_file_lines: 300,
            require_tests: true,
            commit_convention: "conventional".to_owned(),
            branch_convention: String::new(),
            extra: Vec::new(),
        }
    }
}

impl From<TaskVars> for TaskBrief {
    fn from(task: TaskVars) -> Self {
        Self {
            id: task.id,
            title: task.title,
            priority: task.priority,
            complexity: task.complexity,
            description: task.description,
            files_to_modify: task.files_to_modify,
            files_to_create: task.files_to_create,
            depends_on: task.depends_on,
            acceptance: task.acceptance,
        }
    }
}

impl From<&CheckFailure> for FailedCheck {
    fn from(failure: &CheckFailure) -> Self {
        Self {
            command: failure.command.clone(),
            message: failure.message.clone(),
            exit_code: failure.exit_code,
            tail: failure.tail.clone(),
        }
    }
}

impl From<&SuggestedAbility> for Suggestion {
    fn from(ability: &SuggestedAbility) -> Self {
        Self {
            kind: SuggestionKind::Ability,
            name: ability.id.clone(),
            reason: ability.reason.clone(),
            confidence: ability.confidence,
        }
    }
}

impl From<&SuggestedDocument> for Suggestion {
    fn from(document: &SuggestedDocument) -> Self {
        Self {
            kind: SuggestionKind::Document,
            name: document.path.clone(),
            reason: document.reason.clone(),
            confidence: document.confidence,
        }
    }
}

/// Which handlers are registered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct HookVars {
    /// Hook points and the ids of their handlers, in the order they run.
    pub registered: BTreeMap<String, Vec<String>>,
}

/// A shared context and what plugins contributed to it so far.
///
/// Cloning is two reference counts. It is written as one [`PromptContext`]
/// whose `Plugins` are the base's with the contributions in front.
#[derive(Clone, Debug, PartialEq)]
pub struct ContextView {
    base: Arc<PromptContext>,
    plugins: Arc<PluginData>,
}

impl ContextView {
    /// Looks at a context before anything was contributed.
    pub fn new(base: Arc<PromptContext>) -> Self {
        let plugins = Arc::new(base.plugins.clone());
        Self { base, plugins }
    }

    /// Returns the shared context. Its own `plugins` lack the contributions;
    /// those are in [`plugins`](Self::plugins).
    pub fn base(&self) -> &PromptContext {
        &self.base
    }

    /// Returns what plugins contributed, by namespace.
    pub fn plugins(&self) -> &PluginData {
        &self.plugins
    }

    /// Adds to the data of a namespace, key by key; a later value replaces an
    /// earlier one. Views cloned before keep what they show.
    pub fn contribute(
        &mut self,
        namespace: &str,
        data: impl IntoIterator<Item = (String, serde_json::Value)>,
    ) {
        let plugins = Arc::make_mut(&mut self.plugins);
        plugins.entry(namespace.to_owned()).or_default().extend(data);
    }

    /// Says whether nothing was contributed to one view that the other lacks,
    /// because both still share their contributions.
    pub fn has_same_contributions(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.plugins, &other.plugins)
    }

    /// Puts the contributions onto another base: the same iteration's with a
    /// newer state, or the next one's.
    pub fn rebase(&self, base: Arc<PromptContext>) -> Self {
        let mut moved = Self::new(base);
        for (namespace, data) in self.plugins.iter() {
            moved.contribute(namespace, data.clone());
        }
        moved
    }

    /// Returns one group as JSON, by the name templates use, such as `State`.
    pub fn group(&self, name: &str) -> Option<serde_json::Value> {
        let base = &*self.base;
        let value = match name {
            "Samuel" => serde_json::to_value(&base.samuel),
            "Project" => serde_json::to_value(&base.project),
            "Methodology" => serde_json::to_value(&base.methodology),
            "Iteration" => serde_json::to_value(&base.iteration),
            "Config" => serde_json::to_value(&base.config),
            "Guardrails" => serde_json::to_value(&base.guardrails),
            "Paths" => serde_json::to_value(&base.paths),
            "State" => serde_json::to_value(&base.state),
            "Mode" => serde_json::to_value(&base.mode),
            "Hooks" => serde_json::to_value(&base.hooks),
            "Plugins" => serde_json::to_value(&*self.plugins),
            _ => return None,
        };
        Some(value.expect("the groups are plain data with text keys, which always become JSON"))
    }
}

impl Serialize for ContextView {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let base = &*self.base;
        let mut groups = serializer.serialize_struct("PromptContext", PromptContext::GROUPS.len())?;
        groups.serialize_field("Samuel", &base.samuel)?;
        groups.serialize_field("Project", &base.project)?;
        groups.serialize_field("Methodology", &base.methodology)?;
        groups.serialize_field("Iteration", &base.iteration)?;
        groups.serialize_field("Config", &base.config)?;
        groups.serialize_field("Guardrails", &base.guardrails)?;
        groups.serialize_field("Paths", &base.paths)?;
        groups.serialize_field("State", &base.state)?;
        groups.serialize_field("Mode", &base.mode)?;
        groups.serialize_field("Hooks", &base.hooks)?;
        groups.serialize_field("Plugins", &*self.plugins)?;
        groups.end()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failed set-up fails the test")]

    use super::*;
    use serde_json::{Value, json};

    /// A context in which every optional part is present.
    fn full() -> PromptContext {
        let task =
            CompletedTask { id: "1.10".to_owned(), title: "Parse".to_owned(), commit_sha: "abc".to_owned() };
        let failure = CheckFailure { exit_code: Some(1), ..CheckFailure::default() };
        let ability = SuggestedAbility { confidence: Some(0.5), ..SuggestedAbility::default() };
        let mut context = PromptContext::default();
        context.config.pilot = Some(PilotVars::default());
        context.state.next_task = Some(TaskVars::default());
        context.state.parent = Some(TaskGroup::default());
        context.state.siblings = vec![SiblingTask::default()];
        context.state.recent_completed = vec![task];
        context.state.last_failures = vec![FailedCheck::from(&failure)];
        context.state.suggestions = vec![Suggestion::from(&ability)];
        context.hooks.registered.insert("quality.check".to_owned(), vec!["default".to_owned()]);
        context
    }

    fn keys(value: &Value) -> Vec<&str> {
        value.as_object().unwrap().keys().map(String::as_str).collect()
    }

    #[test]
    fn names_are_those_of_the_contract() {
        let context = serde_json::to_value(full()).unwrap();
        assert_eq!(keys(&context), PromptContext::GROUPS);
        let expected = [
            ("/Samuel", "Version Binary"),
            ("/Project", "Name Description Root Branch Detected"),
            ("/Methodology", "Name Source"),
            ("/Iteration", "Number Max Type TaskID LastDiscoveryAt"),
            ("/Config", "Agent MaxIterations PauseSecs MaxConsecFails QualityChecks Pilot Context"),
            ("/Config/Pilot", "DiscoverInterval MaxDiscoveryTasks Focus"),
            ("/Config/Context", "MaxLearnings MaxCompleted MaxProgressLines"),
            (
                "/Guardrails",
                "MaxFunctionLines MaxFileLines RequireTests CommitConvention BranchConvention Extra",
            ),
            (
                "/Paths",
                "SamuelDir RunDir PRDFile SourcePRD ProgressFile TaskContextFile ProgressContextFile SnapshotFile \
                 AgentsMD",
            ),
            (
                "/State",
                "TotalTasks PendingTasks CompletedTasks InProgressTasks BlockedTasks SkippedTasks NextTask \
                 Parent Siblings RecentCompleted LastFailures Suggestions",
            ),
            (
                "/State/NextTask",
                "ID Title Priority Complexity Description FilesToModify FilesToCreate DependsOn Acceptance",
            ),
            ("/State/Parent", "ID Title Status Description Parts"),
            ("/State/Siblings/0", "ID Title Status"),
            ("/State/RecentCompleted/0", "ID Title CommitSHA"),
            ("/State/LastFailures/0", "Command Message ExitCode Tail"),
            ("/State/Suggestions/0", "Kind Name Reason Confidence"),
            ("/Mode", "IsDiscovery IsPilot Focus MaxNewTasks"),
            ("/Hooks", "Registered"),
        ];
        for (place, names) in expected {
            let names: Vec<&str> = names.split_whitespace().collect();
            assert_eq!(keys(context.pointer(place).unwrap()), names, "{place}");
        }
    }

    #[test]
    fn a_context_survives_json() {
        let text = serde_json::to_string(&full()).unwrap();
        assert_eq!(serde_json::from_str::<PromptContext>(&text).unwrap(), full());
        assert_eq!(serde_json::from_str::<PromptContext>("{}").unwrap(), PromptContext::default());
    }

    #[test]
    fn a_view_reads_as_its_base_with_the_contributions() {
        let base = Arc::new(full());
        let before = ContextView::new(Arc::clone(&base));
        let mut after = before.clone();
        after.contribute("python", [("Venv".to_owned(), json!(".venv"))]);
        after.contribute("python", [("PyVersion".to_owned(), json!("3.12"))]);

        let mut whole = full();
        let python = json!({"Venv": ".venv", "PyVersion": "3.12"});
        whole.plugins.insert("python".to_owned(), python.as_object().unwrap().clone());
        assert_eq!(serde_json::to_value(&after).unwrap(), serde_json::to_value(&whole).unwrap());
        assert_eq!(serde_json::to_value(&before).unwrap(), serde_json::to_value(&*base).unwrap());
    }

    #[test]
    fn a_group_is_the_same_alone_and_in_the_whole() {
        let mut view = ContextView::new(Arc::new(full()));
        view.contribute("api", [("Key".to_owned(), json!([1, 2]))]);
        let whole = serde_json::to_value(&view).unwrap();
        for group in PromptContext::GROUPS {
            assert_eq!(view.group(group).as_ref(), whole.get(group), "{group}");
        }
        assert_eq!(view.group("Secrets"), None);
    }

    #[test]
    fn contributions_move_to_a_newer_base() {
        let mut view = ContextView::new(Arc::new(full()));
        view.contribute("api", [("Key".to_owned(), json!(1))]);
        let mut newer = full();
        newer.state.completed_tasks = 7;
        let moved = view.rebase(Arc::new(newer));
        assert_eq!((moved.base().state.completed_tasks, moved.plugins()), (7, view.plugins()));
    }
}
