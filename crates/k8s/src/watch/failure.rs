//! Why a watch has to be started again.

use std::{fmt, time::Duration};

use kube::{client::AuthError, core::Status};

use super::back_off::Sort;
use crate::live::{in_short, is_unreachable};

/// What was being done when it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    List,
    Watch,
}

#[derive(Debug)]
pub(super) struct Failure {
    pub(super) verb: Verb,
    pub(super) cause: Cause,
}

#[derive(Debug)]
pub(super) enum Cause {
    Request(kube::Error),
    /// The watch itself said so, in its last event.
    Status(Box<Status>),
    NoAnswer {
        within: Duration,
    },
    /// An open watch gave no sign of life.
    Silent {
        since: Duration,
    },
    /// It ended at once, with nothing to show.
    TooShort,
    NoVersion,
}

/// Kubernetes' word for a version that the server has not seen yet: it was restored, or restarted
/// without its data.
const TOO_LARGE: &str = "ResourceVersionTooLarge";

// === impl Failure ===

impl Failure {
    pub(super) fn sort(&self) -> Sort {
        match &self.cause {
            // Nobody was asked: a plugin that gives no credentials is not to be run all the time.
            Cause::Request(kube::Error::Service(error)) if error.is::<AuthError>() => Sort::Refused,
            Cause::Request(kube::Error::ReadEvents(_)) => Sort::Away,
            Cause::Request(error) if is_unreachable(error) => Sort::Away,
            Cause::NoAnswer { .. } | Cause::Silent { .. } => Sort::Away,
            _ => Sort::Refused,
        }
    }

    /// Whether there is no going on from the version that was asked for.
    pub(super) fn is_expired(&self) -> bool {
        if let Cause::NoVersion = self.cause {
            return true;
        }
        self.status().is_some_and(|status| {
            let causes = status.details.iter().flat_map(|details| &details.causes);
            matches!(status.code, 400 | 410)
                || causes.into_iter().any(|cause| cause.reason == TOO_LARGE)
        })
    }

    /// Whether the API server does not have such a kind.
    pub(super) fn is_not_found(&self) -> bool {
        self.status().is_some_and(|status| status.code == 404)
    }

    /// When the API server wants to be asked again.
    pub(super) fn retry_after(&self) -> Duration {
        let details = self.status().and_then(|status| status.details.as_ref());
        let seconds = details.map_or(0, |details| details.retry_after_seconds);
        Duration::from_secs(seconds.into())
    }

    fn status(&self) -> Option<&Status> {
        match &self.cause {
            Cause::Request(kube::Error::Api(status)) | Cause::Status(status) => Some(status),
            _ => None,
        }
    }
}

/// In one line.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.verb {
            Verb::List => "list failed: ",
            Verb::Watch => "watch failed: ",
        })?;
        match &self.cause {
            Cause::Request(error) => f.write_str(&in_short(error)),
            Cause::Status(status) => write!(f, "{} ({})", status.message, status.code),
            Cause::NoAnswer { within } => write!(f, "timed out after {within:?}"),
            Cause::Silent { since } => write!(f, "nothing received for {} s", since.as_secs()),
            Cause::TooShort => f.write_str("ended at once without an event"),
            Cause::NoVersion => f.write_str("no resourceVersion received"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn refused(code: u16, details: &Value) -> Failure {
        let status = json!({"code": code, "message": "no", "details": details});
        let status = serde_json::from_value(status).unwrap();
        Failure { verb: Verb::Watch, cause: Cause::Status(status) }
    }

    #[test]
    fn versions_that_are_too_old_or_too_new_are_given_up() {
        let cases = [(410, true), (400, true), (403, false), (429, false), (504, false)];
        for (code, expected) in cases {
            assert_eq!(refused(code, &json!(null)).is_expired(), expected, "{code}");
        }
        let too_large = refused(504, &json!({"causes": [{"reason": TOO_LARGE}]}));
        assert!(too_large.is_expired());
        assert_eq!(too_large.sort(), Sort::Refused);
        assert_eq!(too_large.to_string(), "watch failed: no (504)");
    }

    #[test]
    fn without_an_answer_the_server_is_away_but_not_without_credentials() {
        let sort = |error| Failure { verb: Verb::List, cause: Cause::Request(error) }.sort();
        let refused = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
        assert_eq!(sort(kube::Error::Service(refused.into())), Sort::Away);
        let auth = || AuthError::ExecPluginFailed;
        assert_eq!(sort(kube::Error::Service(auth().into())), Sort::Refused);
        assert_eq!(sort(kube::Error::Auth(auth())), Sort::Refused);
    }

    #[test]
    fn the_api_server_may_say_when_to_come_back() {
        let busy = refused(429, &json!({"retryAfterSeconds": 7}));
        assert_eq!(busy.retry_after(), Duration::from_secs(7));
        assert_eq!(refused(429, &json!(null)).retry_after(), Duration::ZERO);
    }
}
