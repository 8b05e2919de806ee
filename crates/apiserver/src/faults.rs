//! Faults that tests inject into a server.

use std::sync::atomic::{AtomicUsize, Ordering};

#[derive(Debug, Default)]
pub(crate) struct Faults {
    /// How many more times housekeeping panics.
    pub(crate) housekeeping: AtomicUsize,
}

impl Faults {
    pub(crate) fn housekeeping(&self) {
        let less = |left: usize| left.checked_sub(1);
        let left = self.housekeeping.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less);
        assert!(left.is_err(), "a fault of housekeeping");
    }
}
