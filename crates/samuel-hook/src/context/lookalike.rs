//! Characters that stand for others, or for none, where a person or a model reads them.
//!
//! A [`Framing`](super::Framing) takes its number out of what others say, and with it what only looks
//! like it: the letters and digits of a hexadecimal number, as [`plain`] reads them, without
//! what [`is_unseen`].

/// Says whether a character leaves no mark in a line: controls but for those that end a line or
/// move on in it, and what Unicode has renderers ignore by default.
pub(super) fn is_unseen(c: char) -> bool {
    matches!(c,
        '\u{0}'..='\u{8}' | '\u{e}'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// Returns the small letter from a to f, or the digit, that a character looks like; another
/// character is returned as it is.
pub(super) fn plain(c: char) -> char {
    let found = match c {
        '\u{ff10}'..='\u{ff19}' => nth('0', c, '\u{ff10}', 10),
        '\u{ff21}'..='\u{ff26}' => nth('a', c, '\u{ff21}', 6),
        '\u{ff41}'..='\u{ff46}' => nth('a', c, '\u{ff41}', 6),
        // Mathematical alphabets: 26 capital letters and 26 small ones each, then the digits.
        '\u{1d400}'..='\u{1d6a3}' => nth('a', c, '\u{1d400}', 26),
        '\u{1d7ce}'..='\u{1d7ff}' => nth('0', c, '\u{1d7ce}', 10),
        'а' | 'А' | 'Α' | 'α' => Some('a'),
        'В' | 'Β' | 'Ь' => Some('b'),
        'с' | 'С' | 'ϲ' | 'Ϲ' | 'ⅽ' => Some('c'),
        'ԁ' | 'ⅾ' => Some('d'),
        'е' | 'Е' | 'Ε' | 'ℯ' => Some('e'),
        'ϝ' | 'Ϝ' => Some('f'),
        'О' | 'о' | 'Ο' | 'ο' | 'O' | 'o' => Some('0'),
        'l' | 'I' | 'і' | 'І' | 'Ι' | 'ӏ' | 'Ӏ' => Some('1'),
        'З' | 'з' => Some('3'),
        c => Some(c.to_ascii_lowercase()),
    };
    found.unwrap_or(c)
}

/// Returns the character that stands as far behind `first` as `c` behind `start`, in rows of so many.
fn nth(first: char, c: char, start: char, row: u32) -> Option<char> {
    let place = u32::from(c).checked_sub(u32::from(start))?.checked_rem(row)?;
    char::from_u32(u32::from(first).checked_add(place)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_and_digits_of_other_alphabets_are_read_as_they_look() {
        let read = |text: &str| text.chars().map(plain).collect::<String>();
        assert_eq!(read("0123456789abcdefABCDEF"), "0123456789abcdefabcdef");
        assert_eq!(read("０９ａｆＡＦ"), "09afaf");
        assert_eq!(read("𝐀𝐅𝐚𝐟𝒂𝓯𝟎𝟗𝟘𝟡𝟢𝟫𝟬𝟵𝟶𝟿"), "afafaf0909090909");
        assert_eq!(read("асе"), "ace");
        assert_eq!(read("x-é日🚀"), "x-é日🚀");
    }

    #[test]
    fn what_ends_a_line_or_moves_on_in_it_is_seen() {
        assert!(!"\n\r\t\u{b}\u{c} \u{a0}".chars().any(is_unseen));
        assert!("\0\u{200b}\u{feff}\u{e0020}".chars().all(is_unseen));
    }
}
