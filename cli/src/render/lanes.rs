//! Lanes and the merge queue as text.

use samuel_core::{
    engine::{
        CleanedLanes, LandReport, LaneBranch, LaneList, LaneStanding, LaneWorkTree, MergeReport, QueueEntry,
        QueueList,
    },
    text::counted,
};

use super::{
    safe, safe_words,
    tasks::name,
    time_of_day,
    watch::{taking_over, unmerged},
};

/// Words what lanes have in a project.
pub(crate) fn lanes_text(list: &LaneList) -> String {
    if list.work_trees.is_empty() && list.branches.is_empty() {
        return "no lanes have left anything here\n".to_owned();
    }
    let into = list.into.as_deref().map(|into| format!("; work lands on {}", safe(into))).unwrap_or_default();
    let at_work = if list.is_running { "a loop is at work" } else { "no loop is at work" };
    let mut text = format!("{at_work}{into}\n");
    if !list.work_trees.is_empty() {
        text.push_str("\nClones\n");
        text.extend(list.work_trees.iter().map(work_tree));
    }
    if !list.branches.is_empty() {
        text.push_str("\nBranches\n");
        text.extend(list.branches.iter().map(branch));
    }
    let can_go = |branch: &LaneBranch| matches!(branch.standing, LaneStanding::Landed | LaneStanding::Empty);
    if !list.is_running && list.branches.iter().any(can_go) {
        text.push_str("\n`samuel run clean` removes what is merged, and what has no work on it\n");
    }
    text
}

fn work_tree(tree: &LaneWorkTree) -> String {
    let on = match (&tree.branch, &tree.landed_on) {
        (Some(branch), _) => format!("on {}", name(branch)),
        (None, Some(landed)) => format!("at a commit of {}", name(landed)),
        (None, None) => "on no branch".to_owned(),
    };
    let task = match (&tree.task, tree.since) {
        (Some(task), Some(since)) => format!("task {} since {}, ", safe(task.as_str()), time_of_day(since)),
        _ => String::new(),
    };
    let holds = tree.holds.as_deref().map(|holds| format!("; {}", safe(holds))).unwrap_or_default();
    let path = safe(&tree.path.display().to_string());
    format!("  {:<8} {task}{on}{holds}\n           {path}\n", safe(&tree.name))
}

fn branch(branch: &LaneBranch) -> String {
    let standing = match (branch.standing, &branch.landed_on) {
        (LaneStanding::Working, _) => "is being worked on".to_owned(),
        (LaneStanding::Waits, _) => "waits to be landed".to_owned(),
        (LaneStanding::Empty, _) => "no work on it".to_owned(),
        (LaneStanding::Landed, Some(on)) => format!("landed: it is on {}", name(on)),
        _ => format!("not merged: {} on no branch of yours", counted(branch.ahead, "commit")),
    };
    let task = branch.task.as_ref().map(|task| format!("task {}, ", safe(task.as_str()))).unwrap_or_default();
    format!("  {}\n      {task}{standing}, {}\n", safe(&branch.name), time_of_day(branch.since))
}

/// Words what was removed of what lanes left.
pub(crate) fn cleaned_text(cleaned: &CleanedLanes) -> String {
    if cleaned.removed.is_empty() && cleaned.kept.is_empty() {
        return "no lanes have left anything here\n".to_owned();
    }
    let removed = cleaned.removed.iter().map(|name| format!("removed {}\n", safe(name)));
    let kept =
        cleaned.kept.iter().map(|kept| format!("kept {}: {}\n", safe(&kept.name), safe_words(&kept.why)));
    removed.chain(kept).collect()
}

/// Words the result of merging the work of a run.
pub(crate) fn merged_text(report: &MergeReport) -> String {
    let mut text = match (&report.branch, &report.into) {
        (Some(branch), Some(into)) => {
            let by = if report.is_fast_forward { ", by a fast-forward" } else { "" };
            format!("merged {} into {}{by}\n", safe(branch), safe(into))
        }
        _ => "nothing to merge\n".to_owned(),
    };
    if !report.cleaned.removed.is_empty() {
        text.push_str(&cleaned_text(&report.cleaned));
    }
    text
}

/// Words what waits to be landed.
pub(crate) fn queue_text(list: &QueueList) -> String {
    let into = list.into.as_deref().map(|into| format!(" on {}", safe(into))).unwrap_or_default();
    if list.entries.is_empty() {
        return format!("nothing waits to be landed{into}\n");
    }
    let count = list.entries.len();
    let verb = if count == 1 { "waits" } else { "wait" };
    let mut text = format!("{} {verb} to be landed{into}\n", counted(count, "task"));
    text.extend(list.entries.iter().map(entry));
    if list.worker.is_none() && list.waiting().next().is_some() {
        text.push_str(
            "`samuel run queue land` lands what was submitted, as does the next `samuel run start` with several lanes\n",
        );
    }
    text
}

fn entry(entry: &QueueEntry) -> String {
    let attempt = if entry.attempt > 1 { format!(", attempt {}", entry.attempt) } else { String::new() };
    let branch = entry.branch.as_deref().map(|branch| format!(" on {}", name(branch))).unwrap_or_default();
    format!(
        "  {} {}\n      {}: {}\n      since {}{attempt}{branch}\n",
        safe(entry.task.as_str()),
        safe(&entry.title),
        entry.place,
        safe_words(&entry.why),
        time_of_day(entry.since),
    )
}

/// Names, below where a plan stands, the branches with work that is not merged.
pub(crate) fn unmerged_text(branches: &[String]) -> String {
    branches.iter().map(|branch| format!("{}\n", unmerged(branch))).collect()
}

/// Words what came of a landing.
pub(crate) fn landed_text(report: &LandReport) -> String {
    let mut text = match (report.landed.len(), &report.into) {
        (0, _) => "nothing has landed\n".to_owned(),
        (count, Some(into)) => {
            format!("{} landed on {}{}\n", counted(count, "task"), safe(into), taking_over(into))
        }
        (count, None) => format!("{} landed\n", counted(count, "task")),
    };
    if !report.queue.entries.is_empty() {
        text.push_str(&queue_text(&report.queue));
    }
    text
}
