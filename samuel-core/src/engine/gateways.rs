//! The gateways that samuel.toml describes, with the keys that the environment has for them.
//!
//! They are there with the feature `sandbox`; without it `no_gateways` stands in the place of this file.

use std::path::Path;

use super::frozen::Frozen;
use crate::{
    agent::{Agent, Provider},
    config::{GatewaySettings, SandboxSettings},
    egress::{EgressPolicy, EgressVerdict, Gateway, GatewayParts, PLACEHOLDER_KEY},
    fs::read_text_anywhere,
    sandbox::{BWRAP, MAX_GATEWAYS, OCI, SandboxError},
};

/// The most bytes of a file with authorities.
const MAX_AUTHORITY: u64 = 1 << 20;
/// The port on which agents' programs ask their providers.
const HTTPS: u16 = 443;
/// The field whose keys stand behind a word.
const AUTHORIZATION: &str = "authorization";

/// Makes the gateways of a sandbox.
pub(super) fn gateways_of(
    settings: &SandboxSettings,
    env: &[(String, String)],
) -> Result<Vec<Gateway>, SandboxError> {
    let refused = |problem: String| SandboxError::Setting { key: "gateway", problem };
    if settings.gateway.len() > MAX_GATEWAYS {
        return Err(refused(format!("there are more than {MAX_GATEWAYS} gateways")));
    }
    let made = settings.gateway.iter().map(|(name, given)| {
        let parts = parts_of(name, given, env).and_then(Gateway::new);
        parts.map_err(|problem| refused(format!("{name}: {problem}")))
    });
    made.collect()
}

/// Returns an environment without the keys of gateways: what agents get of it is recorded, and shown to them.
pub(super) fn without_keys(
    env: Vec<(String, String)>,
    settings: &SandboxSettings,
    sandbox: &str,
) -> Vec<(String, String)> {
    if ![BWRAP, OCI].contains(&sandbox) {
        return env;
    }
    // Where one cannot be made, nothing runs in the sandbox.
    let gateways = gateways_of(settings, &env).unwrap_or_default();
    let told = |(name, value): (String, String)| {
        if !gateways.iter().any(|gateway| gateway.hides(&name, &value)) {
            return Some((name, value));
        }
        let is_key = gateways.iter().any(|gateway| gateway.is_key(&name));
        is_key.then(|| (name, PLACEHOLDER_KEY.to_owned()))
    };
    env.into_iter().filter_map(told).collect()
}

/// Says which gateways the agent has, and which host it needs that nothing leads to.
pub(super) fn shown_of_provider(frozen: &Frozen, agent: &dyn Agent) -> Vec<(&'static str, String)> {
    let settings = &frozen.project.config().sandbox;
    if ![BWRAP, OCI].contains(&frozen.settings.sandbox.as_str()) {
        return Vec::new();
    }
    // Where one cannot be made, the run is refused.
    let gateways = gateways_of(settings, &frozen.env).unwrap_or_default();
    let mut shown: Vec<(&str, String)> = gateways
        .iter()
        .map(|gateway| {
            let [name, host, header] = [gateway.name(), &gateway.host(), gateway.header()];
            let variable = gateway.base_env();
            ("gateway", format!("{name} to {host}, with its key as {header}; found by {variable}"))
        })
        .collect();
    let listed = EgressPolicy::parse(&settings.egress).unwrap_or_default();
    let needed = agent.provider().filter(|needed| {
        let is_listed = listed.judge(needed.host, HTTPS) != EgressVerdict::Refused;
        !is_listed && !gateways.iter().any(|gateway| gateway.name() == needed.name)
    });
    shown.extend(needed.map(|Provider { name, host, base_env, .. }| {
        let ways = format!("[sandbox.gateway.{name}] leads to it by {base_env} and keeps the key outside, egress with the key inside");
        ("needs", format!("{host}, which is out of reach: {ways}"))
    }));
    shown
}

fn parts_of(name: &str, given: &GatewaySettings, env: &[(String, String)]) -> Result<GatewayParts, String> {
    let known = Provider::named(name);
    let names = Provider::ALL.map(|provider| provider.name).join(", ");
    let part = |key: &str, given: &Option<String>, known: Option<String>| {
        let missing = || format!("{key} is not set, which is known without only of the gateways {names}");
        given.clone().or(known).ok_or_else(missing)
    };
    let header = part("header", &given.header, known.map(|known| known.header.to_owned()))?;
    let scheme = match (&given.scheme, known) {
        (Some(scheme), _) => scheme.clone(),
        (None, Some(known)) if known.header == header => known.scheme.to_owned(),
        (None, _) if header.eq_ignore_ascii_case(AUTHORIZATION) => "Bearer".to_owned(),
        (None, _) => String::new(),
    };
    let of_known = |names: fn(Provider) -> &'static [&'static str]| {
        known.map(names).unwrap_or_default().iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()
    };
    let mut key_env = of_known(|known| known.key_env);
    if let Some(own) = &given.from_env {
        key_env.retain(|name| name != own);
        key_env.insert(0, own.clone());
    }
    // Where one is named, no other is taken in its place.
    let asked =
        if given.from_env.is_some() { key_env.iter().take(1) } else { key_env.iter().take(usize::MAX) };
    let value = |name: &String| {
        env.iter()
            .rev()
            .find(|(known, value)| known == name && !value.is_empty())
            .map(|(_, value)| value.clone())
    };
    let asked: Vec<&String> = asked.collect();
    let key = match asked.as_slice() {
        [] => {
            return Err(format!("from_env is not set, which is known without only of the gateways {names}"));
        }
        some => some.iter().find_map(|name| value(name)).ok_or_else(|| {
            let all: Vec<&str> = some.iter().map(|name| name.as_str()).collect();
            format!("its key is in no variable: {} is not set where Samuel runs", all.join(" or "))
        })?,
    };
    Ok(GatewayParts {
        name: name.to_owned(),
        upstream: part("upstream", &given.upstream, known.map(|known| known.upstream()))?,
        base_env: part("as_env", &given.as_env, known.map(|known| known.base_env.to_owned()))?,
        authority: given.authority.as_deref().map(authority_at).transpose()?,
        other_keys: of_known(|known| known.other_keys),
        header,
        scheme,
        key,
        key_env,
    })
}

