//! What to do next, in the terms of Python.

use std::borrow::Cow;

use samuel_core::model::Remedy;

/// Words what to do next.
pub(crate) fn remedy_text(remedy: &Remedy) -> String {
    remedy.in_words(&|step| match step {
        Remedy::RestorePlan { kept } => {
            format!("{kept} kept: put the last one back with Project.restore().").into()
        }
        Remedy::RaiseLimit { setting } => format!(
            "Read .samuel/run/progress.md, then go on by running the loop again. To let a run go further, raise \
             {}.",
            // What is a table in samuel.toml is an option of each name here.
            setting.rsplit('.').next().unwrap_or(setting)
        )
        .into(),
        Remedy::InstallPlugin { source: Some(source) } => format!("Call Project.install({source:?}).").into(),
        Remedy::LetLand { task } => {
            format!("Let it land with Project.unhold({:?}).", task.as_str()).into()
        }
        step => Cow::Borrowed(words(step)),
    })
}

fn words(step: &Remedy) -> &'static str {
    match step {
        // These have words of their own above.
        Remedy::Say(_)
        | Remedy::Tell(_)
        | Remedy::All(_)
        | Remedy::RestorePlan { .. }
        | Remedy::RaiseLimit { .. }
        | Remedy::LetLand { .. } => "",
        Remedy::MakeProject => "Call Project.init() first.",
        Remedy::MakePlan => "Call Project.init() or Project.init(prd=...) first.",
        Remedy::ReplacePlan => "Pass force=True to replace it; a backup is kept.",
        Remedy::NameForm => "Name the form with format=..., one of those that Project.forms() lists.",
        Remedy::AllowEmptyPlan => "allow_empty=True makes an empty plan.",
        Remedy::TakeOtherPrd => {
            "See what would change with Project.update(..., dry_run=True). If it is the same PRD, take_other=True \
             takes it; another one becomes the plan with Project.convert(..., force=True)."
        }
        Remedy::ListRuns => "List the runs that are recorded with Project.runs().",
        Remedy::ListKeptPlans => "List the plans that are kept with Project.kept_plans().",
        Remedy::LookAtPlan => "Look at the plan that is there now with Project.tasks().",
        Remedy::LookAtCompleted => {
            "Look at what is completed with Project.tasks(): a run begins anew, and in it that stands as it is \
             written."
        }
        Remedy::GiveBackClaim => "Wait until it has landed, or give it back with Project.release(..).",
        Remedy::FreeByStart => "Go on by running the loop again, which frees it.",
        Remedy::LandQueue => {
            "Loop.land() lands what was submitted; so does running the loop again with several lanes."
        }
        Remedy::ListQueue => "See what waits with Project.queue().",
        Remedy::ListQuestions => "See what is asked with Project.status().",
        Remedy::ListTasks => "List the tasks with Project.tasks().",
        Remedy::NameChange => "Name a change by its number; Project.task_history(..) lists those of a task.",
        Remedy::ChooseTaskId => "Choose another id, or let Project.enqueue() assign one.",
        Remedy::LeaveTasksOut => {
            "Change the tasks named above in prd.toon, or leave them out with Project.skip()."
        }
        Remedy::CleanRecords => "Hide its values with the repair of doctor, on the command line.",
        Remedy::RepairPlan => {
            "Correct prd.toon at the places named above, or put a plan back that is kept: Project.restore()."
        }
        Remedy::SeeWhyBlocked => {
            "See why with Project.status(), then answer, reset, skip or correct the tasks."
        }
        Remedy::StartRun => "Run a loop first.",
        Remedy::GoOn => "Go on by running the loop again.",
        Remedy::ReadProgressAndGoOn => "Read .samuel/run/progress.md, then go on by running the loop again.",
        Remedy::ReadMessageAndGoOn => "Read the message above, then go on by running the loop again.",
        Remedy::TrustRun => {
            "Review what would run (Loop.executables), then pass trust=True, or a TrustStore that has it \
             (Loop.record_trust)."
        }
        Remedy::ChangeWhatRuns => "Change what it would run in samuel.toml, or allow it.",
        Remedy::RevokeTrust => {
            "Forget it with TrustStore.revoke(), review what would run, and trust it anew."
        }
        Remedy::TrustOtherDigest => "Review what would run (Loop.executables), then trust it.",
        Remedy::AcceptChanges | Remedy::AcceptDigest { .. } => {
            "Look at the changes, for instance with `git status` and `git diff`. Then undo them, or pass a function \
             as trust that accepts the changes of what it is asked about."
        }
        Remedy::NameAgentCommand => "Pass agent_command, or set it in samuel.toml.",
        Remedy::CorrectRecording => "Correct the recording that agent_command names.",
        Remedy::ExportTemplates => {
            "Move the file away, call Project.export_templates(), and carry your changes over."
        }
        Remedy::ReplaceTemplates => "Move it away first, or pass force=True to replace it.",
        Remedy::SeeChains => "See every handler with Loop.hooks().",
        Remedy::ListPlugins => "List what is installed with Project.plugins().",
        Remedy::ListMethodologies => "List what is installed with Project.plugins().",
        Remedy::InstallPlugin { .. } => "Install it with Project.install(...), or remove its table.",
        Remedy::GrantPlugin => "Review what the plugin asks for, then pass grant=True.",
        Remedy::AcceptMoved => "Review what is there now, then pass accept_moved=True.",
        Remedy::PublishAnother => "Publish another version.",
        Remedy::SeeUsage => "Correct the arguments of the call.",
        Remedy::SeePluginOptions => "Correct what is asked for.",
        Remedy::BuildPlugin => "Build the component that its manifest names.",
        Remedy::ListPluginSettings => "The manifest of the plugin says what it takes.",
        Remedy::BuildWithComponents => {
            "Uninstall the plugin, or install the package with the host of components: \
             pip install ./bindings/python -C build-args=\"--features wasm\" in a clone of Samuel."
        }
        Remedy::EndLoop => "Wait for the running loop to finish, or end it.",
        Remedy::RemoveWithParts => {
            "Remove what needs it too, its parts with with_parts=True, or edit the tasks that depend on it."
        }
        Remedy::UseOneLane => {
            "Work with one lane: leave parallel out, or set jobs = 1 below [methodology.<name>.parallel]."
        }
        Remedy::SayHowManyLanes => {
            "Say how many lanes there are with jobs in parallel, or leave the branch out."
        }
        Remedy::BuildImage => {
            "Build one of .samuel/sandbox/Containerfile with podman or docker, and pin its digest in samuel.lock."
        }
        Remedy::ListVariables => "Look at the prompt context, which Call.context has.",
        Remedy::RecoverToon => {
            "Correct the text at the place named above, or see what can be read of it with samuel.toon.recover()."
        }
    }
}
