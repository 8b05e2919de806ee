//! A xorshift64* generator: the same seed gives the same inputs on every machine.

use std::ops::Range;

pub(crate) struct Random(u64);

impl Random {
    /// The generator of input `n` of a run, so that one input can be regenerated without the
    /// others.
    pub(crate) fn new(seed: u64, n: u64) -> Self {
        // SplitMix64's finaliser: neighbouring inputs must not have neighbouring states.
        let mut state = seed.wrapping_add((n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Random((state ^ (state >> 31)).max(1))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `end`, or 0 if there is none.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        let end = end.max(1) as u64;
        usize::try_from((self.next() >> 16) % end).expect("below a usize")
    }

    /// A range within `0..len`, mostly short.
    pub(crate) fn range(&mut self, len: usize) -> Range<usize> {
        let start = self.below(len);
        let longest = (len - start.min(len)).min(1 << self.below(8));
        start..start + self.below(longest + 1)
    }

    pub(crate) fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}
