//! The configuration of a cluster.

use std::path::Path;

use evenkeel_fairness::dialect::{Compiled, kubernetes};
use evenkeel_k8s::live::{self, ClusterSource, FlowControl};

use super::{args::MatchArgs, configuration};
use crate::{error::Error, printer, progress::Progress, up::DATA};

/// What the API server has in force: invalid objects are ignored, as it ignores them.
pub(super) fn read(args: &MatchArgs) -> Result<Compiled, Error> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Start)?;
    let FlowControl { levels, schemas } = runtime.block_on(async {
        let (kubeconfig, context) = (args.kubeconfig.clone(), args.context.clone());
        let source = ClusterSource::find(kubeconfig, context, Path::new(DATA))?;
        printer::note(format_args!("kubeconfig: {source}"));
        let client = live::client(&source).await?;
        let _progress = Progress::new(None, "reading the cluster");
        Ok::<_, Error>(live::flow_control(&client).await?)
    })?;
    let (compiled, ignored) = kubernetes::served(levels, schemas);
    ignored.iter().for_each(|why| printer::note(format_args!("ignoring {why}")));
    configuration::tell(&compiled);
    Ok(compiled)
}
