//! Which types of samuel-core have classes that mirror them: tasks, events, reports. And how those are
//! called in Python. [`reader`](super::reader) makes the classes.

/// A source file, and the types that Python sees of it: by their name in Rust,
/// and in Python where it is another.
pub(super) type Source = (&'static str, &'static [(&'static str, &'static str)]);

/// What stands before the classes of the contract.
pub(super) const PLAN: &[Source] = &[
    ("../../crates/samuel-model/src/mark.rs", &[("Mark", "")]),
    ("../../crates/samuel-model/src/task.rs", &[("Status", ""), ("Source", ""), ("Task", "")]),
    ("../../crates/samuel-model/src/question.rs", &[("Question", "")]),
    ("../../crates/samuel-model/src/queue_place.rs", &[("QueuePlace", "")]),
    (
        "../../crates/samuel-model/src/live.rs",
        &[("Doing", ""), ("WaitingCall", ""), ("QueuedWork", ""), ("LiveWorker", ""), ("LiveState", "")],
    ),
    ("../../crates/samuel-model/src/plan.rs", &[("ProgressStatus", ""), ("Progress", "")]),
    ("../../crates/samuel-model/src/outcome.rs", &[("ExitReason", ""), ("FailureClass", "")]),
];

/// What stands behind them.
pub(super) const REPORTS: &[Source] = &[
    ("../../crates/samuel-contract/src/point.rs", &[("OnFailure", "")]),
    ("../../crates/samuel-model/src/hook_status.rs", &[("BreakClass", "")]),
    ("../../crates/samuel-hook/src/failure.rs", &[("HookFailure", "")]),
    (
        "../../crates/samuel-hook/src/outcome.rs",
        &[
            ("Speaker", ""),
            ("Said", ""),
            ("Broken", ""),
            ("Abort", ""),
            ("HookWarning", ""),
            ("LoggedLine", ""),
            ("LogLevel", ""),
        ],
    ),
    ("../../crates/samuel-model/src/hook_status.rs", &[("HookStatus", "")]),
    ("../../crates/samuel-hook/src/outcome.rs", &[("Timing", ""), ("Outcome", "HookOutcome")]),
    ("../../crates/samuel-hook/src/chain.rs", &[("Tier", ""), ("HookLayer", "")]),
    (
        "../../crates/samuel-hook/src/exchange.rs",
        &[("LaunchVariable", ""), ("Launch", ""), ("HookExchange", "")],
    ),
    ("engine/hook_list.rs", &[("ListedHook", ""), ("HookList", "")]),
    (
        "engine/hook_report.rs",
        &[
            ("OriginReport", "HookOrigin"),
            ("AskedReport", "HookAsks"),
            ("EntryReport", "HookFileEntry"),
            ("HandlerReport", "HookHandler"),
            ("SkippedReport", "SkippedHook"),
        ],
    ),
    ("engine/hook_trial.rs", &[("HookTrial", ""), ("HookFiring", "")]),
    ("dialect/repository/scaffold.rs", &[("ScaffoldedHook", "")]),
    ("../../crates/samuel-state/src/hook_log.rs", &[("HookLogLine", ""), ("HookLog", "")]),
    (
        "../../crates/samuel-hook/src/context/stats.rs",
        &[("PromptQuotation", ""), ("PromptSection", ""), ("PromptStats", "")],
    ),
    ("../../crates/samuel-config/src/trust/control_file_change.rs", &[("ControlFileChange", "")]),
    (
        "../../crates/samuel-config/src/trust/executables.rs",
        &[("ExecutableKind", ""), ("Executable", ""), ("Executables", "")],
    ),
    ("../../crates/samuel-config/src/trust/store.rs", &[("TrustRecord", "")]),
    ("../../crates/samuel-hook/src/agent_event.rs", &[("AgentEvent", ""), ("AbilityDecision", "")]),
    ("../../crates/samuel-model/src/agent_total.rs", &[("AgentTotal", "")]),
    ("../../crates/samuel-model/src/claim.rs", &[("ClaimPhase", ""), ("Claim", "")]),
    ("engine/lanes/queue_list.rs", &[("QueueEntry", ""), ("QueueList", "")]),
    (
        "engine/lanes/lane_list.rs",
        &[
            ("LaneStanding", ""),
            ("LaneWorkTree", ""),
            ("LaneBranch", ""),
            ("LaneList", ""),
            ("KeptOfLanes", ""),
            ("CleanedLanes", ""),
        ],
    ),
    ("engine/lanes/merge_branch.rs", &[("MergeReport", "")]),
    ("engine/lanes/land.rs", &[("LandedWork", ""), ("ReturnedWork", ""), ("LandReport", "")]),
    ("../../crates/samuel-model/src/code.rs", &[("Location", "")]),
    ("session/feedback.rs", &[("Feedback", "")]),
    ("session/ability.rs", &[("AbilityPermission", "")]),
    (
        "../../crates/samuel-machine/src/event.rs",
        &[("PlanChange", ""), ("CheckResult", ""), ("IterationFailure", ""), ("Event", ""), ("Guard", "")],
    ),
    ("../../crates/samuel-machine/src/event/report.rs", &[("RunFault", ""), ("RunReport", "")]),
    ("../../crates/samuel-process/src/left.rs", &[("Process", "")]),
    ("../../crates/samuel-state/src/lock.rs", &[("Holder", "")]),
    ("../../crates/samuel-state/src/journal/record.rs", &[("Called", "AgentCall"), ("RunEnd", "")]),
    ("../../crates/samuel-state/src/kept.rs", &[("KeptPlan", "")]),
    ("../../crates/samuel-state/src/restore.rs", &[("Restored", "")]),
    ("methodology/overrides.rs", &[("Staleness", ""), ("StaleTemplate", "")]),
    ("../../crates/samuel-state/src/diagnostic.rs", &[("DiagnosticKind", ""), ("StateDiagnostic", "")]),
    ("../../crates/samuel-model/src/counts.rs", &[("TaskCounts", "")]),
    ("project/other_plans.rs", &[("OtherPlan", "")]),
    ("../../crates/samuel-state/src/plan/remedy.rs", &[("WorkRemedy", "")]),
    ("project/status.rs", &[("NextStep", ""), ("OpenQuestion", ""), ("ProjectStatus", "")]),
    ("../../crates/samuel-state/src/plan/list.rs", &[("GroupState", ""), ("ListRow", ""), ("TaskList", "")]),
    ("project/attempts.rs", &[("AttemptEnd", ""), ("Attempt", "")]),
    (
        "project/history.rs",
        &[("HistoryChange", ""), ("RelatedTask", ""), ("RelatedTasks", ""), ("TaskHistory", "")],
    ),
    ("../../crates/samuel-model/src/severity.rs", &[("Severity", "")]),
    (
        "../../crates/samuel-state/src/plan/choice.rs",
        &[("CandidateStanding", ""), ("Candidate", ""), ("TaskChoice", "")],
    ),
    (
        "history/run_history.rs",
        &[
            ("RunKind", ""),
            ("RunState", ""),
            ("EventRef", ""),
            ("LandedTask", ""),
            ("ReturnedTask", ""),
            ("HeldBackTask", ""),
            ("TurnHistory", ""),
            ("IterationHistory", ""),
            ("CheckHistory", ""),
            ("HookFigures", ""),
            ("HistoryNote", ""),
            ("RecordGaps", ""),
            ("RunHistory", ""),
        ],
    ),
    ("history/runs.rs", &[("RunSummary", ""), ("RunList", ""), ("UnreadRun", "")]),
    ("history/eta.rs", &[("Eta", "")]),
    (
        "history/activity.rs",
        &[
            ("Now", "LoopActivity"),
            ("FailureNote", ""),
            ("AgentShare", ""),
            ("TaskFigures", ""),
            ("Activity", ""),
        ],
    ),
    ("history/why/mod.rs", &[("WhyReason", ""), ("Why", "")]),
    (
        "history/report/mod.rs",
        &[("ReportedChange", ""), ("ChangedFile", ""), ("TaskOutcome", ""), ("RunPage", "")],
    ),
    ("../../crates/samuel-prd/src/remark.rs", &[("RemarkKind", ""), ("Remark", "")]),
    ("../../crates/samuel-prd/src/form.rs", &[("Form", ""), ("PrdForm", "")]),
    ("../../crates/samuel-state/src/plan/long.rs", &[("LongPlan", "")]),
    ("project/init.rs", &[("ConvertedPrd", ""), ("Initialised", ""), ("PrdPreview", "")]),
    ("../../crates/samuel-state/src/merge.rs", &[("TaskTitle", ""), ("OtherPrd", "")]),
    ("project/plan_diff.rs", &[("FieldDiff", ""), ("TaskDiff", "")]),
    ("project/update.rs", &[("UpdatedPrd", "")]),
    ("plugin/kind.rs", &[("PluginKind", "")]),
    ("plugin/lock.rs", &[("InstalledPlugin", "")]),
    ("plugin/tree.rs", &[("PluginChangeKind", ""), ("PluginChange", "")]),
    ("plugin/installed.rs", &[("PluginDifference", "")]),
    ("plugin/fetched.rs", &[("MovedSource", "")]),
    ("plugin/install.rs", &[("ListedPlugin", ""), ("VerifiedPlugin", "")]),
];

