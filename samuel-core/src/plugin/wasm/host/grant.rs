//! Matching what is wanted against what was granted.

/// Where the project is for a plugin.
pub(super) const WORKSPACE: &str = "/workspace";

/// Says whether a path, relative to the project, is covered by one of the
/// patterns: globs under `/workspace`, where `*` and `?` stay inside a name and
/// `**` stands for any number of them.
pub(super) fn covers_path(patterns: &[String], path: &[String]) -> bool {
    patterns.iter().any(|pattern| {
        let below = pattern.strip_prefix(WORKSPACE).unwrap_or(pattern);
        let names: Vec<&str> = below.split('/').filter(|name| !name.is_empty()).collect();
        matches(&names, path, |name| *name == "**", |pattern, name| covers_name(pattern, name))
    })
}

/// Says whether a name is covered by a pattern with `*` and `?`.
fn covers_name(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    matches(&pattern, &name, |one| *one == '*', |one, other| *one == '?' || one == other)
}

/// Matches a pattern in which some items stand for any number of others. Takes
/// time proportional to the product of the two lengths at most.
fn matches<P, T>(
    pattern: &[P],
    items: &[T],
    is_any: impl Fn(&P) -> bool,
    covers: impl Fn(&P, &T) -> bool,
) -> bool {
    let (mut at, mut item) = (0, 0);
    // Where to go on if the rest does not match: behind the last wildcard,
    // which then stands for one item more.
    let mut retry: Option<(usize, usize)> = None;
    while item < items.len() {
        match (pattern.get(at), items.get(item)) {
            (Some(one), _) if is_any(one) => {
                retry = Some((at + 1, item));
                at += 1;
            }
            (Some(one), Some(other)) if covers(one, other) => {
                at += 1;
                item += 1;
            }
            _ => match retry {
                Some((behind, from)) => {
                    retry = Some((behind, from + 1));
                    (at, item) = (behind, from + 1);
                }
                None => return false,
            },
        }
    }
    pattern.iter().skip(at).all(is_any)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covers(pattern: &str, path: &str) -> bool {
        let path: Vec<String> = path.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect();
        covers_path(&[pattern.to_owned()], &path)
    }

    #[test]
    fn a_star_stays_inside_a_name_and_two_cross_them() {
        assert!(covers("/workspace/**", "a/b/c.txt") && covers("/workspace/**", ""));
        assert!(covers("/workspace/docs/*.md", "docs/a.md"));
        assert!(!covers("/workspace/docs/*.md", "docs/sub/a.md"));
        assert!(covers("/workspace/**/*.md", "a.md") && covers("/workspace/**/*.md", "docs/sub/a.md"));
        assert!(covers("/workspace/a?c", "abc") && !covers("/workspace/a?c", "ac"));
        assert!(covers("/workspace/docs/**", "docs") && !covers("/workspace/docs/**", "docs2/a"));
        assert!(!covers("/workspace/docs", "docs/a") && !covers("/workspace/docs", ""));
    }

    #[test]
    fn a_pattern_that_backtracks_much_still_answers() {
        let path = vec!["a".repeat(2_000)];
        assert!(!covers_path(&[format!("/workspace/{}b", "*a".repeat(500))], &path));
    }
}
