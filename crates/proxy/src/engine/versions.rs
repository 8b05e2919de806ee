//! Up to which version of the API's objects rules are in force.
//!
//! Versions of one kind are numbers that grow (KEP-5504), and a watch brings changes in their order, so
//! the largest that was seen covers all before it.

use std::sync::Arc;

use evenkeel_model::ServiceKey;

/// The largest versions that were seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Versions {
    seen: Seen,
    planned: Seen,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Seen {
    services: Option<Arc<str>>,
    slices: Option<Arc<str>>,
}

/// What the rules in the kernel follow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InForce {
    /// `None`: no Service was seen.
    pub services: Option<Arc<str>>,
    pub slices: Option<Arc<str>>,
    /// Services that are not in force all the same, sorted.
    pub exceptions: Vec<ServiceKey>,
}

impl Versions {
    pub fn service(&mut self, version: &Arc<str>) {
        raise(&mut self.seen.services, version);
    }

    pub fn slice(&mut self, version: &Arc<str>) {
        raise(&mut self.seen.slices, version);
    }

    /// What was seen is in the rules now.
    pub fn advance(&mut self) {
        self.planned = self.seen.clone();
    }

    pub fn in_force(&self, exceptions: Vec<ServiceKey>) -> InForce {
        let Seen { services, slices } = self.planned.clone();
        InForce { services, slices, exceptions }
    }
}

fn raise(known: &mut Option<Arc<str>>, version: &Arc<str>) {
    let is_number = !version.is_empty() && version.bytes().all(|b| b.is_ascii_digit());
    let is_newer = known.as_ref().is_none_or(|known| order(known) < order(version));
    if is_number && is_newer {
        *known = Some(Arc::clone(version));
    }
}

/// Decimal numbers of any length.
fn order(version: &str) -> (usize, &str) {
    let digits = version.trim_start_matches('0');
    (digits.len(), digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_numbers() {
        let mut versions = Versions::default();
        for (given, expected) in
            [("9", "9"), ("10", "10"), ("007", "10"), ("x", "10"), ("", "10"), ("100", "100")]
        {
            versions.service(&given.into());
            assert_eq!(versions.in_force(vec![]).services, None, "not planned yet");
            let mut planned = versions.clone();
            planned.advance();
            assert_eq!(planned.in_force(vec![]).services.as_deref(), Some(expected), "{given}");
        }
    }
}
