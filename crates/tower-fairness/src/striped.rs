//! References to what a layer shares, which every request holds one of.
//!
//! Were they counted in one place, all threads would write to it twice for each request. So there is a
//! reference for each stripe (`evenkeel_fairness::stripes`), and requests count references to that.

use std::{array, ops::Deref, sync::Arc};

use evenkeel_fairness::stripes::{STRIPES, stripe};

use crate::shared::Shared;

#[derive(Clone, Debug)]
pub(crate) struct Striped(Arc<[Arc<Reference>; STRIPES]>);

/// On its own cache lines.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Reference(Arc<Shared>);

impl Striped {
    pub(crate) fn new(shared: Shared) -> Self {
        let shared = Arc::new(shared);
        Striped(Arc::new(array::from_fn(|_| Arc::new(Reference(shared.clone())))))
    }

    /// That of this thread's stripe.
    pub(crate) fn own(&self) -> &Arc<Reference> {
        &self.0[stripe()]
    }
}

impl Deref for Striped {
    type Target = Arc<Shared>;

    fn deref(&self) -> &Arc<Shared> {
        self.own()
    }
}

impl Deref for Reference {
    type Target = Arc<Shared>;

    fn deref(&self) -> &Arc<Shared> {
        &self.0
    }
}
