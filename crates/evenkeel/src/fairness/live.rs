//! The configuration of a cluster.

use std::path::Path;

use evenkeel_fairness::dialect::{Compiled, kubernetes};
use evenkeel_k8s::live::{self, ClusterSource, FlowControl};
use serde::de::DeserializeOwned;
use serde_json::Value;

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
    let (levels, schemas) = (decode(levels, "priority level"), decode(schemas, "flow schema"));
    let compiled = kubernetes::compile(&levels, &schemas);
    configuration::tell(&compiled);
    Ok(compiled)
}

fn decode<T: DeserializeOwned>(objects: Vec<Value>, kind: &str) -> Vec<T> {
    let decoded = objects.into_iter().filter_map(|object| {
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        serde_json::from_value(object)
            .map_err(|error| printer::note(format_args!("ignoring {kind} {name}: {error}")))
            .ok()
    });
    decoded.collect()
}