fn authority_at(path: &str) -> Result<Vec<u8>, String> {
    if !Path::new(path).is_absolute() {
        return Err(format!("authority `{path}` is not an absolute path"));
    }
    let read = read_text_anywhere(Path::new(path), MAX_AUTHORITY);
    read.map(String::into_bytes).map_err(|error| format!("authority `{path}` cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(gateway: &[(&str, GatewaySettings)], env: &[(&str, &str)]) -> Result<Vec<String>, String> {
        let gateway = gateway.iter().map(|(name, given)| ((*name).to_owned(), given.clone())).collect();
        let env: Vec<_> = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let made = gateways_of(&SandboxSettings { gateway, ..SandboxSettings::default() }, &env);
        let shown = |gateway: Gateway| format!("{} {}", gateway.host(), gateway.names().join(" "));
        made.map(|made| made.into_iter().map(shown).collect()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_gateway_that_is_known_needs_its_key_alone() {
        let anthropic = [("anthropic", GatewaySettings::default())];
        assert_eq!(
            made(&anthropic, &[("ANTHROPIC_API_KEY", "sk-secret-key")]),
            Ok(vec!["api.anthropic.com ANTHROPIC_API_KEY ANTHROPIC_BASE_URL ANTHROPIC_AUTH_TOKEN CLAUDE_CODE_OAUTH_TOKEN".to_owned()])
        );
        let told = made(&anthropic, &[("ANTHROPIC_API_KEY", "")]).expect_err("no key");
        assert_eq!(
            told,
            "sandbox.gateway: anthropic: its key is in no variable: ANTHROPIC_API_KEY is not set where Samuel runs"
        );
        let openai = [("openai", GatewaySettings::default())];
        assert!(made(&openai, &[("OPENAI_API_KEY", "sk-secret-key")]).is_ok(), "the second name");
    }

    #[test]
    fn agents_in_a_sandbox_are_given_no_key_of_a_gateway() {
        let gateway = [("anthropic".to_owned(), GatewaySettings::default())].into();
        let settings = SandboxSettings { gateway, ..SandboxSettings::default() };
        let env: Vec<(String, String)> = [
            ("ANTHROPIC_API_KEY", "sk-secret-key"),
            ("ANTHROPIC_AUTH_TOKEN", "another-key"),
            ("COPIED", "Bearer sk-secret-key"),
            ("PATH", "/usr/bin"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
        let inside = without_keys(env.clone(), &settings, BWRAP);
        let inside: Vec<(&str, &str)> = inside.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(inside, [("ANTHROPIC_API_KEY", PLACEHOLDER_KEY), ("PATH", "/usr/bin")]);
        assert_eq!(without_keys(env.clone(), &settings, "host"), env);
    }

    #[test]
    fn each_provider_that_an_adapter_declares_has_a_gateway() {
        for provider in Provider::ALL {
            let key = provider.key_env.first().copied().unwrap_or_default();
            let gateway = made(&[(provider.name, GatewaySettings::default())], &[(key, "sk-secret-key")]);
            assert!(gateway.is_ok_and(|made| made.iter().all(|line| line.starts_with(provider.host))));
        }
    }

    #[test]
    fn what_is_set_counts_and_what_is_not_known_is_asked_for() {
        let text = |text: &str| Some(text.to_owned());
        let own = GatewaySettings {
            upstream: text("https://llm.example.org:8443/v1"),
            header: text("Authorization"),
            from_env: text("MY_KEY"),
            as_env: text("MY_URL"),
            ..GatewaySettings::default()
        };
        let env = [("MY_KEY", "sk-secret-key"), ("ANTHROPIC_API_KEY", "another-key")];
        assert_eq!(
            made(&[("own", own.clone())], &env),
            Ok(vec!["llm.example.org:8443 MY_KEY MY_URL".to_owned()])
        );
        let renamed = GatewaySettings { from_env: text("NO_KEY"), ..GatewaySettings::default() };
        assert!(made(&[("anthropic", renamed)], &env).is_err_and(|told| told.contains("NO_KEY is not set")));
        type Change = fn(&mut GatewaySettings);
        let missing: [(Change, &str); 6] = [
            (|own| own.upstream = None, "upstream is not set"),
            (|own| own.header = None, "header is not set"),
            (|own| own.as_env = None, "as_env is not set"),
            (|own| own.from_env = None, "from_env is not set"),
            (|own| own.authority = Some("ca.pem".to_owned()), "is not an absolute path"),
            (|own| own.authority = Some("/no/such/ca.pem".to_owned()), "cannot be read"),
        ];
        for (change, expected) in missing {
            let mut changed = own.clone();
            change(&mut changed);
            let told = made(&[("own", changed)], &env).expect_err("something is missing");
            assert!(told.contains(expected) && !told.contains("sk-secret"), "{told}");
        }
    }
}
