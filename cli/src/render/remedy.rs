//! What to do next, in the terms of the command line.

use std::borrow::Cow;

use samuel_core::model::Remedy;

use super::safe;
use crate::args::option_of;

/// Words what to do next.
pub(crate) fn remedy_text(remedy: &Remedy) -> String {
    remedy.in_words(&|step| match step {
        Remedy::RestorePlan { kept } => {
            format!("{kept} kept: put the last one back with `samuel run restore`.").into()
        }
        Remedy::InstallPlugin { source: Some(source) } => format!("Run `samuel install {source}`.").into(),
        Remedy::RaiseLimit { setting } => format!(
            "Read .samuel/run/progress.md, then go on with `samuel run start`. To let a run go further, raise \
             {setting} in samuel.toml{}.",
            option_of(setting).map(|option| format!(", or pass a higher {option}")).unwrap_or_default()
        )
        .into(),
        Remedy::AcceptDigest { digest } => format!(
            "Look at the changes, for instance with `git status` and `git diff`. Then undo them, or go on: at a \
             terminal `samuel run start --accept` shows them and asks; without one, `samuel run start --trust-hash \
             {digest}` accepts what is listed here."
        )
        .into(),
        Remedy::LetLand { task } => {
            format!("Let it land with `samuel run queue release {}`.", safe(task.as_str())).into()
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
        | Remedy::LetLand { .. }
        | Remedy::AcceptDigest { .. } => "",
        Remedy::MakeProject => "Run `samuel init` first.",
        Remedy::MakePlan => "Run `samuel run init` or `samuel run init --prd <path>` first.",
        Remedy::ReplacePlan => {
            "Run `samuel run convert --update <PRD>` to have it follow a PRD, which keeps where tasks stand, or pass \
             --force to replace it; a backup is kept."
        }
        Remedy::NameForm => "Name the form with `--format <NAME>`.",
        Remedy::AllowEmptyPlan => "`--allow-empty` makes an empty plan.",
        Remedy::TakeOtherPrd => {
            "See what would change with `samuel run convert --update --dry-run`. If it is the same PRD, `--yes` \
             takes it; another one becomes the plan with `samuel run convert --force`."
        }
        Remedy::ListRuns => "List the runs that are recorded with `samuel run runs`.",
        Remedy::ListKeptPlans => "List the plans that are kept with `samuel run restore --list`.",
        Remedy::LookAtPlan => "Look at the plan that is there now with `samuel run tasks`.",
        Remedy::LookAtCompleted => {
            "Look at what is completed with `samuel run tasks`: a start begins a new run, in which that stands as \
             it is written."
        }
        Remedy::GiveBackClaim => "Wait until it has landed, or give it back with `samuel run release`.",
        Remedy::FreeByStart => "Go on with `samuel run start`, which frees what they had claimed.",
        Remedy::LandQueue => {
            "`samuel run queue land` lands what was submitted; so does a start with several lanes."
        }
        Remedy::ListQueue => "See what waits to be landed with `samuel run queue`.",
        Remedy::ListQuestions => "See what is asked with `samuel run status`.",
        Remedy::ListTasks => "List the tasks with `samuel run tasks`.",
        Remedy::NameChange => "Name a change by its number; `samuel run show <id>` lists those of a task.",
        Remedy::ChooseTaskId => "Choose another id, or let `samuel run enqueue` assign one.",
        Remedy::LeaveTasksOut => {
            "Change the tasks named above in prd.toon, or leave them out with `samuel run skip`."
        }
        Remedy::CleanRecords => {
            "Hide its values with `samuel doctor --fix`, which lists the files and asks first."
        }
        Remedy::RepairPlan => {
            "Correct prd.toon at the places named above, or run `samuel doctor --fix`, which shows how it would \
             repair it and asks first."
        }
        Remedy::SeeWhyBlocked => {
            "See why with `samuel run status`, then answer or correct the tasks, open them again with `samuel run \
             reset`, or leave them out with `samuel run skip`."
        }
        Remedy::StartRun => "Start one with `samuel run start`.",
        Remedy::GoOn => "Go on with `samuel run start`.",
        Remedy::ReadProgressAndGoOn => "Read .samuel/run/progress.md, then go on with `samuel run start`.",
        Remedy::ReadMessageAndGoOn => "Read the message above, then go on with `samuel run start`.",
        Remedy::TrustRun => "Review what would run, then run `samuel trust`, or pass --yes for once.",
        Remedy::ChangeWhatRuns => "Change what it would run in samuel.toml, or start it again and answer y.",
        Remedy::RevokeTrust => {
            "Forget it with `samuel trust --revoke`, review what would run, and run `samuel trust`."
        }
        Remedy::TrustOtherDigest => {
            "Review what would run, then pass its digest, or start without --trust-hash to be asked."
        }
        Remedy::AcceptChanges => {
            "Undo the changes, or go on with `samuel run start --accept`, which shows them and asks."
        }
        Remedy::NameAgentCommand => "Pass --agent-command, or set agent_command in samuel.toml.",
        Remedy::CorrectRecording => {
            "Correct the recording that agent_command in samuel.toml names, or --agent-command."
        }
        Remedy::ExportTemplates => {
            "Move the file away, run `samuel run prompt --export`, and carry your changes over."
        }
        Remedy::ReplaceTemplates => "Move it away first, or pass --force to replace it.",
        Remedy::SeeChains => "See every chain with `samuel doctor --hooks`.",
        Remedy::ListPlugins => "List what is installed with `samuel ls`.",
        Remedy::ListMethodologies => "List what is installed with `samuel ls --type methodology`.",
        Remedy::InstallPlugin { .. } => "Install it with `samuel install <SOURCE>`, or remove its table.",
        Remedy::GrantPlugin => "Review what the plugin asks for, then pass --yes.",
        Remedy::AcceptMoved => "Review what is there now, then pass --accept-moved.",
        Remedy::PublishAnother => "Publish another version, or pass --force to replace what is there.",
        Remedy::SeeUsage => "Run the command with --help.",
        Remedy::SeePluginOptions => "See `samuel plugin --help`.",
        Remedy::BuildPlugin => "Build it with `samuel plugin build`.",
        Remedy::ListPluginSettings => "`samuel info <plugin>` lists what it takes.",
        Remedy::BuildWithComponents => "Uninstall the plugin, or build Samuel with the feature `wasm`.",
        Remedy::EndLoop => "Wait for the running loop to finish, or end it with `samuel run stop`.",
        Remedy::RemoveWithParts => {
            "Remove what needs it too, its parts with --with-parts, or edit the tasks that depend on it."
        }
        Remedy::UseOneLane => {
            "Work with one lane: leave out --jobs, or set jobs = 1 below [methodology.<name>.parallel]."
        }
        Remedy::SayHowManyLanes => "Say how many lanes there are with --jobs, or leave the branch out.",
        Remedy::BuildImage => {
            "`samuel run sandbox image` builds one of .samuel/sandbox/Containerfile and pins it; `samuel run sandbox image NAME` pins one that is there."
        }
        Remedy::ListVariables => "List the variables there are with `samuel run vars`.",
        Remedy::RecoverToon => {
            "Correct the text at the place named above, or print what can be read of it with `samuel toon recover`."
        }
    }
}

#[cfg(test)]
mod tests {
    use samuel_core::model::ErrorCode;

    use super::*;

    #[test]
    fn every_code_says_what_to_do_and_only_the_edge_names_commands() {
        for code in ErrorCode::ALL {
            assert!(remedy_text(code.help).ends_with('.'), "{}", code.name);
            let prose = code.help.prose();
            // Options of git are those of everybody.
            let names_options = prose.contains(" --") && !prose.contains("git ");
            assert!(!prose.contains("samuel ") && !names_options, "{}: {prose}", code.name);
        }
    }
}
