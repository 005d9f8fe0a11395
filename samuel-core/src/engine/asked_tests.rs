use super::{Answered::*, Firing::*, *};

fn call(id: &str, tool: &str) -> AbilityCall {
    AbilityCall {
        call_id: id.to_owned(),
        ability_id: tool.to_owned(),
        input: "{}".to_owned(),
        ..AbilityCall::default()
    }
}

fn end(id: &str, tool: &str, status: AbilityStatus) -> AbilityResult {
    AbilityResult { call_id: id.to_owned(), ability_id: tool.to_owned(), status, ..AbilityResult::default() }
}

fn ok(id: &str, tool: &str) -> AbilityResult {
    end(id, tool, AbilityStatus::Success)
}

fn failed(id: &str, tool: &str) -> AbilityResult {
    end(id, tool, AbilityStatus::Error)
}

impl AskedCalls {
    fn decide(&mut self, id: &str, tool: &str, answered: Answered) -> u64 {
        let number = self.asks(&call(id, tool));
        self.answered(number, answered, "no network");
        number
    }
}

const NOTHING: [Firing; 0] = [];

#[test]
fn a_call_with_the_streams_id_that_was_asked_and_told_of_fires_nothing_more() {
    // Whichever of hook and stream comes first.
    for order in ["bhrt", "hbrt", "hbtr", "bhtr"] {
        let mut asked = AskedCalls::new(true, true);
        for step in order.chars() {
            match step {
                'b' => assert_eq!(asked.begins(call("1", "Bash")), NOTHING),
                'h' => _ = asked.decide("1", "Bash", Allowed),
                'r' => assert_eq!(asked.ends(ok("1", "Bash")), NOTHING),
                _ => assert_eq!(asked.tells(&ok("1", "Bash")), Some(Vec::new())),
            }
        }
        assert_eq!((asked.goes_on(), asked.finish()), (Vec::new(), Vec::new()), "{order}");
        assert_eq!(asked.tells(&ok("1", "Bash")), None, "once is enough");
    }
}

#[test]
fn what_the_hooks_do_not_tell_the_stream_does_once_the_agent_goes_on() {
    let mut asked = AskedCalls::new(true, true);
    asked.begins(call("1", "Bash"));
    asked.decide("1", "Bash", Allowed);
    assert_eq!(asked.ends(failed("1", "Bash")), NOTHING);
    assert_eq!(asked.goes_on(), [After(failed("1", "Bash"))]);
    assert_eq!(asked.tells(&failed("1", "Bash")), None);
    // Or at the end, or with the next call.
    asked.begins(call("2", "Bash"));
    asked.decide("2", "Bash", Allowed);
    asked.ends(ok("2", "Bash"));
    assert_eq!(asked.begins(call("3", "Bash")), [After(ok("2", "Bash"))]);
    asked.decide("3", "Bash", Allowed);
    asked.ends(ok("3", "Bash"));
    assert_eq!(asked.finish(), [After(ok("3", "Bash"))]);
}

#[test]
fn a_result_waits_while_calls_beside_it_are_under_way() {
    let mut asked = AskedCalls::new(true, true);
    for id in ["1", "2"] {
        asked.begins(call(id, "Bash"));
        asked.decide(id, "Bash", Allowed);
    }
    assert_eq!(asked.ends(ok("1", "Bash")), NOTHING);
    assert_eq!(asked.goes_on(), NOTHING);
    assert_eq!(asked.ends(ok("2", "Bash")), NOTHING);
    assert_eq!(asked.tells(&ok("1", "Bash")), Some(Vec::new()));
    assert_eq!(asked.goes_on(), [After(ok("2", "Bash"))]);
}

#[test]
fn where_hooks_only_ask_the_stream_tells_at_once() {
    let mut asked = AskedCalls::new(true, false);
    asked.begins(call("1", "Bash"));
    asked.decide("1", "Bash", Allowed);
    assert_eq!(asked.ends(ok("1", "Bash")), [After(ok("1", "Bash"))]);
}

#[test]
fn a_call_that_nobody_was_asked_about_fires_with_its_result() {
    let mut asked = AskedCalls::new(true, true);
    assert_eq!(asked.begins(call("1", "Bash")), NOTHING);
    assert_eq!(asked.ends(ok("1", "Bash")), [Unasked(call("1", "Bash")), After(ok("1", "Bash"))]);
    assert_eq!(asked.tells(&ok("1", "Bash")), None, "only its hook before was killed");
    // Also where it has no result, and where the hook after it is the first to tell.
    asked.begins(call("2", "Bash"));
    assert_eq!(asked.tells(&ok("2", "Bash")), Some(vec![Unasked(call("2", "Bash"))]));
    assert_eq!(asked.ends(ok("2", "Bash")), NOTHING);
    asked.begins(call("3", "Bash"));
    assert_eq!(asked.finish(), [Unasked(call("3", "Bash"))]);
}

