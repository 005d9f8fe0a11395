//! The functions, each with the values it takes and the ones it refuses.

use serde_json::json;

use super::{assert_problems, assert_renders, render};
use crate::Template;

fn render_with(source: &str, context: serde_json::Value) -> String {
    Template::parse("t", source).unwrap().render(&context).unwrap().text
}

#[test]
fn eq_compares_with_any_of_its_arguments() {
    assert_renders(&[
        ("{{ eq .Count 3 }} {{ eq .Count 1 2 3 }} {{ eq .Count 1 2 }}", "true true false"),
        ("{{ eq .Name `samuel` }} {{ ne .Name `x` }} {{ eq .Yes true }}", "true true true"),
        ("{{ eq .Ratio 0.5 }} {{ eq 1 1.0 }}", "true true"),
        ("{{ eq .Nothing nil }} {{ eq .Nothing 0 }} {{ ne .Name nil }}", "true false true"),
    ]);
    assert_problems(&[
        ("{{ eq .Count `3` }}", "1:4: `eq` cannot compare an integer with a string"),
        ("x\n{{ eq .List .List }}", "2:4: `eq` cannot compare a list with a list"),
    ]);
}

#[test]
fn order_compares_numbers_and_strings() {
    assert_renders(&[
        ("{{ lt 1 2 }} {{ le 2 2 }} {{ gt 1 2 }} {{ ge 2.5 2 }}", "true true false true"),
        ("{{ lt `a` `b` }} {{ gt `B` `a` }}", "true false"),
        ("{{ gt .Nothing 0 }}", "false"),
        (
            "{{ lt 9223372036854775807 9223372036854775808.0 }} {{ gt 3 2.9 }} {{ le -3 -3.5 }}",
            "true true false",
        ),
    ]);
    assert_problems(&[
        ("{{ lt 1 `a` }}", "1:4: `lt` cannot compare an integer with a string"),
        ("{{ lt true false }}", "1:4: `lt` cannot compare a boolean with a boolean"),
    ]);
}

#[test]
fn and_or_not_return_the_deciding_value_and_stop_there() {
    assert_renders(&[
        ("{{ and 1 2 }} {{ and 0 2 }} {{ and 1 `` 3 }}|", "2 0 |"),
        ("{{ or 0 2 }} {{ or 1 2 }} {{ or 0 `` }}|", "2 1 |"),
        ("{{ not 0 }} {{ not .Name }}", "true false"),
        ("{{ and .No (index .List `x`) }} {{ or .Yes (lt 1 `x`) }}", "false true"),
        ("{{ true | and .Name }}", "true"),
    ]);
}

#[test]
fn index_reaches_names_a_path_cannot_spell() {
    assert_renders(&[
        ("{{ index .Plugins \"odd-name\" \"a b\" }}", "spaced"),
        ("{{ (index .Plugins \"python\").Venv }}", ".venv"),
        ("{{ index .List 1 }} {{ index .Tasks 0 `Files` 1 }}", "b y.rs"),
        ("{{ index `abc` 1 }}", "98"),
    ]);
    assert_problems(&[
        ("{{ index .List `a` }}", "1:4: `index` needs an integer as position, not a string"),
        ("{{ index .Count 1 }}", "1:4: `index` needs a list, a map or a string, not an integer"),
    ]);
}

#[test]
fn len_counts_bytes_and_elements() {
    assert_renders(&[("{{ len .List }} {{ len .Map }} {{ len `é` }} {{ len .Nothing }}", "3 3 2 0")]);
    assert_problems(&[("{{ len 3 }}", "1:4: `len` needs a string, a list or a map, not an integer")]);
}

#[test]
fn slice_cuts_strings_and_lists() {
    assert_renders(&[
        ("{{ slice .Name 1 3 }} {{ slice .Name 4 }} {{ slice .Name }}", "am el samuel"),
        ("{{ slice .List 1 }} {{ slice .List 0 2 }} {{ slice .List 1 2 3 }}", "[b c] [a b] [b]"),
    ]);
    assert_problems(&[
        ("{{ slice .List 2 1 }}", "1:4: `slice` has the bound 1, but the value has 3 elements"),
        ("{{ slice .List 9 }}", "1:4: `slice` has the bound 9, but the value has 3 elements"),
        ("{{ slice .List -1 }}", "1:4: `slice` has the bound -1, but the value has 3 elements"),
        ("{{ slice `é` 1 }}", "1:4: `slice` cuts inside a character at byte 1"),
        ("{{ slice .Name 0 1 2 }}", "1:4: `slice` needs a list, or a string with two bounds, not a string"),
    ]);
}

#[test]
fn print_and_println_space_as_go_does() {
    assert_renders(&[
        ("{{ print 1 2 `a` `b` 3 }}", "1 2ab3"),
        ("{{ println 1 `a` true }}|", "1 a true\n|"),
        ("{{ print }}|{{ println }}|", "|\n|"),
        ("{{ print .List .Map.beta }}", "[a b c] 2"),
    ]);
}

