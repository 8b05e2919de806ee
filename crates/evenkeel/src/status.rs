//! `evenkeel status`: checks of a cluster and its controller, each with what to do about it.
//!
//! ```text
//!  cluster, metrics ─► gather: facts ─► checks (pure) ─► text or JSON
//! ```

mod checks;
mod facts;
mod gather;
mod mesh;
mod metrics;
mod report;

use clap::Args;
use tokio::runtime::Builder;

use self::report::Report;
use crate::{
    cli::ReportOutput,
    controller::{ClusterArgs, LEASE_NAME, LEASE_NAMESPACE},
    error::Error,
    exit::{Exit, Severity},
    output, printer,
    progress::Progress,
};

#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// URL of the controller's metrics [default: known for a cluster of `evenkeel up`]
    #[arg(long, value_name = "URL")]
    pub metrics: Option<String>,
    /// URL of the mesh control plane's --admin-listen [default: known for a cluster of `evenkeel up`]
    #[arg(long, value_name = "URL")]
    pub control_plane_admin: Option<String>,
    /// Lease of the controller [default: evenkeel-endpointslice-controller in any namespace]
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = lease)]
    pub lease: Option<LeaseName>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    pub output: ReportOutput,
    /// Exit with 1 if a check has this severity or a higher one
    #[arg(long, value_name = "SEVERITY", value_enum, default_value = "error")]
    pub fail_on: Severity,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LeaseName {
    pub namespace: String,
    pub name: String,
}

pub(crate) const EXAMPLES: &str = "\
Examples:
  evenkeel status                                    # for `evenkeel up` in this folder
  evenkeel status --context test -o json
  evenkeel status --fail-on warning
  kubectl -n evenkeel-system port-forward deploy/evenkeel-controller 10271 &
  evenkeel status --metrics http://127.0.0.1:10271/metrics

Exit codes: 0 no check failed, 1 a check failed (with --fail-on warning: or has a warning), 2 wrong
usage, 3 the cluster can't be reached.";

pub(crate) fn run(args: &StatusArgs) -> Result<Exit, Error> {
    let runtime = Builder::new_current_thread().enable_all().build().map_err(Error::Start)?;
    let progress = Progress::new(None, "checking the cluster");
    let facts = runtime.block_on(gather::facts(args));
    drop(progress);
    let report = Report::new(facts.source.as_ref(), checks::checks(&facts));
    printer::data(&match args.output {
        ReportOutput::Table => report.text(),
        ReportOutput::Json => output::json(&report)?,
    })?;
    Ok(match facts.cluster {
        Ok(_) => Exit::of(report.severities(), args.fail_on),
        Err(_) => Exit::CouldNotLook,
    })
}

fn lease(given: &str) -> Result<LeaseName, String> {
    match given.split_once('/') {
        Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() => {
            Ok(LeaseName { namespace: namespace.to_owned(), name: name.to_owned() })
        }
        _ => Err(format!("expected NAMESPACE/NAME, as in {LEASE_NAMESPACE}/{LEASE_NAME}")),
    }
}

// === impl LeaseName ===

impl std::fmt::Display for LeaseName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_named_with_its_namespace() {
        let expected = LeaseName { namespace: "a".into(), name: "b".into() };
        assert_eq!(lease("a/b"), Ok(expected));
        for wrong in ["", "x", "/x", "x/"] {
            assert!(lease(wrong).is_err(), "{wrong}");
        }
    }
}
