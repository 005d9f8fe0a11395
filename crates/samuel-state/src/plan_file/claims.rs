//! Rows of the table of claims.
//!
//! The table is there only while there are claims. A row that cannot be read is kept with the other
//! lines that cannot ([`Document::unparsed`](super::Document::unparsed)), and its task is claimed by
//! nobody. Columns that are not Samuel's are not kept: a claim lasts for minutes.

use std::{cell::RefCell, collections::HashSet, fmt};

use jiff::Timestamp;
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor},
    ser::SerializeMap,
};

use super::{
    cell::{ListCell, Text},
    record::{self, Record, or_default, text},
};
use crate::MAX_REVISION;
use samuel_model::{
    Claim, ClaimTarget, MAX_BRANCH_BYTES, MAX_CONFLICT_FILES, MAX_OWNER_CHARS, MAX_WHY_BYTES, TaskId,
    commit_hash, text::excerpt,
};
use samuel_toon::Lenient;

impl Record for Claim {
    const WHAT: &'static str = "a claim";

    fn take<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<bool, A::Error> {
        match key {
            "task" => {
                let Text(task) = map.next_value()?;
                self.task = task.parse().map_err(Error::custom)?;
            }
            "token" => self.token = token(map)?,
            "worker" => {
                self.worker = text(map)?.map(|name| name.chars().take(MAX_OWNER_CHARS).collect());
            }
            "phase" => self.phase = or_default(map)?,
            "attempt" => self.attempt = or_default(map)?,
            "branch" => {
                let branch = text(map)?;
                if branch.as_ref().is_some_and(|name| name.len() > MAX_BRANCH_BYTES) {
                    return Err(Error::custom("no branch has so long a name"));
                }
                self.branch = branch;
            }
            "commit" => self.commit = hash(map)?,
            "since" => self.since = map.next_value()?,
            "base" => self.base = hash(map)?,
            "tree" => self.tree = hash(map)?,
            "landed" => self.landed = hash(map)?,
            "why" => self.why = text(map)?.map(|why| excerpt(&why, 2 * MAX_WHY_BYTES)),
            "files" => {
                let ListCell(files) = map.next_value()?;
                self.files = files.into_iter().take(MAX_CONFLICT_FILES).collect();
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Writes the cells in the order of the columns.
    fn put<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry("task", self.task.as_str())?;
        map.serialize_entry("token", &self.token)?;
        map.serialize_entry("worker", &self.worker)?;
        map.serialize_entry("phase", &self.phase)?;
        map.serialize_entry("attempt", &self.attempt)?;
        map.serialize_entry("branch", &self.branch)?;
        map.serialize_entry("commit", &self.commit)?;
        map.serialize_entry("since", &self.since)?;
        map.serialize_entry("base", &self.base)?;
        map.serialize_entry("tree", &self.tree)?;
        map.serialize_entry("landed", &self.landed)?;
        map.serialize_entry("why", &self.why)?;
        map.serialize_entry("files", &ListCell::to_text(&self.files))
    }
}

/// Reads a token: a revision that a plan can have had.
fn token<'de, A: MapAccess<'de>>(map: &mut A) -> Result<u64, A::Error> {
    let token: u64 = map.next_value()?;
    match token {
        0 => Err(Error::custom("no claim has the token 0")),
        token if token > MAX_REVISION => {
            Err(Error::custom(format_args!("no plan has a revision beyond {MAX_REVISION}")))
        }
        token => Ok(token),
    }
}

/// Reads the hash of an object, which is handed on to git.
fn hash<'de, A: MapAccess<'de>>(map: &mut A) -> Result<Option<String>, A::Error> {
    let Some(text) = text(map)? else { return Ok(None) };
    Ok(commit_hash(&text).map_err(Error::custom)?.map(str::to_owned))
}

/// The rows as they are written.
pub(super) struct ClaimRows<'a>(pub(super) &'a [Claim]);

impl Serialize for ClaimRows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Row<'a>(&'a Claim);

        impl Serialize for Row<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut map = serializer.serialize_map(None)?;
                self.0.put(&mut map)?;
                map.end()
            }
        }

        serializer.collect_seq(self.0.iter().map(Row))
    }
}

/// The rows as they are read. A second one of a task or role is refused.
#[derive(Default)]
pub(super) struct ReadClaims(pub(super) Vec<Claim>);

impl<'de> Deserialize<'de> for ReadClaims {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ClaimsVisitor;

        impl<'de> Visitor<'de> for ClaimsVisitor {
            type Value = ReadClaims;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table of claims")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<ReadClaims, A::Error> {
                let read = RefCell::new((Vec::new(), HashSet::new()));
                while seq.next_element_seed(Lenient(NextClaim(&read)))?.is_some() {}
                Ok(ReadClaims(read.into_inner().0))
            }
        }

        deserializer.deserialize_seq(ClaimsVisitor)
    }
}