/// What only the documents of commands have.
pub(super) const DOCUMENTS: &[Source] = &[
    ("../../cli/src/render/envelope.rs", &[("Envelope", ""), ("ErrorDocument", "")]),
    ("../../crates/samuel-contract/src/field.rs", &[("Field", "HookField")]),
    (
        "engine/hook_report.rs",
        &[("SettingReport", "HookSetting"), ("ChainReport", "HookChain"), ("PointReport", "ShownPoint")],
    ),
    ("engine/hooks.rs", &[("ShownHook", ""), ("ShownHooks", "")]),
    ("../../crates/samuel-agent/src/route.rs", &[("Choice", "AgentChoice")]),
    ("engine/preview.rs", &[("PreviewStop", "")]),
    (
        "../../cli/src/render/next_prompt.rs",
        &[("NextPrompt", ""), ("NextPromptStats", ""), ("ExportedTemplates", "")],
    ),
    ("history/activity.rs", &[("StatusReport", "")]),
    ("engine/hook_validation.rs", &[("HookProblem", ""), ("HookValidation", "")]),
];

/// An enum whose cases are classes.
pub(super) struct Cases {
    pub(super) rust: &'static str,
    /// The key that names the case in JSON.
    pub(super) key: &'static str,
    /// The class that the cases derive from.
    pub(super) base: &'static str,
    /// The classes that are not called as their case.
    pub(super) renames: &'static [(&'static str, &'static str)],
}

