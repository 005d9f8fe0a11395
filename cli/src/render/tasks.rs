//! Tasks as text.

use samuel_core::model::{Status, Task};

use super::{safe, safe_words};

/// Writes a task on one line: mark, id, priority and title.
pub(crate) fn task_line(task: &Task, id_width: usize) -> String {
    let mark = match task.status {
        Status::Completed => "[x]",
        Status::InProgress => "[>]",
        Status::Skipped => "[-]",
        Status::Blocked => "[!]",
        Status::Pending => "[ ]",
    };
    let (id, title) = (safe(task.id.as_str()), safe(&task.title));
    let mut line = format!("{mark} {id:id_width$}  {:8}  {title}", task.priority);
    if let Some(sha) = &task.commit_sha {
        let short: String = sha.chars().take(10).collect();
        line.push_str(&format!("  ({})", safe(&short)));
    }
    if let (Status::InProgress, Some(owner)) = (task.status, &task.owner) {
        line.push_str(&format!("  (by {})", safe(owner)));
    }
    if let Some(reason) = &task.skip_reason {
        line.push_str(&format!("  (skipped: {})", safe_words(reason)));
    }
    if !task.depends_on.is_empty() && !task.is_settled() {
        let ids: Vec<String> = task.depends_on.iter().map(|id| safe(id.as_str())).collect();
        line.push_str(&format!("  (after {})", ids.join(", ")));
    }
    line
}

/// Writes tasks, one a line, with their ids in a column.
pub(crate) fn task_table(tasks: &[Task]) -> String {
    if tasks.is_empty() {
        return "no tasks\n".to_owned();
    }
    let width = tasks.iter().map(|task| safe(task.id.as_str()).chars().count()).max().unwrap_or_default();
    tasks.iter().map(|task| task_line(task, width) + "\n").collect()
}
