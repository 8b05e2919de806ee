//! What an elector is told when it starts.

use std::time::Duration;

use thiserror::Error;

/// Settings of one elector. All electors of one Lease should have the same durations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    pub namespace: String,
    pub name: String,
    /// Must be unlike that of any other elector, earlier runs of this process included: two with
    /// one identity both lead. See [`identity`].
    pub identity: String,
    /// How long others leave a Lease alone that does not change.
    pub duration: Duration,
    /// How long a leader leads after it sent the last renewal that succeeded.
    pub renew_deadline: Duration,
    /// Between two looks at the Lease.
    pub retry: Duration,
}

/// Why settings do not make a safe election.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SettingsError {
    #[error("the identity of an elector must not be empty")]
    NoIdentity,
    #[error("the retry period must be more than 0s")]
    NoRetry,
    #[error(
        "the renew deadline ({renew_deadline:?}) must be more than 1.2 times the retry period ({retry:?})"
    )]
    RenewDeadline { renew_deadline: Duration, retry: Duration },
    #[error(
        "the lease duration ({duration:?}) must be more than the renew deadline ({renew_deadline:?})"
    )]
    Duration { duration: Duration, renew_deadline: Duration },
    #[error("the lease duration ({duration:?}) must be at most {max:?}")]
    TooLong { duration: Duration, max: Duration },
}

/// A day: whoever means more has mistaken the unit, and the Lease counts seconds in 32 bits.
const MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// An identity that no other process has: `HOST_RANDOM`.
pub fn identity(host: &str) -> String {
    format!("{host}_{:032x}", rand::random::<u128>())
}

impl Settings {
    /// With Kubernetes' own durations.
    pub fn new(namespace: &str, name: &str, identity: &str) -> Settings {
        Settings {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            identity: identity.to_owned(),
            duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry: Duration::from_secs(2),
        }
    }

    /// What client-go asks for as well.
    pub fn validate(&self) -> Result<(), SettingsError> {
        let Settings { identity, duration, renew_deadline, retry, .. } = self;
        let (duration, renew_deadline, retry) = (*duration, *renew_deadline, *retry);
        if identity.is_empty() {
            return Err(SettingsError::NoIdentity);
        }
        if retry.is_zero() {
            return Err(SettingsError::NoRetry);
        }
        if renew_deadline <= retry.saturating_mul(6) / 5 {
            return Err(SettingsError::RenewDeadline { renew_deadline, retry });
        }
        if duration <= renew_deadline {
            return Err(SettingsError::Duration { duration, renew_deadline });
        }
        if duration > MAX {
            return Err(SettingsError::TooLong { duration, max: MAX });
        }
        Ok(())
    }

    /// The duration as the Lease has it, rounded up: others may wait longer, never less.
    pub(super) fn seconds(&self) -> i32 {
        let seconds = self.duration.as_nanos().div_ceil(1_000_000_000);
        i32::try_from(seconds).unwrap_or(i32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_settings_that_are_safe_are_taken() {
        let ms = Duration::from_millis;
        let good = Settings::new("kube-system", "x", "me");
        let with = |duration, renew_deadline, retry| Settings {
            duration,
            renew_deadline,
            retry,
            ..good.clone()
        };
        assert_eq!(good.validate(), Ok(()));
        assert_eq!(with(ms(1001), ms(1000), ms(100)).validate(), Ok(()));
        let day = MAX + ms(1);
        let cases = [
            (Settings { identity: String::new(), ..good.clone() }, SettingsError::NoIdentity),
            (with(ms(3), ms(2), ms(0)), SettingsError::NoRetry),
            (
                with(ms(3000), ms(1200), ms(1000)),
                SettingsError::RenewDeadline { renew_deadline: ms(1200), retry: ms(1000) },
            ),
            (
                with(ms(10_000), ms(10_000), ms(2000)),
                SettingsError::Duration { duration: ms(10_000), renew_deadline: ms(10_000) },
            ),
            (with(day, ms(10_000), ms(2000)), SettingsError::TooLong { duration: day, max: MAX }),
        ];
        for (settings, expected) in cases {
            assert_eq!(settings.validate(), Err(expected));
        }
    }

    #[test]
    fn durations_are_written_in_whole_seconds_and_never_shorter() {
        let of = |duration| Settings { duration, ..Settings::new("", "", "") }.seconds();
        assert_eq!(of(Duration::from_secs(15)), 15);
        assert_eq!(of(Duration::from_millis(15_001)), 16);
        assert_eq!(of(Duration::MAX), i32::MAX);
    }

    #[test]
    fn identities_differ() {
        assert!(identity("a").starts_with("a_"));
        assert_ne!(identity("a"), identity("a"));
    }
}
