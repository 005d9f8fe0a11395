//! Which objects look alike: interned keys and shapes.
//!
//! A shape is the path of an object's fields through a trie: each step is a
//! key and what stands there, so that two objects are uniform in the same
//! order exactly when they end at the same node. Following the step that was
//! taken last costs two comparisons, which is what uniform data does all the
//! time. Objects with the same fields in another order share a [`Shapes::set`].

use std::{
    collections::HashMap,
    hash::{BuildHasher, Hasher, RandomState},
};

use crate::text;

/// What pass one knows about a value that was written: a primitive, something
/// that fits no table, or an object of a certain shape.
///
/// It is as wide as a pointer, because a result of it is then returned in
/// registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Child(usize);

impl Child {
    pub(crate) const PRIMITIVE: Self = Self(0);
    pub(crate) const OTHER: Self = Self(1);
    /// The shape of an object without fields; shapes with fields follow.
    pub(crate) const EMPTY: Self = Self(2);

    /// Tells whether this is an object that can be a row.
    #[inline]
    pub(crate) fn is_row(self) -> bool {
        self > Self::EMPTY
    }

    /// Tells whether this can be a cell or a group of cells.
    #[inline]
    pub(crate) fn fits_row(self) -> bool {
        self == Self::PRIMITIVE || self.is_row()
    }

    /// Returns what [`Child::numbered`] takes.
    #[inline]
    pub(crate) const fn number(self) -> u32 {
        self.0 as u32
    }

    #[inline]
    pub(crate) const fn numbered(number: u32) -> Self {
        Self(number as usize)
    }

    #[inline]
    pub(crate) fn index(self) -> usize {
        self.0
    }
}

/// Keys by number, with their encoded spelling.
#[derive(Default)]
pub(crate) struct Keys {
    list: Vec<Key>,
    /// Filled once there are more than a few.
    by_text: HashMap<Box<str>, u32>,
    /// Numbers by the address of static keys, which structs use again and again.
    by_address: Vec<(usize, usize, u32)>,
}

struct Key {
    /// Only there when it is not written as it is.
    text: Option<Box<str>>,
    with_colon: Box<str>,
}

impl Key {
    fn new(text: &str) -> Self {
        let mut with_colon = String::with_capacity(text.len() + ": ".len());
        text::push_key(&mut with_colon, text);
        let text = (with_colon != text).then(|| text.into());
        with_colon.push_str(": ");
        Self { text, with_colon: with_colon.into_boxed_str() }
    }

    #[inline]
    fn encoded(&self) -> &str {
        self.with_colon.strip_suffix(": ").unwrap_or_default()
    }

    #[inline]
    fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_else(|| self.encoded())
    }
}

const ADDRESSES: usize = 64;
/// Up to here comparing keys or steps one by one is faster than hashing them.
const FEW: usize = 48;

impl Keys {
    /// Returns the number of a struct's field name.
    #[inline]
    pub(crate) fn fixed(&mut self, key: &'static str) -> u32 {
        let address = key.as_ptr() as usize;
        let slot = (address ^ (address >> 9)) % ADDRESSES;
        // Static text does not move or change, so place and length identify it.
        if let Some(&(known, length, number)) = self.by_address.get(slot)
            && known == address
            && length == key.len()
        {
            return number;
        }
        self.fix(key, slot)
    }

    #[cold]
    fn fix(&mut self, key: &'static str, slot: usize) -> u32 {
        let number = self.number(key);
        self.by_address.resize(ADDRESSES, (0, 0, 0));
        if let Some(entry) = self.by_address.get_mut(slot) {
            *entry = (key.as_ptr() as usize, key.len(), number);
        }
        number
    }

    /// Returns the number of any key.
    pub(crate) fn number(&mut self, key: &str) -> u32 {
        let known = if self.list.len() <= FEW {
            let found = self.list.iter().position(|known| known.text() == key);
            found.map(|number| number as u32)
        } else {
            self.by_text.get(key).copied()
        };
        if let Some(number) = known {
            return number;
        }
        let number = self.list.len() as u32;
        if self.list.len() == FEW {
            let all = self.list.iter().enumerate().map(|(number, key)| (key.text().into(), number as u32));
            self.by_text = all.collect();
        }
        self.list.push(Key::new(key));
        if self.list.len() > FEW {
            self.by_text.insert(key.into(), number);
        }
        number
    }

