//! Raw arguments to checked settings.

use evenkeel_topology::{Gates, Settings, UnknownCpu};

use crate::{
    cli::{Profile, SettingsArgs, UnknownCpuArg},
    error::Error,
};

pub(crate) fn settings(args: &SettingsArgs) -> Result<Settings, Error> {
    let mut settings = profile(args.profile);
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
    gates(&mut settings.gates, &args.feature_gates)?;
    settings.validate()?;
    Ok(settings)
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
