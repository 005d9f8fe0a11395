//! Which names of tools mean the same kind of tool.
//!
//! Codex has one name for a tool in its hooks and another in its stream.

/// How Codex's stream calls a change of files.
pub(super) const FILE_CHANGE: &str = "file_change";
/// The kind of tools that run a command.
pub(super) const SHELL: &str = "shell";
/// The kind of tools that apply a patch.
pub(super) const PATCH: &str = "patch";

/// Returns what kind of tool a name means: Codex names its tools one way to its hooks, and another
/// way in its stream. A tool of an MCP server is one of its own, whatever it is called.
pub(super) fn kind_of(ability_id: &str) -> String {
    if ability_id.starts_with("mcp") {
        return ability_id.to_owned();
    }
    let name: String = ability_id.chars().filter(char::is_ascii_alphanumeric).collect();
    let name = name.to_ascii_lowercase();
    match name.as_str() {
        "" => ability_id.to_owned(),
        "bash" | "shell" | "localshell" | "execcommand" | "commandexecution" => SHELL.to_owned(),
        "applypatch" | "filechange" => PATCH.to_owned(),
        _ => name,
    }
}
