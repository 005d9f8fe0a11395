//! Bombs: each ends as a typed error.

use serde_json::json;

use super::{context, problem, render, try_render};
use crate::{EvaluationProblem, SyntaxProblem, Template, TemplateError, TemplateLimits};

/// Runs in a thread with a small stack, so that recursion shows.
fn on_a_small_stack<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> T {
    std::thread::Builder::new().stack_size(1024 * 1024).spawn(run).unwrap().join().unwrap()
}

fn nested(open: &str, levels: usize, close: &str) -> String {
    format!("{}x{}", open.repeat(levels), close.repeat(levels))
}

#[test]
fn nesting_works_up_to_the_limit_and_is_an_error_past_it() {
    on_a_small_stack(|| {
        for (open, close) in [
            ("{{ if true }}", "{{ end }}"),
            ("{{ if false }}{{ else if true }}", "{{ end }}"),
            ("{{ with 1 }}", "{{ end }}"),
            ("{{ range 1 }}", "{{ end }}"),
        ] {
            assert_eq!(render(&nested(open, TemplateLimits::NESTING - 1, close)), "x", "{open}");
            for levels in [TemplateLimits::NESTING + 1, 5000] {
                let error = try_render(&nested(open, levels, close)).unwrap_err();
                let TemplateError::Syntax { problem: SyntaxProblem::TooDeep { limit }, .. } = error else {
                    panic!("{open}: {error}");
                };
                assert_eq!(limit, TemplateLimits::NESTING);
            }
        }
        for (open, close) in [("(", ")"), ("(not ", ")"), ("(print ", ")"), ("(and 1 ", ")")] {
            let levels = TemplateLimits::NESTING - 1;
            let inner = nested(open, levels, close).replace('x', "1");
            try_render(&format!("{{{{ {inner} }}}}")).unwrap();
            let inner = nested(open, 20_000, close).replace('x', "1");
            assert!(problem(&format!("{{{{ {inner} }}}}")).ends_with("nested deeper than 60 levels"));
        }
        let stages = " | print".repeat(TemplateLimits::NESTING - 1);
        assert_eq!(render(&format!("{{{{ 1{stages} }}}}")), "1");
        let stages = " | print".repeat(10_000);
        assert!(problem(&format!("{{{{ 1{stages} }}}}")).ends_with("nested deeper than 60 levels"));
    });
}

#[test]
fn nested_calls_with_many_arguments_keep_to_the_stack() {
    on_a_small_stack(|| {
        for name in ["and", "or", "print"] {
            let open = format!("({name} ");
            let close = format!("{})", " 1".repeat(TemplateLimits::ARGUMENTS - 1));
            let inner = nested(&open, TemplateLimits::NESTING - 1, &close).replace('x', "1");
            let rendered = try_render(&format!("{{{{ {inner} }}}}"));
            match name {
                "and" | "or" => assert!(rendered.is_err()),
                _ => assert!(rendered.is_ok(), "{name}: {rendered:?}"),
            }
        }
    });
}

#[test]
fn blocks_and_parentheses_share_one_nesting_limit() {
    on_a_small_stack(|| {
        let inner = nested("(print ", 40, ")").replace('x', "1");
        let source = format!("{}{{{{ {inner} }}}}{}", "{{ if 1 }}".repeat(19), "{{ end }}".repeat(19));
        assert_eq!(render(&source), "1");
        let source = format!("{}{{{{ {inner} }}}}{}", "{{ if 1 }}".repeat(21), "{{ end }}".repeat(21));
        assert!(problem(&source).ends_with("nested deeper than 60 levels"));
    });
}

#[test]
fn long_flat_templates_are_no_problem() {
    on_a_small_stack(|| {
        let chain = format!(
            "{{{{ if false }}}}{}{{{{ else }}}}last{{{{ end }}}}",
            "{{ else if false }}x".repeat(3000)
        );
        assert_eq!(render(&chain), "last");
        assert_eq!(render(&"{{ 1 }}\n".repeat(20_000)), "1\n".repeat(20_000));
        let operands = " 1".repeat(TemplateLimits::NESTING);
        assert_eq!(render(&format!("{{{{ and{operands} }}}}")), "1");
        assert_eq!(render(&format!("{{{{ or{} }}}}", operands.replace('1', "0"))), "0");
        let arguments = " 1".repeat(TemplateLimits::ARGUMENTS);
        assert_eq!(render(&format!("{{{{ len (print{arguments}) }}}}")), "509");
        let too_many = " 1".repeat(TemplateLimits::ARGUMENTS + 1);
        assert!(problem(&format!("{{{{ print{too_many} }}}}")).contains("at most 255"));
        let path = ".A".repeat(50_000);
        assert_eq!(try_render(&format!("{{{{ {path} }}}}")).unwrap().warnings.len(), 1);
    });
}

#[test]
fn a_huge_range_runs_out_of_fuel() {
    for source in [
        "a\n {{ range 9223372036854775807 }}{{ end }}",
        "a\n {{ range 100000 }}{{ range 100000 }}{{ . }}{{ end }}{{ end }}",
        "{{ define `t` }}\n\n\n{{ range 1000000000 }}{{ $x := . }}{{ end }}{{ end }}{{ template `t` . }}",
    ] {
        let error = try_render(source).unwrap_err();
        let TemplateError::OutOfFuel { location, limit } = error else {
            panic!("{source}: {error}");
        };
        assert_eq!(limit, TemplateLimits::FUEL);
        assert_ne!(location.line, 1, "{source}");
    }
}

