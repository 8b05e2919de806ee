//! Copies of what every request writes, so that threads don't write the same cache line.
//!
//! Two threads that add to one number wait for each other's core, several times longer than the addition
//! takes. So there are a few copies, *stripes*, and each thread uses one of them; whoever needs the sum
//! adds them up. No decision depends on a stripe.

use std::{
    cell::Cell,
    sync::atomic::{AtomicUsize, Ordering},
};

/// How many copies there are. More threads share them, which is correct but slower.
pub const STRIPES: usize = 8;

static THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static STRIPE: Cell<usize> = const { Cell::new(STRIPES) };
}

/// The stripe of this thread, below [`STRIPES`]. Threads get them in turn.
#[inline]
pub fn stripe() -> usize {
    let known = STRIPE.get();
    if known < STRIPES { known } else { assign() }
}

#[cold]
fn assign() -> usize {
    let stripe = THREADS.fetch_add(1, Ordering::Relaxed) % STRIPES;
    STRIPE.set(stripe);
    stripe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_keeps_its_stripe_and_others_get_other_ones() {
        let own = stripe();
        let others = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..STRIPES).map(|_| scope.spawn(stripe)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        assert!(others.iter().all(|stripe| *stripe < STRIPES));
        assert!(others.iter().any(|stripe| *stripe != own));
        assert_eq!(stripe(), own);
    }
}
