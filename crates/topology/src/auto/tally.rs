//! Ready endpoints counted by the zone they are in and the zone they are hinted for.

use super::least_change::Position;

/// Counts by home and hinted zone. The last row and the last column are those of no zone. Empty
/// until the first is added: most often all endpoints are in one of two.
#[derive(Clone, Debug)]
pub(super) struct Matrix {
    width: usize,
    counts: Vec<u32>,
}

/// The endpoints whose hints can change without another write, and the others.
#[derive(Clone, Debug)]
pub(super) struct Tally {
    /// In slices that are written.
    pub(super) writable: Matrix,
    /// In slices that are not. All have a hint that can stay.
    pub(super) fixed: Matrix,
}

// === impl Tally ===

impl Tally {
    pub(super) fn new(n_zones: usize) -> Self {
        Tally { writable: Matrix::new(n_zones), fixed: Matrix::new(n_zones) }
    }

    /// The slice of these endpoints, fixed until now, is written.
    pub(super) fn open(&mut self, places: &[Position]) {
        self.fixed.each(places, |count| *count -= 1);
        self.writable.each(places, |count| *count += 1);
    }
}

// === impl Matrix ===

impl Matrix {
    pub(super) fn new(n_zones: usize) -> Self {
        Matrix { width: n_zones + 1, counts: Vec::new() }
    }

    pub(super) fn add(&mut self, places: &[Position]) {
        // Neighbours count in two tables by turns, so that one need not wait for the other.
        let width = self.width;
        let (even, mut odd) = (self.table(), vec![0u32; width * width]);
        for pair in places.chunks(2) {
            even[slot(width, &pair[0])] += 1;
            if let Some(second) = pair.get(1) {
                odd[slot(width, second)] += 1;
            }
        }
        even.iter_mut().zip(odd).for_each(|(count, odd)| *count += odd);
    }

    fn each(&mut self, places: &[Position], change: impl Fn(&mut u32)) {
        let width = self.width;
        let table = self.table();
        places.iter().for_each(|place| change(&mut table[slot(width, place)]));
    }

    fn table(&mut self) -> &mut [u32] {
        if self.counts.is_empty() {
            self.counts = vec![0; self.width * self.width];
        }
        &mut self.counts
    }

    pub(super) fn at(&self, home: usize, hinted: usize) -> u32 {
        self.counts.get(home * self.width + hinted).copied().unwrap_or(0)
    }

    /// Nothing was ever added.
    pub(super) fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    pub(super) fn total(&self) -> u32 {
        self.counts.iter().sum()
    }

    /// By the zone they are in, with a last slot for no zone.
    pub(super) fn homes(&self) -> Vec<u32> {
        if self.is_empty() {
            return vec![0; self.width];
        }
        self.counts.chunks(self.width).map(|row| row.iter().sum()).collect()
    }

    /// By the zone they are hinted for.
    pub(super) fn hinted(&self) -> Vec<u32> {
        let mut hinted = vec![0; self.width - 1];
        for row in self.counts.chunks(self.width) {
            hinted.iter_mut().zip(row).for_each(|(sum, count)| *sum += count);
        }
        hinted
    }

    /// How many have a hint that could stay.
    pub(super) fn n_hinted(&self) -> u32 {
        let unhinted = self.counts.iter().skip(self.width - 1).step_by(self.width).sum::<u32>();
        self.total() - unhinted
    }

    /// How many are in one zone and hinted for another.
    pub(super) fn away(&self) -> u32 {
        (0..self.width - 1).map(|home| self.away_from(home)).sum()
    }

    /// How many are in this zone and hinted for another.
    pub(super) fn away_from(&self, home: usize) -> u32 {
        (0..self.width - 1).filter(|&z| z != home).map(|z| self.at(home, z)).sum()
    }
}

#[inline]
fn slot(width: usize, place: &Position) -> usize {
    let index = |zone| usize::from(zone).min(width - 1);
    index(place.home) * width + index(place.hinted)
}
