//! The flags of priority and fairness, of `evenkeel apiserver` and `evenkeel up`.

use std::{path::PathBuf, time::Duration};

use clap::{ArgAction, Args, ValueEnum};
use evenkeel_apiserver::{FairnessProfile, FairnessSettings, FairnessSource};

use crate::{duration::duration, error::Error};

#[derive(Debug, Args)]
#[command(next_help_heading = "Priority and fairness")]
pub(crate) struct FairnessArgs {
    /// Give every request a priority level, a flow and a fair turn. If false, only
    /// --max-requests-inflight and --max-mutating-requests-inflight limit requests
    #[arg(long, value_name = "BOOL", default_value_t = true, action = ArgAction::Set)]
    pub enable_priority_and_fairness: bool,
    /// With --max-mutating-requests-inflight, how many seats the priority levels share
    #[arg(long, value_name = "N", default_value_t = 400)]
    pub max_requests_inflight: u32,
    /// With --max-requests-inflight, how many seats the priority levels share
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub max_mutating_requests_inflight: u32,
    /// Maximum time that a request waits in a queue [default: a quarter of the request's timeout]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub queue_wait_limit: Option<Duration>,
    /// Algorithm of queues and seats
    #[arg(long, value_enum, default_value_t)]
    pub fairness_profile: ProfileName,
    /// Which objects configure levels and flows
    #[arg(long, value_enum, default_value_t)]
    pub fairness_dialect: DialectName,
    /// Folder with objects of evenkeel.dev/v1alpha1, followed for changes. Without it, the dialect
    /// evenkeel uses the objects stored in this server
    #[arg(long, value_name = "FOLDER")]
    pub fairness_config: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProfileName {
    /// Evenkeel's own: seats come back at once, slow flows leave seats to others
    #[default]
    Evenkeel,
    /// As kube-apiserver
    Kubernetes,
    /// As the proposal of 2019
    Proposal,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DialectName {
    /// FlowSchemas and PriorityLevelConfigurations of flowcontrol.apiserver.k8s.io/v1, stored in this
    /// server
    #[default]
    Kubernetes,
    /// FlowSchemas and RequestPriorities of evenkeel.dev/v1alpha1, stored in this server or from
    /// --fairness-config
    Evenkeel,
}

pub(crate) fn fairness(args: &FairnessArgs) -> Result<FairnessSettings, Error> {
    let source = match (args.fairness_dialect, &args.fairness_config) {
        (DialectName::Kubernetes, None) => FairnessSource::Kubernetes,
        (DialectName::Evenkeel, None) => FairnessSource::Resources,
        (DialectName::Evenkeel, Some(folder)) => FairnessSource::Files(folder.clone()),
        (DialectName::Kubernetes, Some(_)) => return Err(Error::FairnessConfigUnused),
    };
    let settings = FairnessSettings {
        enabled: args.enable_priority_and_fairness,
        profile: match args.fairness_profile {
            ProfileName::Evenkeel => FairnessProfile::Evenkeel,
            ProfileName::Kubernetes => FairnessProfile::Kubernetes,
            ProfileName::Proposal => FairnessProfile::Proposal,
        },
        max_requests_inflight: args.max_requests_inflight,
        max_mutating_requests_inflight: args.max_mutating_requests_inflight,
        queue_wait_limit: args.queue_wait_limit,
        source,
    };
    match settings.enabled && settings.limit() == 0 {
        true => Err(Error::NoSeats),
        false => Ok(settings),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Only {
        #[command(flatten)]
        args: FairnessArgs,
    }

    fn read(given: &[&str]) -> Result<FairnessSettings, String> {
        let only = <Only as clap::Parser>::try_parse_from(std::iter::once(&"x").chain(given));
        let only = only.map_err(|error| error.to_string())?;
        fairness(&only.args).map_err(|error| error.to_string())
    }

    #[test]
    fn defaults_are_those_of_kubernetes_and_of_the_library() {
        assert_eq!(read(&[]), Ok(FairnessSettings::default()));
        assert_eq!(FairnessSettings::default().limit(), 600);
    }

    #[test]
    fn flags_are_checked_together() {
        let folder = ["--fairness-dialect", "evenkeel", "--fairness-config", "/a"];
        assert_eq!(read(&folder).unwrap().source, FairnessSource::Files("/a".into()));
        assert_eq!(read(&folder[..2]).unwrap().source, FairnessSource::Resources);
        let off = ["--enable-priority-and-fairness", "false", "--max-requests-inflight", "0"];
        assert!(!read(&off).unwrap().enabled);
        let seatless = ["--max-requests-inflight", "0", "--max-mutating-requests-inflight", "0"];
        for (wrong, words) in [
            (&["--fairness-config", "/a"][..], "--fairness-dialect"),
            (&seatless, "--max-requests-inflight"),
            (&["--fairness-profile", "x"], "invalid value"),
            (&["--max-requests-inflight", "-1"], "unexpected argument"),
            (&["--queue-wait-limit", "5"], "invalid value"),
        ] {
            let error = read(wrong).unwrap_err();
            assert!(error.contains(words), "{wrong:?}: {error}");
        }
    }
}
