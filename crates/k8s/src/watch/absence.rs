//! Kinds that the API server does not have, because their definition is not installed.
//!
//! It answers 404 then. If it has never answered otherwise, there are no such objects, and nobody needs
//! to wait for them. If it has, it may be one that was just started and does not know all of its kinds
//! yet: what was seen counts until it has said so for [`PATIENCE`], or a start would, for a moment, take
//! back all policies.

use std::time::Duration;

use tokio::time::Instant;

use super::failure::Failure;

const PATIENCE: Duration = Duration::from_secs(10);

/// Whoever installs a definition does not want to wait for long.
pub(super) const LONGEST_PAUSE: Duration = Duration::from_secs(10);

#[derive(Debug, Default)]
pub(super) enum Absence {
    #[default]
    Unknown,
    Present,
    /// It was there, and is not found.
    Missing {
        since: Instant,
    },
    Absent,
}

// === impl Absence ===

impl Absence {
    pub(super) fn found(&mut self) {
        *self = Absence::Present;
    }

    /// `Some`: there is no such kind, and whether that is news.
    pub(super) fn failed(&mut self, failure: &Failure, now: Instant) -> Option<bool> {
        if !failure.is_not_found() {
            if let Absence::Missing { .. } = self {
                *self = Absence::Present;
            }
            return None;
        }
        match self {
            Absence::Absent => return Some(false),
            Absence::Present => {
                *self = Absence::Missing { since: now };
                return None;
            }
            Absence::Missing { since } if now - *since < PATIENCE => return None,
            Absence::Unknown | Absence::Missing { .. } => {}
        }
        *self = Absence::Absent;
        Some(true)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::watch::failure::{Cause, Verb};

    fn refused(code: u16) -> Failure {
        let status = serde_json::from_value(json!({"code": code, "message": "no"})).unwrap();
        Failure { verb: Verb::List, cause: Cause::Status(status) }
    }

    #[test]
    fn what_was_never_found_is_absent_at_once_and_told_once() {
        let (mut absence, now) = (Absence::default(), Instant::now());
        assert_eq!(absence.failed(&refused(403), now), None);
        assert_eq!(absence.failed(&refused(404), now), Some(true));
        assert_eq!(absence.failed(&refused(404), now), Some(false));
        assert_eq!(absence.failed(&refused(503), now), None, "the server is in trouble");
        assert_eq!(absence.failed(&refused(404), now), Some(false), "which is no news");
        absence.found();
        assert_eq!(absence.failed(&refused(404), now), None);
    }

    #[test]
    fn what_was_found_is_absent_only_when_it_stays_away() {
        let (mut absence, start) = (Absence::default(), Instant::now());
        absence.found();
        let mut failed = |code, seconds: u64| {
            absence.failed(&refused(code), start + Duration::from_secs(seconds))
        };
        assert_eq!(failed(404, 0), None);
        assert_eq!(failed(404, 9), None);
        assert_eq!(failed(500, 9), None);
        assert_eq!(failed(404, 10), None, "the time begins anew");
        assert_eq!(failed(404, 19), None);
        assert_eq!(failed(404, 20), Some(true));
        assert_eq!(failed(404, 30), Some(false));
    }
}