#[test]
fn printf_knows_the_verbs_of_go() {
    for (arguments, expected) in [
        (r#""%s %v %d%%" "a" 1 2"#, "a 1 2%"),
        (r#""%q" "a\"b\n""#, r#""a\"b\n""#),
        (r#""[%5d][%-5d][%05d][%+d]" 42 42 -42 42"#, "[   42][42   ][-0042][+42]"),
        (r#""[%6s][%-6s][%.2s]" "abc" "abc" "abc""#, "[   abc][abc   ][ab]"),
        (r#""%x %X %#x %o %b %c %U" 255 255 255 8 5 'a' 'a'"#, "ff FF 0xff 10 101 a U+0061"),
        (r#""%x" "hi""#, "6869"),
        (
            r#""%.2f %f %e %g %.3g" 3.14159 1.5 1234.5678 0.5 1234.5"#,
            "3.14 1.500000 1.234568e+03 0.5 1.23e+03",
        ),
        (r#""%8.3f|%-8.1f|%08.2f" 3.14159 2.5 -1.5"#, "   3.142|2.5     |-0001.50"),
        (r#""%t %v %v" true .List .Nothing"#, "true [a b c] "),
        (r#""%.1f" 2"#, "2.0"),
        (r#""%s" .List"#, "[a b c]"),
        (r#""%5t|%3c|" true 'x'"#, " true|  x|"),
    ] {
        assert_eq!(render(&format!("{{{{ printf {arguments} }}}}")), expected, "{arguments}");
    }
}

#[test]
fn printf_refuses_what_go_would_complain_about_in_the_text() {
    assert_problems(&[
        ("{{ printf `%d` `x` }}", "1:4: the format `%d` needs an integer"),
        ("{{ printf `%s` 1 }}", "1:4: the format `%s` needs text, not a number or boolean"),
        ("{{ printf `%d` }}", "1:4: the format `%d` has no argument"),
        ("{{ printf `x` 1 }}", "1:4: the format `x` has fewer verbs than arguments"),
        ("{{ printf `%` }}", "1:4: the format `%` has no verb"),
        ("{{ printf `%y` 1 }}", "1:4: the format `%y` is not known"),
        (
            "{{ printf `%99999999999999999999999d` 1 }}",
            "1:4: the format `%99999999999999999999999d` is wider than 1000",
        ),
        ("{{ printf 3 }}", "1:4: `printf` needs a string as format, not an integer"),
    ]);
}

#[test]
fn join_takes_list_and_separator_in_either_order() {
    assert_renders(&[
        ("{{ join .List `, ` }} {{ .List | join `-` }} {{ join .Numbers `` }}", "a, b, c a-b-c 1234"),
        ("[{{ join .NoList `,` }}][{{ join .Nothing `,` }}]", "[][]"),
    ]);
    assert_problems(&[
        ("{{ join .Name `,` }}", "1:4: `join` needs a list, not a string"),
        ("{{ join .List 1 }}", "1:4: `join` needs a string as separator, not an integer"),
    ]);
}

#[test]
fn indent_moves_lines_that_are_not_empty() {
    assert_renders(&[
        ("{{ indent 2 \"a\\n\\nb\\n\" }}", "  a\n\n  b\n"),
        ("{{ \"a\\nb\" | indent 4 }}", "    a\n    b"),
        ("{{ indent .Name 1 }}[{{ indent 2 .Nothing }}]", " samuel[]"),
    ]);
    assert_problems(&[
        ("{{ indent -1 .Name }}", "1:4: `indent` needs a width from 0 to 100, not an integer"),
        ("{{ indent 2 .List }}", "1:4: `indent` needs a string, not a list"),
    ]);
}

#[test]
fn relpath_is_relative_to_the_project_root() {
    for (path, expected) in [
        ("/work/demo/src/a.rs", "src/a.rs"),
        ("/work/demo", "."),
        ("/work/demo/", "."),
        ("/work/other/b", "../other/b"),
        ("/work/demo/../x", "../x"),
        ("/work/demolition/x", "../demolition/x"),
        ("src/./a/../b.rs", "src/b.rs"),
        ("../up", "../up"),
        ("/", "../.."),
        ("", ""),
    ] {
        assert_eq!(render(&format!("{{{{ relpath `{path}` }}}}")), expected, "{path}");
    }
    assert_eq!(render_with("{{ relpath `/a//b` }}", json!({})), "/a/b");
    assert_problems(&[("{{ relpath 1 }}", "1:4: `relpath` needs a string, not an integer")]);
}

#[test]
fn has_plugin_asks_for_a_namespace_or_a_name_without_a_warning() {
    assert_renders(&[
        ("{{ hasPlugin `python` }} {{ hasPlugin `my-lint` }} {{ hasPlugin `my_lint` }}", "true true true"),
        ("{{ hasPlugin `nope` }} {{ hasPlugin .Nothing }}", "false false"),
        ("{{ if hasPlugin `python` }}{{ .Plugins.python.Venv }}{{ end }}", ".venv"),
        ("{{ range .List }}{{ hasPlugin `python` }}{{ end }}", "truetruetrue"),
    ]);
    assert_eq!(render_with("{{ hasPlugin `x` }}", json!({})), "false");
}

#[test]
fn commit_convention_describes_the_guardrail() {
    assert!(render("{{ commitConvention }}").contains("Conventional Commits"));
    assert!(render("{{ commitConvention `gitmoji` }}").contains("gitmoji"));
    assert!(render("{{ `house style` | commitConvention }}").contains("\"house style\""));
    let sentence = render_with("{{ commitConvention }}", json!({}));
    assert!(sentence.ends_with('.') && sentence.contains("imperative"), "{sentence}");
}

#[test]
fn focus_description_describes_the_mode() {
    assert!(render("{{ focusDescription }}").contains("tests"));
    assert_eq!(render("{{ focusDescription `the parser` }}"), "Look for work on the parser.");
    assert!(render_with("{{ focusDescription }}", json!({})).contains("whole project"));
}
