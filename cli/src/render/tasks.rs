//! Tasks as text.

use samuel_core::{
    model::{Mark, Status, Task, TaskId},
    plan::{GroupState, ListRow, TaskList},
    text::counted,
};

use super::{claims::claim_text, safe, safe_words};

/// How much of an id, or of the name of who works on a task, is shown in a list, in
/// characters. What Samuel stores is not longer, but another store's may be.
const MAX_SHOWN: usize = 64;
/// How deep a list is moved in.
const MAX_DEPTH: usize = 8;

/// How many tasks are named where only their ids are.
const MAX_NAMED: usize = 10;

/// Returns a name as it stands in a list.
pub(super) fn name(text: &str) -> String {
    let shown = safe(text);
    match shown.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", shown.get(..end).unwrap_or_default()),
        None => shown,
    }
}

/// Returns the mark of a status.
pub(super) fn mark(status: Status) -> &'static str {
    match status {
        Status::Completed => "[x]",
        Status::InProgress => "[>]",
        Status::Skipped => "[-]",
        Status::Blocked => "[!]",
        Status::Pending => "[ ]",
    }
}

/// Says where the parts of a group stand.
pub(super) fn parts_text(group: GroupState) -> String {
    format!("{} of {} settled", group.settled, counted(group.parts, "part"))
}

/// Writes a task on one line: mark, id, priority, complexity and title.
fn task_line(task: &Task, row: &ListRow, width: usize) -> String {
    let indent = indent(row);
    let (id, title, mark) = (name(task.id.as_str()), safe(&task.title), mark(task.status));
    let id_width = width.saturating_sub(indent.len());
    let mut line =
        format!("{indent}{mark} {id:id_width$}  {:8}  {:7}  {title}", task.priority, task.complexity);
    if let Some(group) = row.group {
        line.push_str(&format!("  ({})", parts_text(group)));
    }
    if let Some(sha) = &task.commit_sha {
        let short: String = sha.chars().take(10).collect();
        line.push_str(&format!("  ({})", safe(&short)));
    }
    if let Some(marks) = Mark::told_of(&task.marks) {
        line.push_str(&format!("  ({marks})"));
    }
    match (&row.claim, &task.owner) {
        (Some(claim), _) => line.push_str(&format!("  ({})", claim_text(claim, row.gone.as_deref()))),
        (None, Some(owner)) if task.status == Status::InProgress => {
            line.push_str(&format!("  (by {})", name(owner)));
        }
        _ => {}
    }
    if let Some(question) = task.open_question() {
        line.push_str(&format!("  (asks: {})", safe_words(&question.line())));
    }
    if let Some(reason) = &task.skip_reason {
        let word = if task.status == Status::Blocked { "blocked" } else { "skipped" };
        line.push_str(&format!("  ({word}: {})", safe_words(reason)));
    }
    if !task.depends_on.is_empty() && !task.is_settled() {
        let ids: Vec<String> = task.depends_on.iter().map(|id| name(id.as_str())).collect();
        line.push_str(&format!("  (after {})", ids.join(", ")));
    }
    line
}

fn indent(row: &ListRow) -> String {
    "  ".repeat(row.depth.min(MAX_DEPTH))
}

/// Writes tasks, one a line, with their ids in a column.
pub(crate) fn task_table(list: &TaskList) -> String {
    if list.tasks.is_empty() {
        return if list.total == 0 { "no tasks\n" } else { "no task matches\n" }.to_owned();
    }
    let listed = || list.tasks.iter().zip(&list.rows);
    let widths = listed().map(|(task, row)| indent(row).len() + name(task.id.as_str()).chars().count());
    let width = widths.max().unwrap_or_default();
    let mut text: String = listed().map(|(task, row)| task_line(task, row, width) + "\n").collect();
    if list.more > 0 {
        text.push_str(&format!("and {} more, of {}\n", list.more, counted(list.matching, "task")));
    }
    text
}

/// Names tasks by their ids, the first of them where they are many.
pub(crate) fn named_ids(ids: &[TaskId]) -> String {
    let named: Vec<String> = ids.iter().take(MAX_NAMED).map(|id| name(id.as_str())).collect();
    let more = ids.len().saturating_sub(MAX_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    named.join(", ") + &more
}

#[cfg(test)]
mod tests {
    use samuel_core::{model::Plan, plan::TaskFilter};

    use super::*;

    fn table(tasks: Vec<Task>) -> String {
        task_table(&TaskList::of(&Plan { tasks, ..Plan::default() }, &TaskFilter::default()))
    }

    #[test]
    fn an_id_of_any_length_is_a_short_column() {
        let mut task = Task::new(TaskId::new("x".repeat(70_000)), "t");
        task.depends_on = vec![task.id.clone()];
        (task.status, task.owner) = (Status::InProgress, Some("x".repeat(70_000)));
        let table = table(vec![task, Task::new(TaskId::new("1"), "t")]);
        assert!(table.len() < 500, "{}", table.len());
    }

    #[test]
    fn groups_in_groups_of_any_depth_are_moved_in_so_far_and_no_further() {
        let part = |n: u32| Task {
            parent_id: n.checked_sub(1).map(|parent| TaskId::new(parent.to_string())),
            ..Task::new(TaskId::new(n.to_string()), "t")
        };
        let table = table((0..1_000).map(part).collect());
        assert!(table.lines().all(|line| line.len() < 90), "{table}");
        assert!(table.starts_with("[ ] 0") && table.contains("\n  [ ] 1 "), "{table}");
    }
}
