//! The overload that one Service accepts.
//!
//! Source: KEP-2433, "Future Expansion" (a configurable threshold). The annotation
//! `evenkeel.dev/overload-threshold` sets the assign threshold of Auto; hints in force are kept up to
//! 10 points more. Under Balanced it is the allowance: by how much an endpoint may exceed its fair
//! part so that more traffic stays in its zone.

use std::{borrow::Cow, fmt, sync::Arc};

use evenkeel_model::{Reason, Service, label};
use serde::Serialize;

use crate::Settings;

/// Hints in force are kept up to this much more.
const KEEP: f64 = 0.1;

/// The largest threshold: with it an endpoint may take eleven times its fair part.
const MOST: f64 = 10.0;

/// The annotation has a value that can't be used. It has no effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "code")]
#[non_exhaustive]
pub enum InvalidThreshold {
    /// The value of `evenkeel.dev/overload-threshold` is not a percentage from 0% to 1000%.
    InvalidOverloadThreshold { value: Arc<str> },
}

/// What the annotation of `service` says, if it has one: 0.4 for `40%`.
pub fn overload_threshold(service: &Service) -> Option<Result<f64, InvalidThreshold>> {
    let value = service.annotations.get(label::OVERLOAD_THRESHOLD)?;
    let invalid = || InvalidThreshold::InvalidOverloadThreshold { value: Arc::clone(value) };
    Some(parse(value).ok_or_else(invalid))
}

/// The settings for `service`: those given, or with thresholds of its own.
pub fn for_service<'a>(settings: &'a Settings, service: &Service) -> Cow<'a, Settings> {
    match overload_threshold(service) {
        Some(Ok(threshold)) => Cow::Owned(Settings {
            assign_threshold: threshold,
            keep_threshold: threshold + KEEP,
            allowance: threshold,
            ..settings.clone()
        }),
        Some(Err(_)) | None => Cow::Borrowed(settings),
    }
}

fn parse(text: &str) -> Option<f64> {
    let digits = text.trim().strip_suffix('%')?.trim_end();
    let is_number = |c: char| c.is_ascii_digit() || c == '.';
    let percent: f64 = digits.parse().ok().filter(|_| digits.chars().all(is_number))?;
    let threshold = percent / 100.0;
    (threshold <= MOST).then_some(threshold)
}

impl Reason for InvalidThreshold {}

impl fmt::Display for InvalidThreshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let InvalidThreshold::InvalidOverloadThreshold { value } = self;
        let annotation = label::OVERLOAD_THRESHOLD;
        write!(f, "annotation {annotation}: {value:?} has no effect: expected 0% to 1000%")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentage_is_read_and_nothing_else() {
        let good = [("40%", 0.4), ("0%", 0.0), ("12.5 %", 0.125), (" 1000% ", 10.0)];
        for (text, threshold) in good {
            assert_eq!(parse(text), Some(threshold), "{text}");
        }
        let bad =
            ["", "%", "40", "0.4", "-1%", "+1%", "1e1%", "inf%", "NaN%", "1001%", "4%0", "4%%"];
        for text in bad {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_service_keeps_hints_ten_points_longer() {
        let mut service = evenkeel_testkit::service("web");
        let settings = Settings::default();
        assert!(matches!(for_service(&settings, &service), Cow::Borrowed(_)));
        service.annotations.insert(label::OVERLOAD_THRESHOLD.into(), "40%".into());
        let own = for_service(&settings, &service);
        assert_eq!((own.assign_threshold, own.allowance), (0.4, 0.4));
        assert_eq!((own.keep_threshold * 100.0).round(), 50.0);
        assert_eq!(own.validate(), Ok(()));
        service.annotations.insert(label::OVERLOAD_THRESHOLD.into(), "much".into());
        assert!(matches!(for_service(&settings, &service), Cow::Borrowed(_)));
    }
}
