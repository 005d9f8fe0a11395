use proptest::prelude::*;

use super::*;

fn route(agent: &str) -> AgentRoute {
    AgentRoute { agent: Some(agent.to_owned()), ..AgentRoute::default() }
}

fn chosen(routing: &Routing, situation: Situation, out: &[(&str, Out)]) -> Chosen {
    let out = out.iter().map(|(agent, out)| ((*agent).to_owned(), *out)).collect();
    routing.choose("claude", situation, &out, Timestamp::UNIX_EPOCH)
}

fn at(second: i64) -> Out {
    Out::Limited(Timestamp::from_second(second).ok())
}

#[test]
fn the_first_route_that_fits_decides_and_says_so() {
    let hard = AgentRoute {
        complexity: Some(Complexity::Complex),
        model: Some("opus".to_owned()),
        args: vec!["--effort".to_owned()],
        ..AgentRoute::default()
    };
    let stuck = AgentRoute { after_failures: Some(2), ..route("codex") };
    let looks = AgentRoute { mode: Some(Mode::Discovery), ..route("gemini") };
    let urgent = AgentRoute { priority: Some(Priority::Critical), ..route("kiro") };
    let routing = Routing {
        model: Some("sonnet".to_owned()),
        routes: vec![hard, stuck, looks, urgent],
        ..Routing::default()
    };
    let task = |complexity, priority, failures| Situation {
        task: Some((complexity, priority)),
        failures,
        ..Situation::default()
    };
    let (medium, usual) = (Complexity::Medium, Priority::Medium);
    let looking = Situation { mode: Mode::Discovery, ..Situation::default() };
    for (situation, name, why) in [
        (task(Complexity::Complex, usual, 9), "claude (opus)", "route 1: complexity complex"),
        (task(medium, usual, 2), "codex", "route 2: after 2 failures"),
        (task(medium, usual, 1), "claude (sonnet)", "no route fits"),
        (looking, "gemini", "route 3: mode discovery"),
        (task(medium, Priority::Critical, 0), "kiro", "route 4: priority critical"),
    ] {
        let choice = chosen(&routing, situation, &[]).choice;
        assert_eq!((&*choice.name(), &*choice.why), (name, why));
        assert_eq!(choice.args.is_empty(), !why.starts_with("route 1"));
    }
    let told = "claude (opus) for complexity complex; codex for after 2 failures; gemini for mode discovery; kiro \
                for priority critical";
    assert_eq!(routing.told("claude").as_deref(), Some(told));
}

#[test]
fn the_first_fallback_that_can_work_does_and_one_that_is_back_is_out_no_more() {
    let fallback = ["codex", "claude", "gemini"].map(str::to_owned).to_vec();
    let routing = Routing { fallback, ..Routing::default() };
    let seen = |out: &[(&str, Out)]| {
        let chosen = chosen(&routing, Situation::default(), out);
        (chosen.choice.agent, chosen.choice.why, chosen.out)
    };
    let stands_in = "a fallback, since claude cannot be started";
    let of = |agent: &str, why: &str, out| (agent.to_owned(), why.to_owned(), out);
    assert_eq!(seen(&[("claude", at(0))]), of("claude", "the configured agent", None));
    assert_eq!(seen(&[("claude", Out::CannotStart)]), of("codex", stands_in, None));
    let both = [("claude", Out::CannotStart), ("codex", Out::Limited(None))];
    assert_eq!(seen(&both), of("gemini", stands_in, None));
    let all = [("claude", at(9)), ("codex", Out::Limited(None)), ("gemini", at(5))];
    assert_eq!(seen(&all).0, "gemini", "it is back first");
    assert_eq!(seen(&all).2, Some(at(5)));
}

fn outs() -> impl Strategy<Value = BTreeMap<String, Out>> {
    let out = prop_oneof![Just(Out::CannotStart), Just(Out::Limited(None)), (-5_i64..5).prop_map(at),];
    proptest::collection::btree_map("[a-e]", out, 0..5)
}

fn routings() -> impl Strategy<Value = Routing> {
    let one = |all: &'static [Complexity]| proptest::option::of(proptest::sample::select(all));
    let route = (
        one(Complexity::ALL),
        proptest::option::of(proptest::sample::select(Priority::ALL)),
        proptest::option::of(proptest::sample::select(Mode::ALL)),
        proptest::option::of(1_u32..4),
        proptest::option::of("[a-e]"),
        proptest::option::of("[m-o]"),
    );
    let route = route.prop_map(|(complexity, priority, mode, after_failures, agent, model)| AgentRoute {
        complexity,
        priority,
        mode,
        after_failures,
        agent,
        model,
        args: Vec::new(),
    });
    let routes = proptest::collection::vec(route, 0..4);
    let parts = (proptest::option::of("[m-o]"), routes, proptest::collection::vec("[a-e]", 0..4));
    parts.prop_map(|(model, routes, fallback)| Routing { model, routes, fallback })
}

proptest! {
    /// Whatever is configured and whoever is out, there is one choice, which is one that a start
    /// can foresee; it is out only where all are that could be chosen.
    #[test]
    fn routing_is_total_and_deterministic(
        routing in routings(),
        out in outs(),
        complexity in proptest::sample::select(Complexity::ALL),
        priority in proptest::sample::select(Priority::ALL),
        mode in proptest::sample::select(Mode::ALL),
        has_task in any::<bool>(),
        failures in 0_u32..5,
    ) {
        let now = Timestamp::UNIX_EPOCH;
        let situation = Situation { mode, task: has_task.then_some((complexity, priority)), failures };
        let first = routing.choose("a", situation, &out, now);
        prop_assert_eq!(&first, &routing.choose("a", situation, &out.clone(), now));
        prop_assert!(!first.choice.agent.is_empty() && !first.choice.why.is_empty());
        let plain = |choice: &Choice| Choice { why: String::new(), ..choice.clone() };
        prop_assert!(routing.all("a").iter().any(|(_, known)| plain(known) == plain(&first.choice)));
        let is_out = |agent: &String| out.get(agent).is_some_and(|out| out.holds(now));
        prop_assert_eq!(first.out.is_some(), is_out(&first.choice.agent));
        if first.out.is_some() {
            prop_assert!(routing.fallback.iter().all(is_out));
        }
        let wanted = routing.choose("a", situation, &BTreeMap::new(), now).choice;
        if !is_out(&wanted.agent) {
            prop_assert_eq!(first.choice, wanted);
        }
    }
}
