//! The flags of `evenkeel drill`.

use std::{path::PathBuf, time::Duration};

use clap::Args;

use crate::{
    cli::{InputArgs, ReportOutput},
    complete,
    duration::duration,
    error::Error,
};

#[derive(Debug, Args)]
pub(crate) struct DrillArgs {
    /// The zone to lose
    #[arg(long, value_name = "ZONE", add = complete::zones())]
    pub lose: String,
    /// How long it is lost: 1s to 10m
    #[arg(long = "for", value_name = "DURATION", default_value = "60s", value_parser = span)]
    pub duration: Duration,
    /// Requests a second, all told
    #[arg(long, value_name = "NUMBER", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=500))]
    pub rate: u32,
    /// A Service to send requests to, as in `web` or `shop/web`; may be repeated [default: those with
    /// an endpoint in the zone]
    #[arg(long = "service", value_name = "SERVICE", add = complete::services())]
    pub services: Vec<String>,
    /// Forecast only, as on any cluster but that of `up --proxy`
    #[arg(long)]
    pub dry_run: bool,
    /// Exit code 1 if less than this part of the requests of the outage was answered, in percent
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub fail_under: Option<f64>,
    /// Also write a report with a plot: FILE.html, or FILE.svg for the plot alone
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// The form of the output
    #[arg(short, long, value_enum, default_value_t)]
    pub output: ReportOutput,
    #[command(flatten)]
    pub input: InputArgs,
}

pub(crate) const EXAMPLES: &str = "\
Examples:
  evenkeel drill --lose zone-a                             # for 60 s, as root beside `evenkeel up --proxy`
  evenkeel drill --lose zone-a --for 2m --service shop/web --report drill.html
  evenkeel drill --lose zone-a --fail-under 99.9 -o json
  evenkeel drill --lose zone-a --kubeconfig ~/.kube/config # another cluster: a forecast, nothing is changed

The zone is given back at the end, after Ctrl-C, and within 10 s if the process is killed.

Exit codes: 0 done, 1 below --fail-under, 2 wrong usage, 3 the cluster can't be reached.";

impl DrillArgs {
    /// Before anything is done for it.
    pub(super) fn check_report(&self) -> Result<(), Error> {
        let Some(path) = &self.report else { return Ok(()) };
        let ending = path.extension().and_then(|ending| ending.to_str());
        match ending {
            Some("html" | "svg") => Ok(()),
            _ => Err(Error::Flag {
                flag: "--report",
                problem: format!("{} ends neither in .html nor in .svg", path.display()),
            }),
        }
    }

    pub(super) fn is_page(&self) -> bool {
        self.report.as_ref().is_some_and(|path| path.extension().is_some_and(|one| one == "html"))
    }
}

/// Pods of a lost Node are evicted after 5 minutes and more: not much is learnt later.
fn span(text: &str) -> Result<Duration, String> {
    let span = duration(text)?;
    let range = Duration::from_secs(1)..=Duration::from_secs(600);
    range.contains(&span).then_some(span).ok_or_else(|| format!("{text:?} is not from 1s to 10m"))
}

fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim();
    let percent: f64 = number.parse().map_err(|_| format!("{text:?} is not a number"))?;
    let range = 0.0..=100.0;
    range
        .contains(&percent)
        .then_some(percent)
        .ok_or_else(|| format!("{text:?} is not from 0 to 100"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_and_percents_are_bounded() {
        assert_eq!(span("90s"), Ok(Duration::from_secs(90)));
        assert!(["0s", "999ms", "11m", "x", ""].iter().all(|text| span(text).is_err()));
        assert_eq!((percent("99.9"), percent("50%")), (Ok(99.9), Ok(50.0)));
        assert!(["-1", "101", "nan", "inf", "x", ""].iter().all(|text| percent(text).is_err()));
    }
}