#[test]
fn an_answer_that_was_lost_or_not_waited_for_counts_as_none() {
    for answered in [Some(Lost), None] {
        let mut asked = AskedCalls::new(true, true);
        asked.begins(call("1", "Bash"));
        let number = asked.asks(&call("1", "Bash"));
        if let Some(answered) = answered {
            asked.answered(number, Allowed, "");
            asked.answered(number, answered, "");
        }
        let fired = asked.ends(ok("1", "Bash"));
        assert_eq!(fired, [Unasked(call("1", "Bash")), After(ok("1", "Bash"))]);
    }
}

#[test]
fn a_blocked_call_fires_nothing_unless_it_was_made_all_the_same() {
    let mut asked = AskedCalls::new(true, true);
    for id in ["1", "2"] {
        asked.begins(call(id, "Bash"));
        asked.decide(id, "Bash", Blocked);
    }
    assert_eq!(asked.ends(failed("1", "Bash")), NOTHING);
    assert_eq!(asked.tells(&failed("1", "Bash")), None);
    assert_eq!(asked.ends(ok("2", "Bash")), [Unasked(call("2", "Bash")), After(ok("2", "Bash"))]);
    assert_eq!(asked.finish(), NOTHING);
}

#[test]
fn with_other_ids_the_first_of_a_kind_is_the_first_that_was_asked_about() {
    let mut asked = AskedCalls::new(true, true);
    asked.decide("call_1", "Bash", Allowed);
    let patch = "{\"command\":\"*** Begin Patch\\n*** Add File: a\\n+a\\n*** End Patch\"}";
    let number = asked.asks(&with("call_2", "apply_patch", patch));
    asked.answered(number, Allowed, "");
    asked.begins(call("item_0", "command_execution"));
    assert_eq!(asked.ends(failed("item_0", "command_execution")), NOTHING);
    assert_eq!(asked.goes_on(), [After(failed("call_1", "Bash"))], "as the hooks name it");
    asked.begins(with("item_1", "file_change", r#"{"changes":[{"path":"/p/a","kind":"add"}]}"#));
    assert_eq!(asked.ends(ok("item_1", "file_change")), NOTHING);
    assert_eq!(asked.tells(&ok("call_2", "apply_patch")), Some(Vec::new()));
    // A third was not asked about.
    asked.begins(call("item_2", "command_execution"));
    let unasked = [Unasked(call("item_2", "command_execution")), After(ok("item_2", "command_execution"))];
    assert_eq!(asked.ends(ok("item_2", "command_execution")), unasked);
}

#[test]
fn hooks_without_ids_tell_of_the_first_that_is_open() {
    let mut asked = AskedCalls::new(true, true);
    asked.decide("", "run_shell_command", Allowed);
    asked.begins(call("a", "run_shell_command"));
    assert_eq!(asked.tells(&ok("", "run_shell_command")), Some(Vec::new()));
    assert_eq!(asked.ends(ok("a", "run_shell_command")), NOTHING);
    assert_eq!(asked.finish(), NOTHING);
}

#[test]
fn a_blocked_call_of_a_kind_is_known_by_its_reason_or_its_failure() {
    let mut asked = AskedCalls::new(true, true);
    asked.decide("", "shell", Allowed);
    asked.decide("", "shell", Blocked);
    let why = Some("Tool was blocked:\nno  network".to_owned());
    assert_eq!(asked.ends(AbilityResult { output_summary: why, ..failed("b", "shell") }), NOTHING);
    assert_eq!(asked.ends(ok("a", "shell")), NOTHING);
    assert_eq!(asked.finish(), [After(ok("a", "shell"))]);
    // In words of the agent alone.
    asked.decide("", "shell", Blocked);
    assert_eq!(asked.ends(failed("c", "shell")), NOTHING);
    assert_eq!(asked.finish(), NOTHING);
}

#[test]
fn blocked_calls_that_the_stream_does_not_show_hide_no_others() {
    let mut asked = AskedCalls::new(true, false);
    asked.decide("call_1", "Bash", Blocked);
    asked.decide("call_2", "Bash", Allowed);
    let named = failed("call_2", "Bash");
    assert_eq!(asked.ends(failed("item_0", "command_execution")), [After(named)]);
    assert_eq!(asked.ends(failed("item_1", "command_execution")).len(), 2, "this one did not ask");
}

#[test]
fn calls_that_share_ids_are_not_mixed_up_by_their_kind() {
    let mut asked = AskedCalls::new(true, true);
    asked.begins(call("1", "Bash"));
    asked.begins(call("2", "Bash"));
    asked.decide("2", "Bash", Allowed);
    assert_eq!(asked.ends(ok("1", "Bash")), [Unasked(call("1", "Bash")), After(ok("1", "Bash"))]);
    assert_eq!(asked.tells(&ok("2", "Bash")), Some(Vec::new()));
    assert_eq!(asked.ends(ok("2", "Bash")), NOTHING);
}

#[test]
fn where_hooks_only_tell_nobody_misses_the_question() {
    // With the ids of the stream, and without, whichever comes first.
    for id in ["1", "", "x"] {
        for hook_first in [true, false] {
            let mut asked = AskedCalls::new(false, true);
            assert_eq!(asked.begins(call("1", "Bash")), [Before(call("1", "Bash"))]);
            if hook_first {
                assert_eq!(asked.tells(&ok(id, "Bash")), Some(Vec::new()));
            }
            assert_eq!(asked.ends(ok("1", "Bash")), NOTHING);
            if !hook_first {
                assert_eq!(asked.tells(&ok(id, "Bash")), Some(Vec::new()));
            }
            assert_eq!(asked.finish(), NOTHING);
        }
    }
    let mut asked = AskedCalls::new(false, true);
    asked.begins(call("1", "Bash"));
    asked.ends(failed("1", "Bash"));
    assert_eq!(asked.finish(), [After(failed("1", "Bash"))]);
}

#[test]
fn what_is_remembered_is_bounded() {
    let mut asked = AskedCalls::new(true, true);
    let mut fired = 0;
    for number in 0..4 * MAX_CALLS {
        let id = number.to_string();
        fired += asked.begins(call(&id, "Bash")).len();
        asked.decide(&format!("call_{id}"), "Read", Allowed);
        fired += asked.ends(ok(&format!("item_{id}"), "Read")).len();
    }
    assert!(asked.calls.len() <= MAX_CALLS && asked.shown.len() <= MAX_CALLS);
    assert!(asked.results.len() <= MAX_CALLS);
    fired += asked.finish().len();
    assert_eq!(fired, 8 * MAX_CALLS, "none is lost");
}

#[test]
fn a_long_call_is_remembered_however_many_are_made_beside_it() {
    let mut asked = AskedCalls::new(true, true);
    asked.begins(call("long", "Task"));
    asked.decide("long", "Task", Allowed);
    for number in 0..2 * MAX_CALLS {
        let id = number.to_string();
        asked.begins(call(&id, "Read"));
        asked.decide(&id, "Read", Allowed);
        assert_eq!(asked.tells(&ok(&id, "Read")), Some(Vec::new()));
        assert_eq!(asked.ends(ok(&id, "Read")), NOTHING);
    }
    assert_eq!(asked.ends(ok("long", "Task")), NOTHING);
    assert_eq!(asked.finish(), [After(ok("long", "Task"))]);
}

#[test]
fn a_question_about_another_tool_does_not_stand_for_a_call_with_its_id() {
    let mut asked = AskedCalls::new(true, true);
    asked.begins(call("1", "Bash"));
    asked.decide("1", "Read", Allowed);
    assert_eq!(asked.ends(ok("1", "Bash")), [Unasked(call("1", "Bash")), After(ok("1", "Bash"))]);
    // A result that does not name its tool is that of the call.
    asked.decide("2", "Read", Allowed);
    assert_eq!(asked.tells(&ok("2", "Read")), Some(Vec::new()));
    assert_eq!(asked.ends(ok("2", "")), NOTHING);
}

fn with(id: &str, tool: &str, input: &str) -> AbilityCall {
    AbilityCall { input: input.to_owned(), ..call(id, tool) }
}

const HARMLESS: &str = r#"{"command":"ls"}"#;
const HARMFUL: &str = r#"{"command":"rm -rf /"}"#;

#[test]
fn a_question_about_other_arguments_does_not_stand_for_a_call() {
    // With the ids of the stream, and without.
    for id in ["1", ""] {
        let made = with("1", "Bash", HARMFUL);
        let mut asked = AskedCalls::new(true, true);
        asked.begins(made.clone());
        let number = asked.asks(&with(id, "Bash", HARMLESS));
        asked.answered(number, Allowed, "");
        assert_eq!(asked.ends(ok("1", "Bash")), [Unasked(made.clone()), After(ok("1", "Bash"))], "{id:?}");

        // Nor does what a hook tells of one that nobody was asked about.
        let mut asked = AskedCalls::new(true, true);
        let told = AbilityResult { input: Some(HARMLESS.to_owned()), ..ok(id, "Bash") };
        assert_eq!(asked.tells(&told), Some(vec![Unasked(with(id, "Bash", HARMLESS))]));
        asked.begins(made.clone());
        assert_eq!(asked.ends(ok("1", "Bash")), [Unasked(made), After(ok("1", "Bash"))], "{id:?}");
    }
}

#[test]
fn of_two_questions_under_one_id_the_one_about_the_arguments_counts() {
    let mut asked = AskedCalls::new(true, true);
    for (input, answered) in [(HARMLESS, Allowed), (HARMFUL, Blocked)] {
        let number = asked.asks(&with("1", "Bash", input));
        asked.answered(number, answered, "no");
    }
    let made = with("1", "Bash", HARMFUL);
    asked.begins(made.clone());
    assert_eq!(asked.ends(ok("1", "Bash")), [Unasked(made), After(ok("1", "Bash"))]);
}

#[test]
fn a_call_is_known_by_what_it_was_asked_with_and_by_what_handlers_left_of_it() {
    for shown in [HARMLESS, r#"{"command":"ls -l"}"#] {
        let mut asked = AskedCalls::new(true, true);
        let number = asked.asks(&with("", "Shell", r#"{"command":"ls","timeout":5}"#));
        asked.changed(number, r#"{"command":"ls -l","timeout":5}"#);
        asked.answered(number, Allowed, "");
        asked.begins(with("1", "Shell", shown));
        assert_eq!(asked.ends(ok("1", "Shell")), NOTHING, "{shown}");
        assert_eq!(asked.tells(&ok("", "Shell")), Some(Vec::new()));
    }
}

#[test]
fn each_tool_of_an_mcp_server_is_one_of_its_own() {
    for (asked_of, made, is_it) in [
        ("mcp__a__read", with("1", "mcp__a__read", "{}"), true),
        ("mcp__a__read", with("1", "mcp__a__write", "{}"), false),
        ("mcp__a__bc", with("1", "mcp__ab__c", "{}"), false),
    ] {
        let mut asked = AskedCalls::new(true, false);
        asked.decide("", asked_of, Allowed);
        asked.begins(made.clone());
        let fired = asked.ends(ok("1", ""));
        assert_eq!(fired.len(), if is_it { 1 } else { 2 }, "{asked_of} {made:?}: {fired:?}");
    }
}

#[test]
fn a_patch_in_a_command_is_shown_as_a_change_of_its_files() {
    let command =
        "{\"command\":\"apply_patch <<'E'\\n*** Begin Patch\\n*** Add File: a\\n+a\\n*** End Patch\\nE\"}";
    let change =
        |path: &str| with("item_0", "file_change", &format!("{{\"changes\":[{{\"path\":\"{path}\"}}]}}"));
    for (path, was_asked) in [("/p/a", true), ("/p/b", false)] {
        let mut asked = AskedCalls::new(true, true);
        let number = asked.asks(&with("call_1", "Bash", command));
        asked.answered(number, Allowed, "");
        asked.begins(change(path));
        let fired = asked.ends(ok("item_0", "file_change"));
        let told = asked.goes_on();
        match was_asked {
            true => assert_eq!((fired, told), (Vec::new(), vec![After(ok("call_1", "Bash"))])),
            false => assert_eq!(fired, [Unasked(change(path)), After(ok("item_0", "file_change"))]),
        }
    }
}

#[test]
fn a_command_of_codex_is_another_where_its_words_are_others() {
    for (made, was_asked) in [(HARMLESS, true), (HARMFUL, false)] {
        let mut asked = AskedCalls::new(true, true);
        let number = asked.asks(&with("call_1", "Bash", HARMLESS));
        asked.answered(number, Allowed, "");
        asked.begins(with("item_0", "command_execution", made));
        let fired = asked.ends(ok("item_0", "command_execution"));
        assert_eq!(fired.is_empty(), was_asked, "{made}");
    }
}
