//! The prompt templates that are built in.
//!
//! A project or a plugin may bring its own; which one is taken is decided when
//! the run is built. They are ordinary templates over the
//! [`PromptContext`](crate::context::PromptContext).

/// The file name of the implementation template, also for overriding it.
pub const PROMPT_FILE: &str = "prompt.md.tmpl";
/// The file name of the discovery template, also for overriding it.
pub const DISCOVERY_PROMPT_FILE: &str = "discovery-prompt.md.tmpl";

/// The built-in template of implementation iterations.
pub const PROMPT: &str = include_str!("prompt.md.tmpl");
/// The built-in template of discovery iterations.
pub const DISCOVERY_PROMPT: &str = include_str!("discovery-prompt.md.tmpl");

/// Both, each with its file name.
pub const PROMPTS: [(&str, &str); 2] = [(PROMPT_FILE, PROMPT), (DISCOVERY_PROMPT_FILE, DISCOVERY_PROMPT)];

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failed set-up fails the test")]

    use super::*;
    use crate::context::{
        FailedCheck, PromptContext, SiblingTask, Suggestion, TaskGroup, TaskVars, template::Template,
    };

    fn context() -> PromptContext {
        let mut context = PromptContext::default();
        context.samuel.binary = "samuel".to_owned();
        context.project.name = "demo".to_owned();
        context.project.root = "/work/demo".to_owned();
        context.iteration.number = 3;
        context.iteration.max = Some(20);
        context.mode.max_new_tasks = 10;
        context.paths.samuel_dir = "/work/demo/.samuel".to_owned();
        context.paths.progress_file = "/work/demo/.samuel/run/progress.md".to_owned();
        context.paths.task_context_file = "/work/demo/.samuel/run/task-context.toon".to_owned();
        context.paths.progress_context_file = "/work/demo/.samuel/run/progress-context.md".to_owned();
        context.paths.snapshot_file = "/work/demo/.samuel/run/project-snapshot.toon".to_owned();
        context.state.next_task = Some(TaskVars {
            id: "1.2".to_owned(),
            title: "Write the lexer".to_owned(),
            files_to_modify: vec!["src/lex.rs".to_owned()],
            files_to_create: vec!["tests/lex.rs".to_owned()],
            ..TaskVars::default()
        });
        context
    }

    fn render(source: &str, context: &PromptContext) -> String {
        render_in(source, context, true)
    }

    fn render_in(source: &str, context: &PromptContext, has_repository: bool) -> String {
        let mut context = serde_json::to_value(context).unwrap();
        context["Project"]["HasRepository"] = has_repository.into();
        let rendered = Template::parse("built-in", source).unwrap().render(&context).unwrap();
        assert_eq!(rendered.warnings, []);
        rendered.text
    }

    fn section<'a>(text: &'a str, heading: &str) -> &'a str {
        let (_, after) = text.split_once(&format!("\n## {heading}\n")).unwrap();
        after.split_once("\n## ").map_or(after, |(section, _)| section)
    }

    #[test]
    fn the_prompt_gives_one_task_and_the_command_that_records_it() {
        let text = render(PROMPT, &context());
        assert!(text.starts_with("# One task: 1.2 Write the lexer\n"), "{text}");
        assert!(text.contains("samuel run done 1.2 --commit-sha $(git rev-parse --verify HEAD)\n"));
        assert!(text.contains("samuel run skip 1.2 --reason"));
        assert!(text.contains("samuel run block 1.2 --reason"));
        assert!(text.contains("samuel run ask 1.2 \""));
        assert!(text.contains("samuel run enqueue "));
        assert!(text.contains("Do not start another task"));
        assert!(text.contains("Never edit files below `.samuel` yourself"));
        assert!(
            section(&text, "The task").contains("  - `src/lex.rs`\n- Files to create:\n  - `tests/lex.rs`\n")
        );
    }

    #[test]
    fn the_prompt_lists_what_acceptance_asks_for_and_what_the_task_is_a_part_of() {
        let plain = render(PROMPT, &context());
        assert!(!plain.contains("- [ ]") && !plain.contains("## What it is a part of"), "{plain}");
        let mut part = context();
        if let Some(task) = &mut part.state.next_task {
            task.acceptance = vec!["It is fast".to_owned(), "It is small".to_owned()];
        }
        let (id, title, status) = ("1".to_owned(), "Parse".to_owned(), "pending".to_owned());
        part.state.parent = Some(TaskGroup { id, title, status, description: "Both.".to_owned(), parts: 2 });
        let (id, title, status) = ("1.1".to_owned(), "Read".to_owned(), "completed".to_owned());
        part.state.siblings = vec![SiblingTask { id, title, status }];
        let text = render(PROMPT, &part);
        let task = section(&text, "The task");
        assert!(
            task.ends_with("\nIt is done when all of this holds:\n\n- [ ] It is fast\n- [ ] It is small\n"),
            "{task}"
        );
        assert_eq!(
            section(&text, "What it is a part of"),
            "\n`1` Parse (tasks in it: 2)\n\nBoth.\n\nLeave to the others what is theirs:\n\n- `1.1` Read (completed)\n"
        );
    }

    #[test]
    fn the_prompts_name_the_prd_where_there_is_one() {
        let mut with = context();
        with.paths.source_prd = "/work/demo/docs/prd.md".to_owned();
        for template in [PROMPT, DISCOVERY_PROMPT] {
            assert!(render(template, &with).contains("names as `prd`: the PRD that the plan was made from"));
            assert!(!render(template, &context()).contains("the PRD"));
        }
    }

    #[test]
    fn the_prompt_asks_for_a_commit_only_where_there_is_a_repository() {
        let text = render_in(PROMPT, &context(), false);
        assert!(text.contains("\n   samuel run done 1.2\n"), "{text}");
        assert!(!text.contains("Commit.") && !text.contains("--commit-sha"), "{text}");
    }

    #[test]
    fn the_prompt_names_the_context_files_relative_to_the_project() {
        let text = render(PROMPT, &context());
        let files = section(&text, "Where to look");
        for file in ["task-context.toon", "progress-context.md", "project-snapshot.toon"] {
            assert!(files.contains(&format!("- `.samuel/run/{file}`: ")), "{file} in {files}");
        }
    }

    #[test]
    fn the_prompt_tells_of_failures_only_after_a_check_failed() {
        assert!(!render(PROMPT, &context()).contains("## Repair this first"));
        let mut failed = context();
        failed.state.last_failures = vec![FailedCheck {
            command: "cargo test".to_owned(),
            message: "exit code 101".to_owned(),
            tail: "assertion failed\nat lex.rs:3".to_owned(),
            ..FailedCheck::default()
        }];
        let text = render(PROMPT, &failed);
        let repair = section(&text, "Repair this first");
        assert!(
            repair.contains(
                "- `cargo test`:\n\n      exit code 101\n\n      assertion failed\n      at lex.rs:3\n"
            ),
            "{repair}"
        );
        assert!(render(DISCOVERY_PROMPT, &failed).contains("- `cargo test`:\n\n      exit code 101\n"));
    }

    #[test]
    fn the_prompt_lists_the_checks_or_asks_for_the_usual_ones() {
        assert!(render(PROMPT, &context()).contains("3. Check the result"));
        let mut checked = context();
        checked.config.quality_checks = vec!["cargo test".to_owned(), "cargo fmt --check".to_owned()];
        let text = render(PROMPT, &checked);
        assert!(text.contains("   - `cargo test`\n   - `cargo fmt --check`\n"), "{text}");
    }

    #[test]
    fn optional_parts_appear_when_there_is_something_to_say() {
        let mut rich = context();
        rich.project.description = "A demonstration".to_owned();
        rich.project.branch = "main".to_owned();
        rich.paths.agents_md = "/work/demo/AGENTS.md".to_owned();
        rich.guardrails.extra = vec!["No new dependencies.".to_owned()];
        rich.guardrails.branch_convention = "topic/name".to_owned();
        rich.mode.focus = "testing".to_owned();
        rich.state.suggestions = vec![Suggestion {
            name: "edit_docs".to_owned(),
            reason: "docs changed".to_owned(),
            ..Suggestion::default()
        }];
        let text = render(PROMPT, &rich);
        assert!(
            text.contains("**demo** in `/work/demo`, on the branch `main`.\n")
                && text.contains("\nA demonstration\n"),
            "{text}"
        );
        assert!(text.contains("- `AGENTS.md`: "));
        assert!(text.contains("- No new dependencies.\n"));
        assert!(text.contains("- ability `edit_docs`:\n\n      docs changed\n"));
        assert!(text.contains("`topic/name`"));
        assert!(render(DISCOVERY_PROMPT, &rich).contains("\nLook for missing, weak or failing tests.\n"));
    }

    #[test]
    fn discovery_adds_tasks_through_the_command_and_changes_nothing_else() {
        let mut discovery = context();
        discovery.state.next_task = None;
        let text = render(DISCOVERY_PROMPT, &discovery);
        assert!(text.contains("samuel run enqueue \"what is to be done, and where\" --priority high"));
        assert!(text.contains("--source pilot-discovery"));
        assert!(text.contains("Add at most 10 tasks"));
        assert!(text.contains("samuel run ask ID \""));
        assert!(text.contains("Do not change code"));
    }

    #[test]
    fn prompts_name_only_commands_that_are_served() {
        const SERVED: [&str; 7] = ["ask", "block", "done", "enqueue", "learn", "skip", "task"];
        for text in [render(PROMPT, &context()), render(DISCOVERY_PROMPT, &context())] {
            let commands = text.lines().filter_map(|line| line.trim().strip_prefix("samuel run "));
            let named: Vec<&str> = commands.filter_map(|command| command.split(' ').next()).collect();
            assert!(named.contains(&"learn"), "{text}");
            assert!(named.iter().all(|name| SERVED.contains(name)), "{named:?}");
            assert!(!text.contains("progress.md"), "{text}");
        }
    }
}
