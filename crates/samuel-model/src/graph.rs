//! Circles among the dependencies of tasks.
//!
//! A [group](super::Groups) waits for its parts, and a part for what its
//! groups depend on, but not for them. So a group is two nodes: its end, for which
//! others wait, and its start, which waits for what it depends on.

use std::collections::{HashMap, VecDeque};

use super::{Groups, Task, TaskId};

/// Finds the circles of dependencies among some tasks. Dependencies on other
/// tasks do not count.
///
/// Each group of tasks that all depend on each other gives one path: the
/// shortest circle through its first task in natural order, starting and
/// ending with that task. The paths are in natural order too.
pub fn cycles<'a>(tasks: impl IntoIterator<Item = &'a Task>) -> Vec<Vec<TaskId>> {
    let tasks: Vec<&Task> = tasks.into_iter().collect();
    if tasks.iter().all(|task| task.depends_on.is_empty()) {
        return Vec::new();
    }
    let graph = Graph::new(&tasks);
    let components = graph.components();
    let mut first_of = HashMap::<usize, usize>::new();
    for (node, component) in components.iter().enumerate().take(tasks.len()) {
        let first = first_of.entry(*component).or_insert(node);
        if graph.id(node) < graph.id(*first) {
            *first = node;
        }
    }
    let mut paths: Vec<Vec<TaskId>> =
        first_of.values().filter_map(|first| graph.circle_through(*first, &components)).collect();
    paths.sort();
    paths
}

/// Tasks as numbers, and for each the numbers it waits for. The starts of groups
/// follow after all tasks, each as far behind its group as there are tasks.
struct Graph<'a> {
    ids: Vec<&'a TaskId>,
    edges: Vec<Vec<usize>>,
}

impl<'a> Graph<'a> {
    fn new(tasks: &[&'a Task]) -> Self {
        let ids: Vec<&TaskId> = tasks.iter().map(|task| &task.id).collect();
        let numbers: HashMap<&TaskId, usize> = ids.iter().enumerate().map(|(n, id)| (*id, n)).collect();
        let groups = Groups::of(tasks.iter().copied());
        let own = tasks.iter().enumerate().map(|(node, task)| {
            let depends_on = task.depends_on.iter().filter_map(|id| numbers.get(id).copied());
            // What goes round within a group holds nobody up.
            let holds = |other: &usize| !groups.contains(*other, node) && !groups.contains(node, *other);
            let start_above = groups.parent(node).map(|parent| tasks.len() + parent);
            depends_on.filter(holds).chain(start_above).collect()
        });
        let mut edges: Vec<Vec<usize>> = own.collect();
        if !groups.is_empty() {
            let ends = edges.iter_mut().enumerate().filter(|(node, _)| groups.is_group(*node));
            let starts: Vec<(usize, Vec<usize>)> = ends
                .map(|(node, edges)| (node, std::mem::replace(edges, groups.parts(node).to_vec())))
                .collect();
            edges.resize(2 * tasks.len(), Vec::new());
            for (group, waits_for) in starts {
                if let Some(edges) = edges.get_mut(tasks.len() + group) {
                    *edges = waits_for;
                }
            }
        }
        Self { ids, edges }
    }

    fn id(&self, node: usize) -> Option<&'a TaskId> {
        self.ids.get(node).copied()
    }

    fn edges(&self, node: usize) -> &[usize] {
        self.edges.get(node).map_or(&[], Vec::as_slice)
    }

    /// Gives each node the number of its strongly connected component, by
    /// Tarjan's algorithm on a stack of its own: chains may be long.
    fn components(&self) -> Vec<usize> {
        let mut search = Search::new(self.edges.len());
        for root in 0..self.edges.len() {
            search.visit(self, root);
        }
        search.component
    }

    /// Finds the shortest way from a node back to itself within its component.
    fn circle_through(&self, start: usize, components: &[usize]) -> Option<Vec<TaskId>> {
        let mut came_from = HashMap::<usize, usize>::new();
        let mut queue = VecDeque::from([start]);
        while let Some(node) = queue.pop_front() {
            for &to in self.edges(node) {
                if components.get(to) != components.get(start) || came_from.contains_key(&to) {
                    continue;
                }
                came_from.insert(to, node);
                if to == start {
                    return self.walk_back(start, &came_from);
                }
                queue.push_back(to);
            }
        }
        None
    }

    fn walk_back(&self, start: usize, came_from: &HashMap<usize, usize>) -> Option<Vec<TaskId>> {
        let mut path = vec![self.id(start)?.clone()];
        let mut node = *came_from.get(&start)?;
        while node != start {
            // The start of a group stands in the name of its parts.
            path.extend(self.id(node).cloned());
            node = *came_from.get(&node)?;
        }
        path.push(self.id(start)?.clone());
        path.reverse();
        Some(path)
    }
}

const UNSEEN: usize = usize::MAX;

/// The state of Tarjan's search, one entry a node.
struct Search {
    order: Vec<usize>,
    lowest: Vec<usize>,
    component: Vec<usize>,
    open: Vec<usize>,
    seen: usize,
}

impl Search {
    fn new(nodes: usize) -> Self {
        Self {
            order: vec![UNSEEN; nodes],
            lowest: vec![UNSEEN; nodes],
            component: vec![UNSEEN; nodes],
            open: Vec::new(),
            seen: 0,
        }
    }

    #[expect(clippy::indexing_slicing, reason = "every node is below the number of nodes")]
    fn visit(&mut self, graph: &Graph<'_>, root: usize) {
        let mut path: Vec<(usize, usize)> = Vec::new();
        if self.order[root] == UNSEEN {
            self.enter(root);
            path.push((root, 0));
        }
        while let Some((node, edge)) = path.last_mut() {
            let (node, next) = (*node, graph.edges(*node).get(*edge).copied());
            *edge += 1;
            match next {
                Some(to) if self.order[to] == UNSEEN => {
                    self.enter(to);
                    path.push((to, 0));
                }
                Some(to) if self.component[to] == UNSEEN => {
                    self.lowest[node] = self.lowest[node].min(self.order[to]);
                }
                Some(_) => {}
                None => {
                    path.pop();
                    self.leave(node);
                    if let Some((parent, _)) = path.last() {
                        self.lowest[*parent] = self.lowest[*parent].min(self.lowest[node]);
                    }
                }
            }
        }
    }

    #[expect(clippy::indexing_slicing, reason = "every node is below the number of nodes")]
    fn enter(&mut self, node: usize) {
        self.order[node] = self.seen;
        self.lowest[node] = self.seen;
        self.seen += 1;
        self.open.push(node);
    }

    /// Closes a component when its first node is left.
    #[expect(clippy::indexing_slicing, reason = "every node is below the number of nodes")]
    fn leave(&mut self, node: usize) {
        if self.lowest[node] != self.order[node] {
            return;
        }
        while let Some(member) = self.open.pop() {
            self.component[member] = node;
            if member == node {
                break;
            }
        }
    }
}