    fn text(&self, number: u32) -> &str {
        self.list.get(number as usize).map_or("", Key::text)
    }

    /// Returns the spelling of a key with its colon and space.
    #[inline]
    pub(crate) fn with_colon(&self, number: u32) -> &str {
        self.list.get(number as usize).map_or("", |key| &key.with_colon)
    }

    /// Returns the spelling of a key in the document.
    #[inline]
    pub(crate) fn encoded(&self, number: u32) -> &str {
        self.list.get(number as usize).map_or("", Key::encoded)
    }
}

/// The trie of shapes.
pub(crate) struct Shapes {
    nodes: Vec<Node>,
    /// Filled once there are more than a few.
    steps: HashMap<(Child, u32, Child), Child, MixState>,
    /// Steps taken lately, for places where several kinds of objects part.
    recent: Vec<((Child, u32, Child), Child)>,
    sets: HashMap<Vec<(u32, u32)>, u32>,
}

#[derive(Clone, Copy)]
struct Node {
    parent: Child,
    key: u32,
    child: Child,
    /// The step that was taken last from here, and where it led.
    last: (u32, Child, Child),
    /// Address and length of its key, when that is static.
    last_key: (usize, usize),
    /// The number of the field set, once asked for.
    set: Option<u32>,
}

impl Node {
    /// Returns the step that led here.
    #[inline]
    fn step(&self) -> (Child, u32, Child) {
        (self.parent, self.key, self.child)
    }
}

const UNKNOWN: u32 = u32::MAX;
const RECENT: usize = 64;

impl Default for Shapes {
    fn default() -> Self {
        let root = Node {
            parent: Child::EMPTY,
            key: UNKNOWN,
            child: Child::OTHER,
            last: (UNKNOWN, Child::OTHER, Child::OTHER),
            last_key: (0, 0),
            set: None,
        };
        // The first two places stand for what is no shape.
        Self { nodes: vec![root; 3], steps: HashMap::default(), recent: Vec::new(), sets: HashMap::new() }
    }
}

impl Shapes {
    /// Follows one field from a shape to the next.
    #[inline]
    pub(crate) fn step(&mut self, from: Child, key: u32, child: Child) -> Child {
        if let Some(Node { last: (last_key, last_child, to), .. }) = self.nodes.get(from.index())
            && *last_key == key
            && *last_child == child
        {
            return *to;
        }
        self.new_step(from, key, child)
    }

    fn new_step(&mut self, from: Child, key: u32, child: Child) -> Child {
        let step = (from, key, child);
        let slot = (from.0.wrapping_mul(31) ^ (key as usize).wrapping_mul(7) ^ child.0) % RECENT;
        if let Some((known, to)) = self.recent.get(slot)
            && *known == step
        {
            return *to;
        }
        let to = self.find(step).unwrap_or_else(|| self.add(step));
        self.recent.resize(RECENT, ((Child::OTHER, UNKNOWN, Child::OTHER), Child::OTHER));
        if let Some(entry) = self.recent.get_mut(slot) {
            *entry = (step, to);
        }
        if let Some(node) = self.nodes.get_mut(from.index()) {
            if node.last.0 != key {
                node.last_key = (0, 0);
            }
            node.last = (key, child, to);
        }
        to
    }

    fn find(&self, step: (Child, u32, Child)) -> Option<Child> {
        if self.nodes.len() > FEW {
            return self.steps.get(&step).copied();
        }
        self.nodes.iter().position(|node| node.step() == step).map(Child)
    }

    fn add(&mut self, step: (Child, u32, Child)) -> Child {
        let to = Child(self.nodes.len());
        let (parent, key, child) = step;
        let last = (UNKNOWN, Child::OTHER, Child::OTHER);
        self.nodes.push(Node { parent, key, child, last, last_key: (0, 0), set: None });
        if self.nodes.len() == FEW + 1 {
            self.steps = self.nodes.iter().enumerate().map(|(at, node)| (node.step(), Child(at))).collect();
        } else if self.nodes.len() > FEW {
            self.steps.insert(step, to);
        }
        to
    }