pub(super) const CASES: [Cases; 6] = [
    Cases { rust: "Event", key: "event", base: "EventBase", renames: &[("Agent", "AgentReported")] },
    Cases {
        rust: "AgentEvent",
        key: "type",
        base: "Record",
        renames: &[
            ("Ready", "AgentReady"),
            ("Text", "AgentText"),
            ("Usage", "AgentUsage"),
            ("Unreadable", "AgentUnreadable"),
        ],
    },
    Cases {
        rust: "AbilityDecision",
        key: "decision",
        base: "Record",
        renames: &[("Allow", "ToolAllowed"), ("Block", "ToolBlocked")],
    },
    Cases {
        rust: "NextStep",
        key: "kind",
        base: "Record",
        renames: &[("Task", "NextTask"), ("Blocked", "NoTaskReady")],
    },
    Cases { rust: "WorkRemedy", key: "kind", base: "Record", renames: &[("Land", "LandSubmitted")] },
    Cases {
        rust: "Staleness",
        key: "kind",
        base: "Record",
        renames: &[
            ("NoCommand", "TemplateWithoutCommand"),
            ("OldFile", "OldFileInTemplate"),
            ("UnknownVariable", "UnknownTemplateVariable"),
            ("Older", "OlderTemplate"),
        ],
    },
];

/// Types that Python knows as something simpler.
pub(super) const SIMPLE: &[(&str, &str)] = &[
    ("String", "str"),
    ("str", "str"),
    ("TaskId", "str"),
    ("ClaimTarget", "str"),
    ("Timestamp", "str"),
    ("PathBuf", "str"),
    ("HookPoint", "HookPointId"),
    ("ChainMode", "str"),
    ("PointKind", "str"),
    ("SkipReason", "str | Mapping[str, str]"),
    ("Capabilities", "Mapping[str, list[str]]"),
    ("bool", "bool"),
    ("u8", "int"),
    ("u32", "int"),
    ("NonZeroU32", "int"),
    ("u64", "int"),
    ("usize", "int"),
    ("i32", "int"),
    ("i64", "int"),
    ("f64", "float"),
    ("Duration", "float"),
    ("Value", "Any"),
];
