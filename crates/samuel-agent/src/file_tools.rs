//! Which files a tool call names, for the tools of agents that change files.
//!
//! The tools of an agent are told apart by their names, and their arguments are the agent's own.
//! What a shell command or any other tool changes nobody can tell from its arguments.

use std::path::Path;

use samuel_fs::{Root, lexical};
use samuel_model::is_no_work;
use serde_json::Value;

/// How a line of a patch begins that names a file.
const PATCH_LINES: [&str; 4] = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];

/// Returns the files that a call changes by its arguments, relative to the project where they are
/// in it, each once; nothing where the tool is not known to change files, or does not say which.
pub(super) fn changed_files(tool: &str, input: &Value, root: &Path) -> Option<Vec<String>> {
    let root = Root::new(root);
    let mut changed: Vec<String> = Vec::new();
    for path in named(tool, input)? {
        let path = lexical(&root.path().join(path));
        let shown = root.relative(&path).unwrap_or(path);
        let shown = shown.to_string_lossy().into_owned();
        if !is_no_work(shown.as_bytes()) && !changed.contains(&shown) {
            changed.push(shown);
        }
    }
    Some(changed)
}

/// Returns the paths that the arguments of a tool name, as they stand there.
fn named<'v>(tool: &str, input: &'v Value) -> Option<Vec<&'v str>> {
    let field = |name: &str| Some(vec![input.get(name)?.as_str()?]);
    match tool {
        // Of Claude Code, and of the scripted agent.
        "Write" | "Edit" | "MultiEdit" | "Delete" => field("file_path"),
        "NotebookEdit" => field("notebook_path"),
        // Of Gemini CLI.
        "write_file" | "replace" => field("file_path"),
        // Of Copilot CLI.
        "create" | "edit" => field("path"),
        // Of Codex: the tool, and what its stream tells of it.
        "apply_patch" => patched(input),
        "file_change" => {
            let changes = input.get("changes")?.as_array()?;
            changes.iter().map(|change| change.get("path")?.as_str()).collect()
        }
        _ => None,
    }
}

/// Returns the paths that a patch names, wherever among the arguments it stands.
pub fn patched(input: &Value) -> Option<Vec<&str>> {
    let texts: Vec<&Value> = match input {
        Value::Object(fields) => fields.values().collect(),
        text => vec![text],
    };
    let texts = texts.into_iter().flat_map(|value| match value {
        Value::Array(items) => items.as_slice(),
        one => std::slice::from_ref(one),
    });
    let lines = texts.filter_map(Value::as_str).flat_map(str::lines);
    let paths: Vec<&str> = lines
        .filter_map(|line| PATCH_LINES.iter().find_map(|start| line.trim().strip_prefix(start)))
        .collect();
    (!paths.is_empty()).then_some(paths)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use serde_json::json;

    use super::*;

    #[test]
    fn the_files_that_file_tools_name_are_told_from_the_project_on() {
        let root = Path::new("/p");
        let patch = "*** Begin Patch\n*** Update File: a.rs\n*** Move to: b.rs\n@@\n-x\n+y\n*** Add File: src/./c.rs\n\
                     +z\n*** Delete File: d.rs\n*** End Patch";
        let patched = Some(vec!["a.rs", "b.rs", "src/c.rs", "d.rs"]);
        let rows = [
            ("Edit", json!({"file_path": "/p/src/a.rs"}), Some(vec!["src/a.rs"])),
            ("Write", json!({"file_path": "/etc/hosts"}), Some(vec!["/etc/hosts"])),
            ("Write", json!({"file_path": "../q/x"}), Some(vec!["/q/x"])),
            ("MultiEdit", json!({"file_path": "a", "edits": []}), Some(vec!["a"])),
            ("NotebookEdit", json!({"notebook_path": "n.ipynb"}), Some(vec!["n.ipynb"])),
            ("write_file", json!({"file_path": "a", "content": ""}), Some(vec!["a"])),
            ("replace", json!({"file_path": "a"}), Some(vec!["a"])),
            ("create", json!({"path": "/p/a"}), Some(vec!["a"])),
            ("edit", json!({"path": "a"}), Some(vec!["a"])),
            ("apply_patch", json!({"command": patch}), patched.clone()),
            ("apply_patch", json!({"command": ["apply_patch", patch]}), patched.clone()),
            ("apply_patch", json!(patch), patched),
            ("apply_patch", json!({"command": "no patch"}), None),
            (
                "file_change",
                json!({"changes": [{"path": "/p/a", "kind": "add"}, {"path": "/p/a"}]}),
                Some(vec!["a"]),
            ),
            ("Write", json!({"file_path": "/p/.system/logs/x.log"}), Some(vec![])),
            ("Write", json!({"truncated": "{\"file_path\""}), None),
            ("Bash", json!({"command": "rm a"}), None),
            ("Read", json!({"file_path": "a"}), None),
        ];
        for (tool, input, expected) in rows {
            let changed = changed_files(tool, &input, root);
            let expected = expected.map(|paths| paths.into_iter().map(str::to_owned).collect::<Vec<_>>());
            assert_eq!(changed, expected, "{tool} {input}");
        }
    }

    #[test]
    fn a_project_that_a_link_leads_to_knows_its_files_by_either_path() {
        let dir = tempfile::tempdir().unwrap();
        let (real, link) = (dir.path().canonicalize().unwrap().join("real"), dir.path().join("link"));
        std::fs::create_dir(&real).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        for named in [real.join("a"), link.join("a")] {
            let changed = changed_files("Edit", &json!({"file_path": named}), &link);
            assert_eq!(changed, Some(vec!["a".to_owned()]), "{}", named.display());
        }
    }
}
