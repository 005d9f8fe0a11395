//! Cycles among dependencies.

use std::collections::VecDeque;

/// Finds cycles: for each node the nodes it waits for, by index.
///
/// Returns cycles that have no node in common, each in the order of waiting.
/// There is at least one if there is a cycle at all. Takes time linear in
/// nodes and edges and needs no stack, whatever the graph is.
pub(super) fn find(waits_for: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let stuck = stuck(waits_for);
    let is_stuck = |node: &usize| stuck.get(*node).copied().unwrap_or(false);
    // The walk that came by a node and its step, if any did.
    let mut seen: Vec<Option<(usize, usize)>> = vec![None; waits_for.len()];
    let mut cycles = Vec::new();
    for start in (0..waits_for.len()).filter(is_stuck) {
        let mut path: Vec<usize> = Vec::new();
        let mut node = Some(start);
        while let Some(at) = node {
            let Some(mark) = seen.get_mut(at) else { break };
            if let Some((walk, step)) = *mark {
                if walk == start {
                    cycles.push(path.split_off(step));
                }
                break;
            }
            *mark = Some((start, path.len()));
            path.push(at);
            // A stuck node waits for at least one other that is stuck.
            node = waits_for.get(at).and_then(|next| next.iter().copied().find(|next| is_stuck(next)));
        }
    }
    cycles
}

/// Says for each node whether it is on a cycle or waits for one.
fn stuck(waits_for: &[Vec<usize>]) -> Vec<bool> {
    let mut open: Vec<usize> = waits_for.iter().map(Vec::len).collect();
    let mut waited_for_by: Vec<Vec<usize>> = vec![Vec::new(); waits_for.len()];
    for (node, others) in waits_for.iter().enumerate() {
        for other in others {
            if let Some(waiting) = waited_for_by.get_mut(*other) {
                waiting.push(node);
            }
        }
    }
    let mut free: VecDeque<usize> =
        open.iter().enumerate().filter(|(_, open)| **open == 0).map(|(node, _)| node).collect();
    let mut stuck = vec![true; waits_for.len()];
    while let Some(node) = free.pop_front() {
        if let Some(flag) = stuck.get_mut(node) {
            *flag = false;
        }
        for waiting in waited_for_by.get(node).into_iter().flatten() {
            if let Some(open) = open.get_mut(*waiting) {
                *open -= 1;
                if *open == 0 {
                    free.push_back(*waiting);
                }
            }
        }
    }
    stuck
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_graph_without_cycles_has_none() {
        assert!(find(&[vec![], vec![0], vec![0, 1]]).is_empty());
    }

    #[test]
    fn a_cycle_is_found_without_those_that_only_wait_for_it() {
        assert_eq!(find(&[vec![1], vec![2], vec![3], vec![1]]), [[1, 2, 3]]);
        assert_eq!(find(&[vec![0]]), [[0]]);
        assert_eq!(find(&[vec![1], vec![0], vec![3], vec![2]]), [[0, 1], [2, 3]]);
    }

    #[test]
    fn a_long_chain_needs_no_stack() {
        let mut chain: Vec<Vec<usize>> = (0..100_000).map(|node| vec![node + 1]).collect();
        chain.push(vec![0]);
        assert_eq!(find(&chain).iter().map(Vec::len).collect::<Vec<_>>(), [100_001]);
    }
}
