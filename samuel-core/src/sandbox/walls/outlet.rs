//! What leads out of a sandbox for one command: ports of its loopback, and what serves them outside.

use std::sync::Arc;

use samuel_guest::Launch;
use tokio::net::TcpListener;

use crate::egress::{EgressPolicy, Gateway, Refusals, Room, serve_gateway, serve_proxy};

/// The port on which commands find the proxy. It is above those that systems hand out; gateways have those behind it.
const PROXY_PORT: u16 = 61_080;
/// The most gateways.
pub(crate) const MAX_GATEWAYS: usize = 16;
/// The names under which programs look for a proxy.
const PROXY_VARIABLES: [&str; 6] =
    ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];
/// The names under which they look for what needs none.
const NO_PROXY_VARIABLES: [&str; 2] = ["NO_PROXY", "no_proxy"];

/// What leads out for a command.
#[derive(Clone, Debug, Default)]
pub(super) struct Outlets {
    policy: EgressPolicy,
    gateways: Vec<Gateway>,
    refusals: Arc<Refusals>,
}

/// One port, and what serves it.
#[derive(Debug)]
pub(super) struct Outlet {
    pub(super) port: u16,
    leads_to: LeadsTo,
    refusals: Arc<Refusals>,
}

#[derive(Debug)]
enum LeadsTo {
    Hosts(EgressPolicy),
    Gateway(Arc<Gateway>),
}

impl Outlets {
    pub(super) fn new(policy: &EgressPolicy, gateways: &[Gateway], refusals: &Arc<Refusals>) -> Self {
        Self { policy: policy.clone(), gateways: gateways.to_vec(), refusals: Arc::clone(refusals) }
    }

    /// Returns what leads nowhere by a port, to try out whether one can be handed over.
    pub(super) fn nowhere() -> Self {
        let policy = EgressPolicy::parse(["nowhere.invalid"]).unwrap_or_default();
        Self { policy, ..Self::default() }
    }

    /// Tells a command of them: the guest by ports, its programs by variables. A variable with the key of a gateway
    /// in it is taken away, as is a proxy of the machine outside.
    pub(super) fn open_in(&self, launch: &mut Launch) {
        let is_kept = |(name, value): &(String, String)| {
            !PROXY_VARIABLES.contains(&name.as_str())
                && !self.gateways.iter().any(|gateway| gateway.hides(name, value))
        };
        launch.env.retain(is_kept);
        launch.ports.extend(self.outlets().iter().map(|outlet| outlet.port));
        if !self.policy.is_empty() {
            let proxy = format!("http://127.0.0.1:{PROXY_PORT}");
            let variables = PROXY_VARIABLES.map(|name| (name.to_owned(), proxy.clone()));
            let none = NO_PROXY_VARIABLES.map(|name| (name.to_owned(), "localhost,127.0.0.1,::1".to_owned()));
            launch.env.extend(variables.into_iter().chain(none));
        }
        launch.env.extend(numbered(&self.gateways).flat_map(|(port, gateway)| gateway.variables(port)));
    }

    /// Returns the ports, and what serves each.
    pub(super) fn outlets(&self) -> Vec<Outlet> {
        let outlet = |port, leads_to| Outlet { port, leads_to, refusals: Arc::clone(&self.refusals) };
        let proxy =
            (!self.policy.is_empty()).then(|| outlet(PROXY_PORT, LeadsTo::Hosts(self.policy.clone())));
        let gateways = numbered(&self.gateways)
            .map(|(port, gateway)| outlet(port, LeadsTo::Gateway(Arc::new(gateway.clone()))));
        proxy.into_iter().chain(gateways).collect()
    }
}

impl Outlet {
    /// Serves those that connect, for as long as it is awaited.
    pub(super) async fn serve(self, listener: TcpListener, room: Room) {
        match self.leads_to {
            LeadsTo::Hosts(policy) => serve_proxy(listener, policy, self.refusals, room).await,
            LeadsTo::Gateway(gateway) => serve_gateway(listener, gateway, self.refusals, room).await,
        }
    }
}

/// Returns where a command finds a gateway, by its name.
pub(super) fn base_url(gateways: &[Gateway], name: &str) -> Option<String> {
    let mut all = numbered(gateways);
    all.find(|(_, gateway)| gateway.name() == name).map(|(port, gateway)| gateway.base_url(port))
}

fn numbered(gateways: &[Gateway]) -> impl Iterator<Item = (u16, &Gateway)> {
    (PROXY_PORT + 1..).zip(gateways).take(MAX_GATEWAYS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::egress::GatewayParts;

    fn gateway(name: &str) -> Gateway {
        let made = Gateway::new(GatewayParts {
            name: name.to_owned(),
            upstream: "https://api.example.org/v1".to_owned(),
            header: "x-api-key".to_owned(),
            key: "sk-very-secret".to_owned(),
            key_env: vec!["THE_KEY".to_owned()],
            base_env: "THE_URL".to_owned(),
            ..GatewayParts::default()
        });
        made.expect("a gateway")
    }

    #[test]
    fn what_leads_nowhere_hands_over_one_port_to_no_host() {
        let outlets = Outlets::nowhere();
        assert_eq!(outlets.outlets().iter().map(|outlet| outlet.port).collect::<Vec<_>>(), [PROXY_PORT]);
        assert!(!outlets.policy.is_empty() && outlets.gateways.is_empty());
    }

    #[test]
    fn a_command_is_told_where_to_go_and_no_key() {
        let policy = EgressPolicy::parse(["a.example"]).expect("a host");
        let outlets = Outlets::new(&policy, &[gateway("one"), gateway("two")], &Arc::default());
        let mut launch = Launch::new(["true"], "/")
            .env("THE_KEY", "sk-very-secret")
            .env("OTHER", "Bearer sk-very-secret")
            .env("HTTPS_PROXY", "http://of.the.machine:3128")
            .env("KEPT", "yes");
        outlets.open_in(&mut launch);
        let value = |wanted: &str| {
            launch.env.iter().rev().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str())
        };
        assert_eq!((value("KEPT"), value("OTHER")), (Some("yes"), None));
        assert_eq!(value("HTTPS_PROXY"), Some("http://127.0.0.1:61080"));
        assert_eq!(value("THE_URL"), Some("http://127.0.0.1:61082/v1"), "the last one counts");
        assert!(launch.env.iter().all(|(_, value)| !value.contains("sk-very-secret")));
        assert_eq!(launch.ports, [61_080, 61_081, 61_082]);
        assert_eq!(
            base_url(&[gateway("one"), gateway("two")], "two").as_deref(),
            Some("http://127.0.0.1:61082/v1")
        );
    }

    #[test]
    fn where_nothing_leads_out_a_proxy_of_the_machine_is_named_to_nobody() {
        let mut launch = Launch::new(["true"], "/").env("all_proxy", "http://of.the.machine:3128");
        Outlets::default().open_in(&mut launch);
        assert!(launch.env.is_empty() && launch.ports.is_empty() && Outlets::default().outlets().is_empty());
    }
}
