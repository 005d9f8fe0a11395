//! Values in lines of sh and bash.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::{
    collections::BTreeMap,
    io::Write,
    process::{Command, Stdio},
};

use super::*;

/// Titles that are meant to be run. `P` stands for a file that must not be made.
const HOSTILE: [&str; 14] = [
    "$(touch P)",
    "`touch P`",
    "; touch P",
    "'; touch P; '",
    "\"; touch P; \"",
    "' \" `touch P` $(touch P) ${x:-$(touch P)}",
    "a\ntouch P\n\n",
    "EOF\ntouch P\n",
    "\\'; touch P #\\",
    ") touch P (",
    "&& touch P || x | y > z < w & * ? [a] ~ {a,b} !!",
    "na\u{ef}ve 日本語 🚀 \u{202e}evil\r\t\u{1b}[31m",
    "-n -e %s \\n \\\\ \\x41 $'x' ${IFS} $HOME",
    "a[$(touch P)]=1} SAMUEL_END_1 {{task_id}} \\{{x}}",
];

/// Places of a variable, each a line that prints its value between `<` and `>`, and nothing else.
const CONTEXTS: [&str; 14] = [
    "printf '<%s>' {{task_content}}",
    "printf '<%s>' \"{{ task_content }}\"",
    "printf %s '<{{task_content}}>'",
    "printf %s \"$(printf '<%s>' \"{{task_content}}\"; printf x)\" | sed '$s/x$//'",
    "x={{task_content}}; printf %s \"<$x>\"",
    "printf %s $'<{{task_content}}>'",
    "printf %s $'\\074{{task_content}}\\x3e' | sed '1s/^\\$*\\\\074/</' | sed '$s/\\$*\\\\x3e$/>/'",
    "cat <<EOF | sed '$d'\n<{{task_content}}>\n\nEOF\n",
    "cat <<'EO F' | sed '$d'\n<{{task_content}}>\n\nEO F\n",
    "# it's {{task_content}} ${\nprintf '<%s>' {{task_content}}",
    "if [ -n {{task_content}} ]; then for x in {{task_content}}; do printf '<%s>' \"$x\"; done; fi",
    "printf '<%s>' `printf %s ok >&2; printf '' {{task_content}}`{{task_content}} 2>/dev/null",
    "(cd / && { printf '<%s>' ''{{task_content}}\"\"; })",
    "printf \"<\"{{task_content}}'>' >/dev/null; printf '<%s>' \"{{task_content}}\"; echo \"$(cat <<E\n{{task_content}}\nE\n)\" >/dev/null",
    "sh -c 'printf \"<%s>\" \"$1\"' sh {{task_content}}",
];

fn read(text: &str) -> Result<ShellText, Refused> {
    ShellText::read(text, |name| {
        Variable::named(name).ok_or_else(|| (format!("unknown {name}"), String::new()))
    })
}

/// Runs a line by a shell in a directory.
fn run(shell: &str, line: &ReadyLine, directory: &std::path::Path) -> (Vec<u8>, String) {
    let mut command = Command::new(shell);
    command.args(["-c", &line.text]).current_dir(directory).env_clear().env("PATH", "/usr/bin:/bin");
    command
        .envs(line.env.iter().cloned())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (mut stdin, text) = (child.stdin.take().unwrap(), line.stdin.clone());
    let writer = std::thread::spawn(move || drop(stdin.write_all(text.as_bytes())));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    (output.stdout, String::from_utf8_lossy(&output.stderr).into_owned())
}

fn arrives(shell: &str, context: &str, value: &str) {
    let directory = tempfile::tempdir().unwrap();
    let text = read(context).unwrap_or_else(|refused| panic!("{context}: {refused:?}"));
    let values = BTreeMap::from([(Variable::TaskContent, value.to_owned())]);
    let (stdout, stderr) = run(shell, &text.with(&values), directory.path());
    let shown = String::from_utf8_lossy(&stdout);
    // Not every sh knows $'..', and then the dollar is one.
    let shown = if context.contains("$'<") { shown.trim_start_matches('$') } else { &*shown };
    let expected = format!("<{value}>");
    let tail = |text: &str| text.chars().rev().take(80).collect::<String>();
    assert!(
        shown.trim_end_matches('\n') == expected.trim_end_matches('\n') || shown == expected,
        "{shell}: {context}\n{}\n{}\n{}\n{stderr}",
        tail(shown),
        tail(&expected),
        text.text
    );
    assert_eq!(
        std::fs::read_dir(directory.path()).unwrap().count(),
        0,
        "{shell}: {context}: {value} was run"
    );
}

#[test]
fn hostile_titles_arrive_byte_for_byte_in_every_context_and_execute_nothing() {
    for shell in ["sh", "bash"] {
        for context in CONTEXTS {
            for value in HOSTILE {
                arrives(shell, context, value);
            }
        }
    }
}

#[test]
fn titles_of_any_length_arrive() {
    for shell in ["sh", "bash"] {
        for length in [MAX_IN_ENV - 1, MAX_IN_ENV + 1, 200_000, 3_000_000] {
            let value = "a'\"$(touch P)\n".repeat(length / 14 + 1);
            for context in [CONTEXTS[0], CONTEXTS[2], CONTEXTS[7]] {
                arrives(shell, context, &value);
            }
        }
    }
}

