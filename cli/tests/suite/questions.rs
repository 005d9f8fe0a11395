//! Questions about tasks, asked and answered at the command line.

use crate::bench::Bench;

#[test]
fn a_question_is_listed_until_it_is_answered_and_the_next_prompt_has_both() {
    let bench = Bench::with_tasks(&["First"]);
    let asked = bench.ok(&["run", "ask", "1", "Which one?", "--option", "this", "--option", "that"]);
    assert!(asked.stdout.starts_with("1 waits for an answer (change "), "{asked:?}");
    let status = bench.ok(&["run", "status"]).stdout;
    assert!(status.contains("Questions (answer with `samuel run answer <ID> <TEXT>`):\n"), "{status}");
    assert!(status.contains("  1 First: Which one? (this | that)\n"), "{status}");
    assert!(status.contains("  1 waits for an answer: Which one?\n"), "{status}");
    assert!(bench.ok(&["run", "tasks"]).stdout.contains("(asks: Which one?)"));
    assert!(bench.ok(&["run", "show", "1"]).stdout.contains("blocked, waits for an answer: Which one?"));
    let ended = bench.start("true", &[]);
    assert_eq!(ended.code, 3, "{ended:?}");
    let told = format!("{}{}", ended.stdout, ended.stderr);
    assert!(told.contains("1 waits for an answer: Which one?"), "{ended:?}");
    let status = bench.ok(&["run", "status"]).stdout;
    let (lines, lists) = status.split_once("\nBlocked:\n").unwrap();
    assert!(lines.contains("\n  Time left  ") && !lists.contains("Time left"), "{status}");
    let answered = bench.ok(&["run", "answer", "1", "that"]);
    assert!(
        answered.stdout.starts_with("1 is pending, and its next prompt holds the answer"),
        "{answered:?}"
    );
    let second = bench.samuel(&["--json", "run", "answer", "1", "this"]).ends(1).json();
    assert_eq!(second["error"]["code"], "E_QUESTION_NOT_OPEN", "{second}");
    assert!(second["error"]["message"].to_string().contains("somebody answered it already"), "{second}");
    let prompt = bench.ok(&["run", "prompt"]).stdout;
    assert!(prompt.contains("begin: question about task 1]\nWhich one?\n"), "{prompt}");
    assert!(prompt.contains("begin: message from the user]\nthat\n"), "{prompt}");
    let done = bench.start("cat >heard; \"$SAMUEL_BINARY\" run done 1", &[]);
    assert_eq!(done.code, 0, "{done:?}");
    assert_eq!(bench.read("heard").matches("begin: message from the user]\nthat\n").count(), 1);
    assert!(!bench.ok(&["run", "status"]).stdout.contains("Questions"));
}

#[test]
fn what_cannot_be_asked_or_answered_has_a_code_and_leaves_the_plan_as_it_is() {
    let bench = Bench::with_tasks(&["First", "Second"]);
    bench.ok(&["run", "done", "2"]);
    let before = std::fs::read(bench.root().join(".samuel/run/prd.toon")).unwrap();
    let long = "x".repeat(100_000);
    for (words, code, expected) in [
        (&["ask", "9", "a?"][..], "E_TASK_NOT_FOUND", 1),
        (&["ask", "2", "a?"], "E_QUESTION_REFUSED", 1),
        (&["ask", "1", " "], "E_QUESTION_INVALID", 2),
        (&["ask", "1", &long], "E_QUESTION_INVALID", 2),
        (&["ask", "1", "a\u{1b}[2J"], "E_QUESTION_INVALID", 2),
        (&["ask", "1", "a?", "--option", "b\nc"], "E_QUESTION_INVALID", 2),
        (&["answer", "1", "b"], "E_QUESTION_NOT_OPEN", 1),
        (&["answer", "9", "b"], "E_TASK_NOT_FOUND", 1),
    ] {
        let ran = bench.samuel(&[&["--json", "run"], words].concat());
        assert_eq!((ran.code, &ran.json()["error"]["code"]), (expected, &code.into()), "{words:?} {ran:?}");
    }
    assert_eq!(std::fs::read(bench.root().join(".samuel/run/prd.toon")).unwrap(), before);
}

#[test]
fn an_agent_may_ask_and_not_answer() {
    let bench = Bench::with_tasks(&["First"]);
    let ran = bench
        .start("\"$SAMUEL_BINARY\" run ask 1 'a?' && \"$SAMUEL_BINARY\" run answer 1 b 2>denied; true", &[]);
    assert_eq!(ran.code, 3, "{ran:?}");
    let denied = std::fs::read_to_string(bench.root().join("denied")).unwrap();
    assert!(denied.contains("\"answer\" is no change that an agent makes"), "{denied}");
    assert_eq!(bench.status("1"), "blocked");
}
