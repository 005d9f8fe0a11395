//! Numbers that look random and are the same each time.

/// A source of numbers that a seed decides.
#[derive(Clone, Debug)]
pub struct Seeded(u64);

impl Seeded {
    /// Makes the source of a seed.
    pub fn new(seed: u64) -> Self {
        let mut seeded =
            Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x5851_f42d_4c95_7f2d) | 1);
        // Seeds that are near each other begin alike.
        for _ in 0..4 {
            seeded.below(2);
        }
        seeded
    }

    /// Returns a number below a limit; 0 where there is none.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit.max(1)
    }

    /// Says yes in so many of a hundred cases.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}