#[test]
fn output_stops_at_its_limit() {
    let source = format!("a\n{{{{ range 100000 }}}}{}{{{{ end }}}}", "x".repeat(10_000));
    let error = try_render(&source).unwrap_err();
    let TemplateError::OutputTooLarge { location, limit } = error else {
        panic!("{error}");
    };
    assert_eq!((location.line, limit), (2, TemplateLimits::OUTPUT_BYTES));

    let limits = TemplateLimits { output_bytes: 6, ..TemplateLimits::default() };
    let template = Template::parse_with("t", "{{ .Name }}", limits).unwrap();
    assert_eq!(template.render(&context()).unwrap().text, "samuel");
    assert!(template.render(&json!({"Name": "samuels"})).is_err());
}

#[test]
fn text_that_passes_the_output_limit_has_its_own_place() {
    let source = "{{ define `part` }}\n  long text{{ end }}ab\n{{ if true }}c{{ end }}{{ template `part` }}";
    for (output_bytes, line, column) in [(0, 2, 21), (3, 3, 14), (4, 1, 20)] {
        let limits = TemplateLimits { output_bytes, ..TemplateLimits::default() };
        let error = Template::parse_with("t", source, limits).unwrap().render(&()).unwrap_err();
        let TemplateError::OutputTooLarge { location, .. } = error else {
            panic!("{error}");
        };
        assert_eq!((location.line, location.column), (line, column), "{output_bytes}");
    }
}

#[test]
fn text_that_is_built_and_thrown_away_costs_work_too() {
    let long = "x".repeat(100_000);
    for call in ["printf `%.0s` $x", "commitConvention $x", "focusDescription $x"] {
        let source =
            format!("{{{{ $x := `{long}` }}}}{{{{ range 1000 }}}}{{{{ $y := {call} }}}}{{{{ end }}}}");
        let error = try_render(&source).unwrap_err();
        assert!(matches!(error, TemplateError::TooMuchWork { .. }), "{call}: {error}");
    }
}

#[test]
fn doubling_text_runs_out_of_work() {
    let source = format!("{{{{ $x := `xxxxxxxx` }}}}{}", "\n{{ $x = print $x $x }}".repeat(60));
    let error = try_render(&source).unwrap_err();
    assert!(matches!(error, TemplateError::TooMuchWork { .. }), "{error}");

    let source = format!(
        "{{{{ $x := `{}` }}}}{{{{ range 100000 }}}}{{{{ $y := eq $x $x }}}}{{{{ end }}}}",
        "x".repeat(100_000)
    );
    let error = try_render(&source).unwrap_err();
    assert!(matches!(error, TemplateError::TooMuchWork { .. }), "{error}");
}

#[test]
fn templates_that_call_themselves_stop() {
    on_a_small_stack(|| {
        for source in [
            "{{ define `a` }}\n{{ template `a` . }}{{ end }}{{ template `a` . }}",
            "{{ define `a` }}\n{{ template `b` . }}{{ end }}{{ define `b` }}\n{{ template `a` }}{{ end }}{{ template `a` }}",
            "x\n{{ template `test.tmpl` . }}",
        ] {
            let error = try_render(source).unwrap_err();
            let TemplateError::Evaluation { problem, location } = error else {
                panic!("{error}");
            };
            assert_eq!(problem, EvaluationProblem::TooManyCalls { limit: TemplateLimits::TEMPLATE_CALLS });
            assert_ne!(location.line, 1);
        }
    });
}

#[test]
fn calls_that_double_at_every_level_run_out_of_fuel() {
    let mut source = String::from("{{ define `t0` }}{{ end }}");
    for level in 1..39 {
        let below = level - 1;
        source.push_str(&format!(
            "{{{{ define `t{level}` }}}}{{{{ template `t{below}` }}}}{{{{ template `t{below}` }}}}{{{{ end }}}}"
        ));
    }
    source.push_str("{{ template `t38` }}");
    let error = on_a_small_stack(move || try_render(&source)).unwrap_err();
    assert!(matches!(error, TemplateError::OutOfFuel { .. }), "{error}");
}

#[test]
fn a_call_inside_deep_blocks_keeps_to_the_stack() {
    on_a_small_stack(|| {
        let open = "{{ range 1 }}".repeat(50);
        let close = "{{ end }}".repeat(50);
        let source = format!(
            "{{{{ define `a` }}}}{open}{{{{ template `a` $ }}}}{close}{{{{ end }}}}{{{{ template `a` }}}}"
        );
        let error = try_render(&source).unwrap_err();
        assert!(
            matches!(
                error,
                TemplateError::Evaluation { problem: EvaluationProblem::TooManyCalls { .. }, .. }
            ),
            "{error}"
        );
    });
}

#[test]
fn a_long_source_is_refused_unread() {
    let source = "x".repeat(TemplateLimits::SOURCE_BYTES + 1);
    let error = Template::parse("big.tmpl", &source).unwrap_err();
    assert_eq!(error.to_string(), "big.tmpl: the source has 262145 bytes; the limit is 262144");
    assert!(error.location().is_none());
    assert!(Template::parse("big.tmpl", &source[1..]).is_ok());
}

#[test]
fn callers_choose_smaller_limits() {
    let limits = TemplateLimits { nesting: 2, ..TemplateLimits::default() };
    assert!(Template::parse_with("t", "{{ if 1 }}{{ 1 }}{{ end }}", limits).is_ok());
    assert!(Template::parse_with("t", "{{ if 1 }}{{ if 1 }}{{ 1 }}{{ end }}{{ end }}", limits).is_err());
    let limits = TemplateLimits { fuel: 20, ..limits };
    let template = Template::parse_with("t", "{{ range 100 }}{{ . }}{{ end }}", limits).unwrap();
    assert!(matches!(template.render(&()), Err(TemplateError::OutOfFuel { limit: 20, .. })));
}
