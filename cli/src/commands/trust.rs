//! `trust`: keeps that what a run would execute may run.

use std::path::Path;

use samuel_core::{
    model::ErrorCode,
    state::Actor,
    text::counted,
    trust::{Difference, Executables, RefusalReason, TrustPolicy, TrustRecord, TrustStore},
};
use serde_json::{Value, json};

use super::setup::{Setting, builder};
use crate::{
    args::{Global, TrustArgs},
    failure::Failure,
    host::Host,
    render::{safe, time_of_day},
    reply::Reply,
    trust::{TRUST_IT, asking, left_changed},
};

/// Trusts what a run would execute, shows what was trusted, or forgets it.
pub(crate) fn trust(args: &TrustArgs, global: &Global, host: &Host) -> Result<Reply, Failure> {
    let Some(store) = host.trust_store()? else {
        return Err(Failure::usage("there is no place to keep what is trusted")
            .advise("Set HOME, or name a directory with SAMUEL_STATE_DIR."));
    };
    // To the system the agent of a run is the user.
    if host.actor() == Actor::Agent && !args.show {
        let failure =
            Failure::new(ErrorCode::TRUST_REFUSED, "an agent cannot change what is trusted of its run");
        return Err(failure.advise("Have a person run `samuel trust` in another terminal."));
    }
    let project = host.project(global, None)?;
    let root = project.root().to_owned();
    if args.revoke {
        return revoke(&store, &root);
    }
    let now = project.clock().now();
    let executables = builder(project, &Setting::default(), host)?.build()?.executables()?.clone();
    if args.show {
        return Ok(shown(store.recorded(&root)?.as_ref(), &executables));
    }
    let wanted = executables.without_changes();
    if args.yes {
        store.record(&root, &wanted, now)?;
    } else {
        let asking = asking("A run of this project executes:", TRUST_IT, host);
        let decided = TrustPolicy::recording(store, asking).decide(&root, &wanted, now);
        decided.map_err(|refusal| {
            let failure = Failure::from(&*refusal);
            match refusal.reason {
                RefusalReason::Untrusted | RefusalReason::Changed { .. } => failure.advise(
                    "Review what is listed, then run `samuel trust` where it can ask, or pass --yes.",
                ),
                _ => failure,
            }
        })?;
    }
    let mut text = format!("Trusted: {}\n", in_words(&wanted));
    if !executables.changes.is_empty() {
        text += &left_changed(&executables);
        text += "A start refuses these until they are accepted: `samuel run start --accept` shows them and asks.\n";
    }
    Ok(Reply::new(data(&wanted), text))
}

fn revoke(store: &TrustStore, root: &Path) -> Result<Reply, Failure> {
    let was_trusted = store.revoke(root)?;
    let text = match was_trusted {
        true => "What was trusted of this project is forgotten.\n",
        false => "Nothing of this project was trusted.\n",
    };
    Ok(Reply::new(json!({ "revoked": was_trusted }), text))
}

/// Shows what was trusted, and what is different now.
fn shown(record: Option<&TrustRecord>, executables: &Executables) -> Reply {
    let difference = record.map(|record| Difference::between(&record.entries, &executables.entries));
    let mut data = data(executables);
    if let Some(data) = data.as_object_mut() {
        data.insert("trusted_at".to_owned(), json!(record.map(|record| record.trusted_at)));
        data.insert("difference".to_owned(), json!(difference));
    }
    let of = |title: &str, lines: Vec<String>| {
        let lines = lines.iter().map(|line| format!("  {}\n", safe(line)));
        std::iter::once(format!("{title}\n")).chain(lines).collect::<String>()
    };
    let text = match (record, difference) {
        (Some(record), Some(difference)) if difference.is_empty() => {
            let at = time_of_day(record.trusted_at);
            of(&format!("Trusted on {at}:"), executables.lines())
        }
        (Some(record), Some(difference)) => {
            let at = time_of_day(record.trusted_at);
            of(&format!("This is not as it was trusted on {at}:"), difference.lines())
        }
        _ => of("Nothing of this project is trusted. A run of it executes:", executables.lines()),
    };
    Reply::new(data, text + &left_changed(executables))
}

fn data(executables: &Executables) -> Value {
    json!({ "executables": executables, "digest": executables.digest() })
}

fn in_words(executables: &Executables) -> String {
    format!("{}, with the digest {}", counted(executables.entries.len(), "entry"), executables.digest())
}
