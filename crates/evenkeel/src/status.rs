//! `evenkeel status`: a check list, each line ok or not, with what to do.
//!
//! ```text
//!  cluster, metrics ─► gather: facts ─► checks (pure) ─► text or JSON
//! ```

mod checks;
mod facts;
mod gather;
mod metrics;
mod report;

use std::{env, path::Path};

use clap::{Args, ValueEnum};
use tokio::runtime::Builder;

use self::report::Report;
use crate::{
    controller::{ClusterArgs, LEASE_NAME, LEASE_NAMESPACE},
    error::Error,
    output, printer,
    progress::Progress,
    up::DATA,
};

#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// The controller's metrics [default: those of `evenkeel up`, if that is what is looked at]
    #[arg(long, value_name = "URL")]
    pub metrics: Option<String>,
    /// The Lease that the controller holds [default: evenkeel-endpointslice-controller in kube-system
    /// or evenkeel-system]
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = lease)]
    pub lease: Option<LeaseName>,
    /// The form of the output
    #[arg(short, long, value_enum, default_value_t)]
    pub output: Form,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    #[default]
    Table,
    Json,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LeaseName {
    pub namespace: String,
    pub name: String,
}

pub(crate) const EXAMPLES: &str = "\
Examples:
  evenkeel status                                    # of `evenkeel up` in this folder
  evenkeel status --context test -o json
  kubectl -n evenkeel-system port-forward deploy/evenkeel-controller 10271 &
  evenkeel status --metrics http://127.0.0.1:10271/metrics

Without --kubeconfig, --context and KUBECONFIG, ./.evenkeel/kubeconfig is used if it is there.
The exit code is 1 if a check failed; warnings alone leave it at 0.";

pub(crate) fn run(args: &StatusArgs) -> Result<(), Error> {
    let cluster = chosen(&args.cluster, env::var_os("KUBECONFIG").is_some(), Path::new(DATA));
    let runtime = Builder::new_current_thread().enable_all().build().map_err(Error::Start)?;
    let progress = Progress::new(None, "looking at the cluster");
    let leases = args.lease.clone().map_or_else(usual_leases, |lease| vec![lease]);
    let facts = runtime.block_on(gather::facts(&cluster, &leases, args.metrics.as_deref()));
    drop(progress);
    let report = Report::new(named(&cluster), checks::checks(&facts));
    printer::data(&match args.output {
        Form::Table => report.text(),
        Form::Json => output::json(&report)?,
    })?;
    match report.failed() {
        0 => Ok(()),
        failed => Err(Error::Checks { failed }),
    }
}

/// The cluster of `evenkeel up` in this folder, unless another one is named.
fn chosen(given: &ClusterArgs, has_variable: bool, data: &Path) -> ClusterArgs {
    let here = data.join("kubeconfig");
    let is_named = given.kubeconfig.is_some() || given.context.is_some() || has_variable;
    match !is_named && here.is_file() {
        true => ClusterArgs { kubeconfig: Some(here), context: None },
        false => given.clone(),
    }
}

/// Where a controller has its Lease if nobody says otherwise: by its flags, and as `deploy/` has it.
fn usual_leases() -> Vec<LeaseName> {
    let lease =
        |namespace: &str| LeaseName { namespace: namespace.into(), name: LEASE_NAME.into() };
    [LEASE_NAMESPACE, "evenkeel-system"].map(lease).into()
}

/// Which kubeconfig is used, for people.
fn named(cluster: &ClusterArgs) -> String {
    let file = match &cluster.kubeconfig {
        Some(path) => path.display().to_string(),
        None => match env::var_os("KUBECONFIG") {
            Some(path) => path.to_string_lossy().into_owned(),
            None => "the usual one".to_owned(),
        },
    };
    match &cluster.context {
        Some(context) => format!("{file}, context {context}"),
        None => file,
    }
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
    fn what_runs_in_this_folder_is_meant_unless_another_cluster_is_named() {
        let folder =
            env::temp_dir().join(format!("evenkeel-status-{:016x}", rand::random::<u64>()));
        let nothing = ClusterArgs::default();
        assert_eq!(chosen(&nothing, false, &folder).kubeconfig, None);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("kubeconfig"), "").unwrap();
        let here = Some(folder.join("kubeconfig"));
        assert_eq!(chosen(&nothing, false, &folder).kubeconfig, here);
        assert_eq!(chosen(&nothing, true, &folder).kubeconfig, None);
        let context = ClusterArgs { context: Some("x".into()), kubeconfig: None };
        assert_eq!(chosen(&context, false, &folder).kubeconfig, None);
        let file = ClusterArgs { kubeconfig: Some("y".into()), context: None };
        assert_eq!(chosen(&file, false, &folder).kubeconfig, Some("y".into()));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_lease_is_named_with_its_namespace() {
        let expected = LeaseName { namespace: "a".into(), name: "b".into() };
        assert_eq!(lease("a/b"), Ok(expected));
        for wrong in ["", "x", "/x", "x/"] {
            assert!(lease(wrong).is_err(), "{wrong}");
        }
    }
}