    /// Returns the number of a struct's field name, most likely the one that
    /// followed this shape the last time.
    #[inline]
    pub(crate) fn fixed_key(&mut self, keys: &mut Keys, from: Child, key: &'static str) -> u32 {
        let address = (key.as_ptr() as usize, key.len());
        if let Some(node) = self.nodes.get(from.index())
            && node.last_key == address
        {
            return node.last.0;
        }
        let number = keys.fixed(key);
        if let Some(node) = self.nodes.get_mut(from.index())
            && node.last.0 == number
        {
            node.last_key = address;
        }
        number
    }

    /// Follows a field that some object took before.
    pub(crate) fn known_step(&self, from: Child, key: u32, child: Child) -> Child {
        self.find((from, key, child)).unwrap_or(Child::OTHER)
    }

    /// Guesses the number of the key that follows a shape.
    #[inline]
    pub(crate) fn expected_key(&self, keys: &Keys, from: Child, key: &str) -> Option<u32> {
        let number = self.nodes.get(from.index())?.last.0;
        (number != UNKNOWN && keys.text(number) == key).then_some(number)
    }

    /// Returns an upper bound of the shapes' indices.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Lists the fields of a shape in order.
    pub(crate) fn fields(&self, shape: Child) -> Vec<(u32, Child)> {
        let mut fields = Vec::new();
        let mut at = shape;
        while at > Child::EMPTY {
            let Some(node) = self.nodes.get(at.index()) else { break };
            fields.push((node.key, node.child));
            at = node.parent;
        }
        fields.reverse();
        fields
    }

    /// Returns the same number for shapes that differ only in the order of fields.
    pub(crate) fn set(&mut self, shape: Child) -> u32 {
        if let Some(set) = self.nodes.get(shape.index()).and_then(|node| node.set) {
            return set;
        }
        let mut fields = Vec::new();
        for (key, child) in self.fields(shape) {
            fields.push((key, if child.is_row() { self.set(child) + 1 } else { 0 }));
        }
        fields.sort_unstable();
        let next = self.sets.len() as u32;
        let set = *self.sets.entry(fields).or_insert(next);
        if let Some(node) = self.nodes.get_mut(shape.index()) {
            node.set = Some(set);
        }
        set
    }
}

/// Hashes a step, which is three small numbers that the encoder itself gave
/// out; the seed keeps anyone from preparing collisions all the same.
#[derive(Clone)]
struct MixState(u64);

impl Default for MixState {
    fn default() -> Self {
        Self(RandomState::new().hash_one(0_u8))
    }
}

impl BuildHasher for MixState {
    type Hasher = Mix;

    fn build_hasher(&self) -> Mix {
        Mix(self.0)
    }
}

struct Mix(u64);

impl Hasher for Mix {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u32(u32::from(*byte));
        }
    }

    #[inline]
    fn write_u32(&mut self, number: u32) {
        let product = u128::from(self.0 ^ u64::from(number)) * 0x9E37_79B9_7F4A_7C15;
        self.0 = (product as u64) ^ (product >> 64) as u64;
    }

    #[inline]
    fn write_usize(&mut self, number: usize) {
        self.write_u32(number as u32);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Watches the children of a container for uniform objects.
#[derive(Clone, Copy)]
pub(crate) struct Uniform {
    first: Option<Child>,
    reordered: bool,
    broken: bool,
}

impl Uniform {
    pub(crate) const fn new() -> Self {
        Self { first: None, reordered: false, broken: false }
    }

    #[inline]
    pub(crate) fn add(&mut self, child: Child, shapes: &mut Shapes) {
        if self.broken {
            return;
        }
        match self.first {
            Some(first) if first == child => {}
            Some(first) => self.differ(first, child, shapes),
            None => {
                self.first = Some(child);
                self.broken = !child.is_row();
            }
        }
    }

    fn differ(&mut self, first: Child, child: Child, shapes: &mut Shapes) {
        self.broken = !child.is_row() || shapes.set(first) != shapes.set(child);
        self.reordered = true;
    }

    /// Returns the shape that the next child should have to keep things simple.
    #[inline]
    pub(crate) fn expected(self) -> Child {
        match self.first {
            None => Child::EMPTY,
            Some(_) if self.broken => Child::OTHER,
            Some(first) => first,
        }
    }

    /// Returns the shape of the rows and whether some are in another order.
    pub(crate) fn table(self) -> Option<(Child, bool)> {
        self.first.filter(|_| !self.broken).map(|first| (first, self.reordered))
    }
}
