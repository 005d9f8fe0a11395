//! Flat objects of which some keys are known and the others are kept.

use std::{fmt, marker::PhantomData};

use super::cell::{Key, Text};
use samuel_model::{PlanHeader, Progress};
use samuel_toon::Map;
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
    ser::SerializeMap,
};

/// A flat object with known keys.
pub(crate) trait Record {
    /// What it is, for messages.
    const WHAT: &'static str;

    /// Takes the value of a key; says whether the key is known. A value that
    /// is not asked for stays in the map.
    fn take<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<bool, A::Error>;

    /// Writes the known keys.
    fn put<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error>;
}

/// A record and the keys it does not know.
#[derive(Debug, Default)]
pub(crate) struct Split<R> {
    pub(crate) record: R,
    pub(crate) others: Map,
}

impl<'de, R: Record + Default> Deserialize<'de> for Split<R> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(SplitVisitor(PhantomData))
    }
}

struct SplitVisitor<R>(PhantomData<R>);

impl<'de, R: Record + Default> Visitor<'de> for SplitVisitor<R> {
    type Value = Split<R>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(R::WHAT)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Split<R>, A::Error> {
        let mut record = R::default();
        let others = read(&mut record, &mut map)?;
        Ok(Split { record, others })
    }
}

/// Reads into a record and returns the keys it does not know.
pub(crate) fn read<'de, R, A>(record: &mut R, map: &mut A) -> Result<Map, A::Error>
where
    R: Record,
    A: MapAccess<'de>,
{
    let mut others = Map::new();
    while let Some(Key(key)) = map.next_key()? {
        if !record.take(&key, map)? {
            others.insert(key, map.next_value()?);
        }
    }
    Ok(others)
}

/// A record and other keys, to be written as one object.
pub(crate) struct Joined<'a, R> {
    pub(crate) record: &'a R,
    pub(crate) others: &'a Map,
}

impl<R: Record> serde::Serialize for Joined<'_, R> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.record.put(&mut map)?;
        for (key, value) in self.others.iter() {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// Reads the next value, or the default where there is `null`.
pub(crate) fn or_default<'de, A, T>(map: &mut A) -> Result<T, A::Error>
where
    A: MapAccess<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(map.next_value::<Option<T>>()?.unwrap_or_default())
}

/// Reads the next value as text; `null` is no text.
pub(crate) fn text<'de, A: MapAccess<'de>>(map: &mut A) -> Result<Option<String>, A::Error> {
    Ok(map.next_value::<Option<Text>>()?.map(|Text(text)| text))
}

impl Record for PlanHeader {
    const WHAT: &'static str = "a project";

    fn take<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<bool, A::Error> {
        match key {
            "name" => self.name = text(map)?.unwrap_or_default(),
            "description" => self.description = text(map)?.unwrap_or_default(),
            "source_prd" => self.source_prd = text(map)?,
            "methodology" => self.methodology = text(map)?,
            "prd_format" => self.prd_format = text(map)?,
            "created_at" => self.created_at = map.next_value()?,
            "updated_at" => self.updated_at = map.next_value()?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn put<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry("name", &self.name)?;
        if self.methodology.is_some() {
            map.serialize_entry("methodology", &self.methodology)?;
        }
        map.serialize_entry("description", &self.description)?;
        map.serialize_entry("source_prd", &self.source_prd)?;
        if self.prd_format.is_some() {
            map.serialize_entry("prd_format", &self.prd_format)?;
        }
        map.serialize_entry("created_at", &self.created_at)?;
        map.serialize_entry("updated_at", &self.updated_at)
    }
}

impl Record for Progress {
    const WHAT: &'static str = "progress";

    fn take<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<bool, A::Error> {
        match key {
            "status" => self.status = or_default(map)?,
            "total_tasks" => self.total_tasks = or_default(map)?,
            "completed_tasks" => self.completed_tasks = or_default(map)?,
            "current_iteration" => self.current_iteration = or_default(map)?,
            "total_iterations_run" => self.total_iterations_run = or_default(map)?,
            "impl_iterations" => self.impl_iterations = or_default(map)?,
            "discovery_iterations" => self.discovery_iterations = or_default(map)?,
            "last_discovery_at" => self.last_discovery_at = map.next_value()?,
            "last_discovery_iteration" => self.last_discovery_iteration = or_default(map)?,
            "discovery_room" => self.discovery_room = map.next_value()?,
            "last_iteration_at" => self.last_iteration_at = map.next_value()?,
            "cost_usd" => self.cost_usd = or_default(map)?,
            "tokens" => self.tokens = or_default(map)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn put<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry("status", &self.status)?;
        map.serialize_entry("total_tasks", &self.total_tasks)?;
        map.serialize_entry("completed_tasks", &self.completed_tasks)?;
        map.serialize_entry("current_iteration", &self.current_iteration)?;
        map.serialize_entry("total_iterations_run", &self.total_iterations_run)?;
        map.serialize_entry("impl_iterations", &self.impl_iterations)?;
        map.serialize_entry("discovery_iterations", &self.discovery_iterations)?;
        map.serialize_entry("last_discovery_at", &self.last_discovery_at)?;
        if self.last_discovery_iteration > 0 {
            map.serialize_entry("last_discovery_iteration", &self.last_discovery_iteration)?;
        }
        if self.discovery_room.is_some() {
            map.serialize_entry("discovery_room", &self.discovery_room)?;
        }
        map.serialize_entry("last_iteration_at", &self.last_iteration_at)?;
        map.serialize_entry("cost_usd", &self.cost_usd)?;
        map.serialize_entry("tokens", &self.tokens)
    }
}
