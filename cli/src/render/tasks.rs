//! Tasks as text.

use samuel_core::model::{Status, Task, TaskId};

use super::{safe, safe_words};

/// How much of an id, or of the name of who works on a task, is shown in a list, in
/// characters. What Samuel stores is not longer, but another store's may be.
const MAX_SHOWN: usize = 64;

/// How many tasks are named where only their ids are.
const MAX_NAMED: usize = 10;

/// Returns a name as it stands in a list.
fn name(text: &str) -> String {
    let shown = safe(text);
    match shown.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", shown.get(..end).unwrap_or_default()),
        None => shown,
    }
}

/// Writes a task on one line: mark, id, priority and title.
pub(crate) fn task_line(task: &Task, id_width: usize) -> String {
    let mark = match task.status {
        Status::Completed => "[x]",
        Status::InProgress => "[>]",
        Status::Skipped => "[-]",
        Status::Blocked => "[!]",
        Status::Pending => "[ ]",
    };
    let (id, title) = (name(task.id.as_str()), safe(&task.title));
    let mut line = format!("{mark} {id:id_width$}  {:8}  {title}", task.priority);
    if let Some(sha) = &task.commit_sha {
        let short: String = sha.chars().take(10).collect();
        line.push_str(&format!("  ({})", safe(&short)));
    }
    if let (Status::InProgress, Some(owner)) = (task.status, &task.owner) {
        line.push_str(&format!("  (by {})", name(owner)));
    }
    if let Some(reason) = &task.skip_reason {
        line.push_str(&format!("  (skipped: {})", safe_words(reason)));
    }
    if !task.depends_on.is_empty() && !task.is_settled() {
        let ids: Vec<String> = task.depends_on.iter().map(|id| name(id.as_str())).collect();
        line.push_str(&format!("  (after {})", ids.join(", ")));
    }
    line
}

/// Writes tasks, one a line, with their ids in a column.
pub(crate) fn task_table(tasks: &[Task]) -> String {
    if tasks.is_empty() {
        return "no tasks\n".to_owned();
    }
    let width = tasks.iter().map(|task| name(task.id.as_str()).chars().count()).max().unwrap_or_default();
    tasks.iter().map(|task| task_line(task, width) + "\n").collect()
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
    use super::*;

    #[test]
    fn an_id_of_any_length_is_a_short_column() {
        let mut task = Task::new(TaskId::new("x".repeat(70_000)), "t");
        task.depends_on = vec![task.id.clone()];
        (task.status, task.owner) = (Status::InProgress, Some("x".repeat(70_000)));
        let table = task_table(&[task, Task::new(TaskId::new("1"), "t")]);
        assert!(table.len() < 500, "{}", table.len());
    }
}
