//! What is counted for the schemas of a level, by stripe: see `stripes.rs`.
//!
//! A thread adds to the numbers of its own stripe, so that they stay in the cache of its core. It does so while it holds the level's lock, which it needs anyway: the numbers are
//! plain, and a scrape, which holds the lock too, adds up the stripes and is exact. How many requests wait
//! and run is not counted at all: a scrape finds it from the requests.
//!
//! Bound: memory for a schema in a stripe is allocated when a thread of that stripe first counts for it.

use super::stats::{FILL_BOUNDS, SchemaStats};
use crate::stripes::STRIPES;

#[derive(Debug)]
pub(super) struct Counts {
    /// The stripe that is added to.
    stripe: usize,
    /// By schema: the first stripe, in which all have a place.
    pub(super) first: Vec<SchemaStats>,
    /// By stripe.
    fills: Vec<Fill>,
    others: Vec<Others>,
}

/// Queue lengths that arrivals found, times 100, against [`FILL_BOUNDS`] times the limit.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(128))]
pub(super) struct Fill {
    pub(super) counts: [u64; FILL_BOUNDS.len() + 1],
    pub(super) sum: u64,
}

/// A stripe other than the first, by schema.
type Others = Vec<Option<Box<Padded>>>;

/// Two stripes have no cache line in common.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Padded(SchemaStats);

impl Default for Counts {
    fn default() -> Self {
        Counts {
            stripe: 0,
            first: Vec::new(),
            fills: vec![Fill::default(); STRIPES],
            others: (1..STRIPES).map(|_| Vec::new()).collect(),
        }
    }
}

impl Counts {
    pub(super) fn use_stripe(&mut self, stripe: usize) {
        if self.stripe != stripe {
            self.stripe = stripe % STRIPES;
        }
    }

    pub(super) fn stripe(&self) -> usize {
        self.stripe
    }

    /// Where a schema is counted.
    ///
    /// # Panics
    /// If there is no schema of that number.
    pub(super) fn of(&mut self, schema: u32) -> &mut SchemaStats {
        let (schema, n_schemas) = (schema as usize, self.first.len());
        let Some(stripe) = self.stripe.checked_sub(1) else { return &mut self.first[schema] };
        let stripe = &mut self.others[stripe];
        if stripe.len() < n_schemas {
            stripe.resize_with(n_schemas, Default::default);
        }
        &mut stripe[schema].get_or_insert_default().0
    }

    pub(super) fn fill(&mut self) -> &mut Fill {
        &mut self.fills[self.stripe]
    }

    /// Begins to count anew for a schema.
    pub(super) fn reset(&mut self, schema: usize) {
        self.first[schema] = SchemaStats::default();
        for stripe in &mut self.others {
            stripe.get_mut(schema).map(Option::take);
        }
    }

    /// The sum of all stripes, by schema.
    pub(super) fn merged(&self) -> Vec<SchemaStats> {
        let mut merged = self.first.clone();
        for stripe in &self.others {
            for (sum, counted) in merged.iter_mut().zip(stripe) {
                counted.iter().for_each(|counted| sum.add(&counted.0));
            }
        }
        merged
    }

    pub(super) fn merged_fill(&self) -> Fill {
        let mut merged = Fill::default();
        for Fill { counts, sum } in &self.fills {
            merged.sum += sum;
            merged.counts.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        merged
    }
}

impl Fill {
    pub(super) fn observe(&mut self, length: u32, limit: u32) {
        let length = u64::from(length);
        let bucket = FILL_BOUNDS.iter().position(|p| length * 100 <= p * u64::from(limit));
        self.counts[bucket.unwrap_or(FILL_BOUNDS.len())] += 1;
        self.sum += length;
    }
}