#[test]
fn a_value_has_no_say_in_what_is_run() {
    for line in [
        "{{task_content}}",
        "./scripts/{{task_content}}.sh",
        "true; {{task_content}} x",
        "true && exec {{task_content}}",
        "A=1 env B=2 {{task_content}}",
        "for x in 1; do {{task_content}}; done",
        "for x do {{task_content}}; done",
        ". {{task_content}}",
        "f() { {{task_content}}; }",
        "echo \"$({{task_content}})\"",
        "echo `{{task_content}}`",
        "case x in x) {{task_content}};; esac",
        "eval echo {{task_content}}",
        "eval 'echo {{task_content}}'",
        "sh -c 'echo {{task_content}}'",
        "bash -ec \"echo {{task_content}}\"",
        "find . -exec sh -c 'echo {{task_content}}' \\;",
        "python3 -c 'print(\"{{task_content}}\")'",
        "perl -e 'print {{task_content}}'",
        "perl -e{{task_content}}",
        "awk '{ print {{task_content}} }' x",
        "sed -i \"s/x/{{task_content}}/\" x",
        "ssh host echo {{task_content}}",
        "bash <<EOF\necho {{task_content}}\nEOF\n",
        "trap 'echo {{task_content}}' EXIT",
        "echo $(( {{task_content}} + 1 ))",
        "(( {{task_content}} > 1 ))",
        "[[ x -eq {{task_content}} ]]",
        "test -v {{task_content}}",
        "printf -v {{task_content}} x",
        "export {{task_content}}",
        "read {{task_content}}",
        "unset {{task_content}}",
        "echo ${x:-{{task_content}}}",
        "echo \"${x:-{{task_content}}}\"",
        "echo \"${x:-'}\" {{task_content}}",
        "echo $(case x in x) echo {{task_content}};; esac)",
        "echo `echo \\`echo {{task_content}}\\``",
        "echo $'\\'' {{task_content}}",
        "cat <<{{task_content}}\n",
        "echo 'not closed {{task_content}}\n\"",
        "cat <<A 'b\n{{task_content}}\n'\nA\n",
    ] {
        match read(line) {
            Err(refused) => assert!(!refused.help.is_empty(), "{line}: {refused:?}"),
            // A quotation that nothing closes is a syntax error to every shell.
            Ok(text) => assert!(line.contains("not closed"), "{line}: {}", text.text),
        }
    }
}

#[test]
fn what_is_no_code_is_let_through() {
    for line in [
        "./scripts/validate-task.sh {{task_id}}",
        "curl -X POST $SLACK_WEBHOOK -d '{\"text\": \"Iteration {{iteration}} done\"}'",
        "export TITLE={{task_content}} && make",
        "X={{task_content}} ./run",
        "timeout 5 notify-send \"Done: {{task_content}}\"",
        "[ $(( {{iteration}} % 5 )) -eq 0 ] && echo five",
        "sh -c 'echo {{iteration}}'",
        "grep -F -e {{task_content}} file > out-{{task_id}}.txt 2>&1 < /dev/null",
        "git commit -m \"$(printf '%s' {{task_content}})\" || true",
        "docker ps --format '{{.Names}}' | grep {{session}}",
    ] {
        read(line).unwrap_or_else(|refused| panic!("{line}: {refused:?}"));
    }
}

#[test]
fn braces_with_a_backslash_are_braces_and_a_dollar_before_a_variable_is_a_dollar() {
    let directory = tempfile::tempdir().unwrap();
    let values = BTreeMap::from([(Variable::CostUsd, "1.50".to_owned())]);
    let line = "printf '%s|' \\{{x}} '\\{{x}}' \"\\{{x}}\" ${{cost_usd}} \"a ${{cost_usd}}\" '${{cost_usd}}' '{{.x}}'; cat <<'E'\n$x `y` \\z\\\\{{cost_usd}}\nE\n";
    for shell in ["sh", "bash"] {
        let (stdout, stderr) = run(shell, &read(line).unwrap().with(&values), directory.path());
        let expected = "{{x}}|{{x}}|{{x}}|$1.50|a $1.50|$1.50|{{.x}}|$x `y` \\z\\\\1.50\n";
        assert_eq!(String::from_utf8_lossy(&stdout), expected, "{shell}: {stderr}");
    }
}

#[test]
fn a_line_without_variables_is_not_touched() {
    let line = "# it's\necho `echo \\`x\\`` ${x:-'}'} $((1 + 2)) <<'EOF'\nEOF\n";
    assert_eq!(read(line).unwrap().text, line);
}

proptest::proptest! {
    #[test]
    fn any_line_is_read_or_refused(line in r#"[a-z '"$(){}`\\\n<;|&#=\[\]-]{0,60}(\{\{task_id\}\}[a-z '"$(){}`\\\n<;|&#]{0,20}){0,3}"#) {
        drop(read(&line));
    }
}
