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
const CONTEXTS: [&str; 15] = [
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
        "sh -ce 'echo {{task_content}}'",
        "sh -cx 'echo {{task_content}}'",
        "bash -c -- 'echo {{task_content}}'",
        "bash -euo pipefail -c 'echo {{task_content}}'",
        "sudo -u bob bash -lc 'echo {{task_content}}'",
        "docker exec -i box sh -ec 'echo {{task_content}}'",
        "su bob -c 'echo {{task_content}}'",
        "echo $[ {{task_content}} ]",
        "echo \"$[{{task_content}}]\"",
        "for (( i={{task_content}}; i < 3; i++ )); do echo; done",
        "echo $(( $(printf %s {{task_content}}) + 1 ))",
        "bash <<< {{task_content}}",
        "bash -s x <<< {{task_content}}",
        "python3 - <<EOF\n{{task_content}}\nEOF\n",
        "cat <<EOF | sh\n{{task_content}}\nEOF\n",
        "echo {{task_content}} | sh",
        "echo {{task_content}} | tee log | bash -s",
        "echo {{task_content}} | python3",
        "echo {{task_content}} | sudo -u bob sh",
        "echo {{task_content}} | ssh host",
        "echo {{task_content}} | ssh -p 22 host bash",
        "{ true; echo {{task_content}}; } | sh",
        "(echo {{task_content}}; true) | sh",
        "for i in 1 2; do echo {{task_content}}; done | sh",
        "awk -F : '{ print {{task_content}} }' x",
        "awk -v a=1 '{ print {{task_content}} }' x",
        "sed -n -e p -e \"s/x/{{task_content}}/\" x",
        "sed x -e \"s/x/{{task_content}}/\"",
        "sed \"s/x/{{task_content}}/\" x",
        "sudo -u bob {{task_content}}",
        "sudo --user bob {{task_content}}",
        "timeout -s KILL 5 {{task_content}}",
        "env -u A {{task_content}}",
        "ls | xargs -I % {{task_content}}",
        "find . -exec {{task_content}} \\;",
        "npx {{task_content}}",
        "uv run {{task_content}}",
        "sh {{task_content}}",
        "sh scripts/{{task_content}}.sh",
        "bash -x {{task_content}}",
        "python3 {{task_content}}",
        "python3 -m {{task_content}}",
        "node -pe {{task_content}}",
        "sh <(echo {{task_content}})",
        "eval \"$(printf %s {{task_content}})\"",
        "$(printf %s {{task_content}}) x",
        "x={{task_content}}; eval $x",
        "x={{task_content}}; eval \"echo $x\"",
        "x={{task_content}} && y=$x && sh -c \"$y\"",
        "x={{task_content}}; $x",
        "x=$(printf %s {{task_content}}); \"${x}\" a",
        "x={{task_content}}; echo $x | sh",
        "for x in {{task_content}}; do $x; done",
        "PATH={{task_content}}:$PATH make",
        "BASH_ENV={{task_content}} bash x",
        "[[ a || 1 -eq {{task_content}} ]]",
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
        "awk -v t={{task_id}} '$1 == t' x",
        "awk -F : -v t={{task_id}} '$1 == t' x",
        "awk '{ print }' {{task_id}}",
        "sed \"s/x/y/\" f {{task_id}}",
        "sed -n -e p {{task_id}}",
        "export T={{task_id}}; ./v.sh",
        "export T={{task_id}}; curl -s x | sh",
        "printf '%s\\n' {{task_id}} | ssh host 'read -r t; notify \"$t\"'",
        "T={{task_id}} awk '{gsub(/x/, ENVIRON[\"T\"])} 1' f",
        "sh scripts/validate.sh {{task_id}}",
        "bash -euo pipefail scripts/validate.sh {{task_id}}",
        "python3 -u notify.py --title {{task_content}} -c {{task_id}}",
        "python3 -c 'import sys; print(sys.argv[1])' {{task_id}}",
        "perl -e 'print $ARGV[0]' {{task_id}}",
        "echo {{task_id}} | python3 notify.py",
        "echo {{task_id}} | bash -c 'read -r t; echo \"$t\"'",
        "grep python <<< {{task_content}}",
        "find . -name {{task_id}} -exec grep -F {{task_id}} {} +",
        "sudo -u bob ./notify.sh {{task_id}}",
        "timeout -s KILL 5 uv run notify {{task_id}}",
        "env A={{task_id}} ./v.sh",
        "x={{task_id}}; [[ $x == TAS-* ]] && ./v.sh \"$x\"",
        "for ((i = 0; i < 3; i++)); do echo {{task_id}}; done",
        "echo {{task_id}} > done.txt; ls | sh",
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
fn a_help_that_shows_a_line_shows_one_that_is_let_through() {
    for (line, shown) in [
        ("ssh host notify {{task_id}}", "ssh host 'read -r value"),
        ("sed \"s/x/{{task_id}}/\" f", "ENVIRON[\"T\"]"),
        ("sh -c 'echo {{task_id}}'", "sh {{task_id}}"),
    ] {
        let help = read(line).unwrap_err().help;
        let example = help.split('`').nth(1).unwrap();
        assert!(example.contains(shown), "{help}");
        read(example).unwrap_or_else(|refused| panic!("{example}: {refused:?}"));
    }
}

#[test]
fn lines_of_any_length_are_read_in_little_time() {
    let long = ["{", "\\{{", "{{ ", "{{a", "$'", "<<'A' "].map(|part| part.repeat((1 << 20) / part.len()));
    let begun = std::time::Instant::now();
    for text in long {
        drop(read(&text));
        drop(read(&format!("{text} {{{{task_id}}}}")));
        drop(template::Template::read(&text, |_| Err::<Variable, ()>(())));
    }
    assert!(read(&"echo {{task_id}}; ".repeat(10_000)).unwrap_err().what.contains("64 KiB"));
    drop(read(&"echo {{task_id}}; ".repeat(3_000)));
    drop(read(&format!("sed p {}", "{{task_id}} ".repeat(5_000))));
    assert!(begun.elapsed().as_secs() < 120, "{:?}", begun.elapsed());
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
