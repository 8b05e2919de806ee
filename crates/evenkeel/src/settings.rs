//! Raw arguments to checked settings.

use evenkeel_topology::{Environment, Gates, Profile as Rules, Server, Settings, UnknownCpu};

use crate::{
    cli::{Profile, ProfileChoice, SettingsArgs, ThresholdArgs, UnknownCpuArg},
    error::Error,
};

/// The rules for all Services of a cluster. Flags hold under every profile.
pub(crate) fn environment(args: &SettingsArgs, server: Server) -> Result<Environment, Error> {
    gates(&mut Gates::ALL_ON.clone(), &args.feature_gates)?;
    Ok(Environment::new(args.profile.rules(), server, |settings| adjust(settings, args))?)
}

/// Puts explicit settings in place. Gates are known to be right.
fn adjust(settings: &mut Settings, args: &SettingsArgs) {
    thresholds(settings, &args.thresholds);
    let _ = gates(&mut settings.gates, &args.feature_gates);
}

pub(crate) fn thresholds(settings: &mut Settings, args: &ThresholdArgs) {
    if let Some(threshold) = args.assign_threshold {
        settings.assign_threshold = threshold;
        // Raising one alone must not put it above the other.
        settings.keep_threshold = settings.keep_threshold.max(threshold);
    }
    if let Some(threshold) = args.keep_threshold {
        settings.keep_threshold = threshold;
    }
    if let Some(unknown_cpu) = args.unknown_cpu {
        settings.unknown_cpu = match unknown_cpu {
            UnknownCpuArg::NoHints => UnknownCpu::NoHints,
            UnknownCpuArg::OneCore => UnknownCpu::OneCorePerNode,
        };
    }
    let ratios = [
        (&mut settings.locality_threshold, args.locality_threshold),
        (&mut settings.allowance, args.allowance),
        (&mut settings.keep_excess, args.keep_excess),
        (&mut settings.keep_in_zone, args.keep_in_zone),
    ];
    for (setting, given) in ratios {
        *setting = given.unwrap_or(*setting);
    }
}

impl ProfileChoice {
    /// `None`: those of each Service's data plane.
    pub(crate) fn rules(self) -> Option<Rules> {
        match self {
            ProfileChoice::Auto => None,
            ProfileChoice::Evenkeel => Some(Rules::Evenkeel),
            ProfileChoice::Kubernetes => Some(Rules::Kubernetes),
        }
    }
}

pub(crate) fn profile(profile: Profile) -> Settings {
    match profile {
        Profile::Evenkeel => Settings::default(),
        Profile::Kubernetes => Settings::kubernetes(),
    }
}

/// Sets what `--feature-gates` says.
pub(crate) fn gates(gates: &mut Gates, given: &[String]) -> Result<(), Error> {
    for given in given {
        let wrong = || Error::Gate { given: given.clone() };
        let (name, value) = given.split_once('=').ok_or_else(wrong)?;
        gates.set(name, value.parse().map_err(|_| wrong())?)?;
    }
    Ok(())
}
