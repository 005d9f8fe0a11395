//! The files of a project that an agent's program reads unasked.

/// Files that agents' programs find by themselves in a project and execute commands of:
/// settings with hooks, and servers of tools. Each with the agents that read it; patterns
/// are relative to the project's root.
const OWN_FILES: &[(&str, &[&str])] = &[
    (".claude/settings*.json", &["claude", "copilot"]),
    (".codex/**/*", &["codex"]),
    (".gemini/settings.json", &["gemini"]),
    (".github/copilot/settings*.json", &["copilot"]),
    (".github/hooks/**/*", &["copilot"]),
    (".mcp.json", &["claude", "copilot"]),
];

/// Agents of which it is known what they read. Any other may be a wrapper around one.
const KNOWN: &[&str] = &["claude", "codex", "copilot", "gemini", "scripted"];

/// Returns the files, as patterns relative to the project's root, that an agent's program
/// reads unasked and executes commands of.
pub fn own_files(agent: &str) -> impl Iterator<Item = &'static str> {
    let of_agent = move |readers: &[&str]| readers.contains(&agent) || !KNOWN.contains(&agent);
    OWN_FILES.iter().filter(move |(_, readers)| of_agent(readers)).map(|(pattern, _)| *pattern)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_has_its_own_files_and_an_unknown_program_may_have_all() {
        let of = |agent: &'static str| own_files(agent).collect::<Vec<_>>();
        assert_eq!(of("claude"), [".claude/settings*.json", ".mcp.json"]);
        let of_copilot =
            [".claude/settings*.json", ".github/copilot/settings*.json", ".github/hooks/**/*", ".mcp.json"];
        assert_eq!(of("copilot"), of_copilot);
        assert_eq!(of("scripted"), [""; 0]);
        assert_eq!(of("command").len(), OWN_FILES.len());
    }
}
