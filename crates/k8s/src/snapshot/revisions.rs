//! The states of Services and their slices.

use evenkeel_model::{Revision, Revisions};

/// The state of a slice, and when the change happened that it was written for, in seconds since 1970.
pub(super) type SliceState<'a> = (Option<&'a str>, Option<i64>);

/// `None`: one revision is not known or can't be compared.
pub(super) fn of<'a>(
    service: Option<&str>,
    slices: impl Iterator<Item = SliceState<'a>>,
) -> Option<Revisions> {
    let service = Revision::new(service?)?;
    let mut known = Revisions { service, slices: None, changed: None };
    for (version, changed) in slices {
        let revision = Revision::new(version?)?;
        if known.slices.as_ref() < Some(&revision) {
            (known.slices, known.changed) = (Some(revision), changed);
        }
    }
    Some(known)
}
