//! Documents made of others: what a corpus becomes when lines are lost,
//! doubled, moved, cut and mixed. The same seed makes the same documents.

/// A source of numbers.
pub(crate) struct Random(u64);

impl Random {
    /// Starts with a seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11
    }

    /// Returns a number below another one.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

/// What is put into documents.
const PIECES: &[&str] = &[
    "- [ ] 1.1 Title",
    "- [-] gone",
    "~~struck~~",
    "### 1.2 Title",
    "## Tasks",
    "1. numbered",
    "| ID | Task |\n|----|------|\n| 1 | a |",
    "```",
    "<!--",
    "> quote",
    "    code",
    "[a]: b",
    "***",
    "__init__",
    "**a*b_c`d",
    "[P1]",
    "(depends on 1, 2)",
    "\t",
    "\u{feff}",
    "é🎯\u{202e}",
    "{\"tasks\":[{\"id\":1}]}",
    "\r\n",
    "[ ]",
    "US-001:",
    "T001 [P] [US1]",
    "Task 1: Step 1:",
];

/// Makes a document of one and another one.
pub(crate) fn mutate(random: &mut Random, text: &str, other: &str) -> String {
    let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
    let others: Vec<&str> = other.split('\n').collect();
    for _ in 0..1 + random.below(6) {
        let at = random.below(lines.len());
        match random.below(10) {
            0 => drop(lines.remove(at)),
            1 => lines.insert(at, lines[at].clone()),
            2 => {
                let to = random.below(lines.len());
                lines.swap(at, to);
            }
            3 => lines.insert(at, others[random.below(others.len())].to_owned()),
            4 => lines.insert(at, PIECES[random.below(PIECES.len())].to_owned()),
            5 => {
                let chars: Vec<char> = lines[at].chars().collect();
                lines[at] = chars[..random.below(chars.len() + 1)].iter().collect();
            }
            6 => {
                lines[at] =
                    format!("{}{}", ["  ", "    ", "\t", "- ", "> ", "# "][random.below(6)], lines[at])
            }
            7 => {
                let piece = PIECES[random.below(PIECES.len())];
                let chars: Vec<char> = lines[at].chars().collect();
                let (start, end) = chars.split_at(random.below(chars.len() + 1));
                lines[at] = start.iter().copied().chain(piece.chars()).chain(end.iter().copied()).collect();
            }
            8 => lines[at] = lines[at].trim_start().to_owned(),
            _ => {
                let until = at + random.below(lines.len() - at);
                let part = lines[at..until].to_vec();
                lines.extend(part);
            }
        }
        if lines.is_empty() {
            lines.push(String::new());
        }
    }
    lines.join("\n")
}