/// Reads a row. What is wrong with it belongs to the row, so that recovery leaves out no other.
#[derive(Clone, Copy)]
struct NextClaim<'a>(&'a RefCell<(Vec<Claim>, HashSet<ClaimTarget>)>);

impl<'de> DeserializeSeed<'de> for NextClaim<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for NextClaim<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Claim::WHAT)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let nothing = ClaimTarget::Task(TaskId::new(""));
        let mut claim = Claim::begun(nothing, 0, "", Timestamp::UNIX_EPOCH);
        claim.worker = None;
        record::read(&mut claim, &mut map)?;
        if claim.task.as_str().is_empty() {
            return Err(A::Error::missing_field("task"));
        }
        if claim.token == 0 {
            return Err(A::Error::missing_field("token"));
        }
        let (claims, seen) = &mut *self.0.borrow_mut();
        if !seen.insert(claim.task.clone()) {
            return Err(A::Error::custom(format_args!("another claim is of {}", claim.task.named())));
        }
        claims.push(claim);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]
    use std::path::Path;

    use super::*;
    use crate::plan_file::{Document, codec};
    use samuel_model::{ClaimPhase, PLAN_VERSION, Plan, Role, Status, Task};

    /// A plan of two tasks in progress, both claimed, beside the role that merges.
    fn plan() -> Plan {
        let task = |id| Task { status: Status::InProgress, ..Task::new(TaskId::new(id), "t") };
        let submitted = Claim {
            phase: ClaimPhase::Submitted,
            branch: Some("samuel/run-1/1.10-5".to_owned()),
            commit: Some("1e50".to_owned()),
            base: Some("0a0b".to_owned()),
            tree: Some("1234".to_owned()),
            attempt: 2,
            why: Some("it is in conflict in a.rs, b.rs".to_owned()),
            files: vec!["a.rs".to_owned(), "b.rs".to_owned()],
            ..Claim::begun(TaskId::new("1.10").into(), 5, "lane-1", Timestamp::UNIX_EPOCH)
        };
        let working = Claim::begun(TaskId::new("2").into(), 7, "lane-2", Timestamp::UNIX_EPOCH);
        let merges = Claim::begun(Role::Merge.into(), 8, "lane-1", Timestamp::UNIX_EPOCH);
        Plan {
            version: PLAN_VERSION.to_owned(),
            tasks: vec![task("1.10"), task("2")],
            claims: vec![submitted, working, merges],
            ..Plan::default()
        }
    }

    fn read(text: &str) -> (Document, usize) {
        let (document, diagnostics) = codec::decode(Path::new("prd.toon"), text.as_bytes()).unwrap();
        (document, diagnostics.len())
    }

    #[test]
    fn claims_are_a_table_that_is_there_only_while_there_are_any() {
        let text = codec::encode(&Document::new(plan())).unwrap();
        let columns =
            "claims[3]{task,token,worker,phase,attempt,branch,commit,since,base,tree,landed,why,files}:";
        assert!(text.contains(&format!("\n{columns}\n  \"1.10\",5,lane-1,submitted,2,")), "{text}");
        let (document, faults) = read(&text);
        assert_eq!((&*document.plan, faults), (&plan(), 0));
        let without = codec::encode(&Document::new(Plan { claims: Vec::new(), ..plan() })).unwrap();
        assert!(!without.contains("claims"), "{without}");
    }

    #[test]
    fn a_row_that_cannot_be_read_is_kept_and_claims_nothing() {
        let text = codec::encode(&Document::new(plan())).unwrap();
        for (from, to) in [
            ("\"2\",7,", "\"2\",0,"),
            ("\"2\",7,", "\"1.10\",7,"),
            ("\"2\",7,", "a b,7,"),
            (",lane-2,working,", ",lane-2,idle,"),
            (",\"1e50\",", ",--upload-pack,"),
        ] {
            let changed = text.replacen(&format!("  {from}"), &format!("  {to}"), 1);
            let changed = if changed == text { text.replacen(from, to, 1) } else { changed };
            assert_ne!(changed, text, "{from}");
            let (document, faults) = read(&changed);
            assert_eq!((document.plan.claims.len(), document.unparsed.len(), faults), (2, 1, 1), "{to}");
            assert_eq!(document.plan.tasks.len(), 2, "{to}");
        }
    }

    #[test]
    fn a_claim_whose_task_is_not_in_progress_is_none() {
        let text = codec::encode(&Document::new(plan())).unwrap();
        let (document, _) = read(&text.replacen("in_progress", "completed", 1));
        let left: Vec<&str> = document.plan.claims.iter().map(|claim| claim.task.as_str()).collect();
        assert_eq!(left, ["2", "@merge"]);
        // A row that somebody damaged may come back.
        let (document, _) = read(&text.replacen("in_progress", "at_work", 1));
        assert_eq!((document.plan.tasks.len(), document.plan.claims.len()), (1, 3));
    }
}
