//! What the user says to all lanes, and whose agents were given it.
//!
//! Each lane gives a text with its next prompt. [`UserTexts`] takes down who did, so that one which no prompt had is found
//! at the end of the run: the leader then gives it in a last turn, or tells of it.

use std::collections::VecDeque;

/// How much is kept of what waits, in bytes. The oldest makes room: the leader then gives it once more than it need.
const MAX_BYTES: usize = 1 << 20;

/// What the user said and not every lane has given to its agent yet, in the order in which it was said.
#[derive(Debug, Default)]
pub(super) struct UserTexts(VecDeque<UserText>);

#[derive(Debug)]
struct UserText {
    text: String,
    /// The lanes whose agents were not given it.
    waits_in: Vec<u32>,
    was_delivered: bool,
}

impl UserTexts {
    /// Takes down what was said to so many lanes.
    pub(super) fn said(&mut self, lanes: u32, text: &str) {
        let waits_in = (1..=lanes).collect();
        self.0.push_back(UserText { text: text.to_owned(), waits_in, was_delivered: false });
        let mut bytes: usize = self.0.iter().map(|said| said.text.len()).sum();
        while bytes > MAX_BYTES
            && let Some(oldest) = self.0.pop_front()
        {
            bytes -= oldest.text.len();
        }
    }

    /// Takes down that the agent of a lane was given texts.
    pub(super) fn were_delivered(&mut self, lane: u32, texts: &[String]) {
        for text in texts {
            // The same was perhaps said more than once: a lane gives what was said first first.
            let mut of_lane = self.0.iter_mut().filter(|said| said.waits_in.contains(&lane));
            if let Some(said) = of_lane.find(|said| said.text == *text) {
                said.waits_in.retain(|waiting| *waiting != lane);
                said.was_delivered = true;
            }
        }
        self.0.retain(|said| !said.waits_in.is_empty());
    }

    /// Returns the texts that wait in a lane and agents of others were given, and forgets that they wait there.
    pub(super) fn delivered_elsewhere(&mut self, lane: u32) -> Vec<String> {
        let mut elsewhere = Vec::new();
        for said in self.0.iter_mut().filter(|said| said.was_delivered && said.waits_in.contains(&lane)) {
            said.waits_in.retain(|waiting| *waiting != lane);
            elsewhere.push(said.text.clone());
        }
        elsewhere
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts<const N: usize>(texts: [&str; N]) -> Vec<String> {
        texts.map(str::to_owned).to_vec()
    }

    #[test]
    fn what_another_lane_gave_need_not_be_given_at_the_end() {
        let mut said = UserTexts::default();
        ["one", "two", "three"].iter().for_each(|text| said.said(3, text));
        said.were_delivered(2, &texts(["one", "two"]));
        said.were_delivered(1, &texts(["one"]));
        assert_eq!(said.delivered_elsewhere(1), ["two"]);
        assert!(said.delivered_elsewhere(1).is_empty(), "it is told once");
    }

    #[test]
    fn the_same_text_said_twice_is_two_texts() {
        let mut said = UserTexts::default();
        said.said(2, "go on");
        said.were_delivered(1, &texts(["go on"]));
        said.said(2, "go on");
        // Of the two that wait there, the second lane gave the first.
        said.were_delivered(2, &texts(["go on"]));
        assert!(said.delivered_elsewhere(1).is_empty());
        said.were_delivered(2, &texts(["go on"]));
        assert_eq!(said.delivered_elsewhere(1), ["go on"]);
    }

    #[test]
    fn what_all_lanes_gave_is_forgotten_and_so_is_the_oldest_of_too_much() {
        let mut said = UserTexts::default();
        said.said(1, "one");
        said.were_delivered(1, &texts(["one"]));
        assert!(said.0.is_empty());
        let long = "x".repeat(MAX_BYTES / 2);
        (0..3).for_each(|_| said.said(2, &long));
        assert_eq!(said.0.len(), 2);
    }
}
