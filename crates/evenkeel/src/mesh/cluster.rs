//! The custom resources of a cluster.

use evenkeel_k8s::{
    live::{self, ClusterSource},
    watched::MeshKind,
};
use evenkeel_locality::{
    Compat, FieldError,
    resource::{Form, Resource, parse},
};
use evenkeel_xds_server::source::Problem;
use serde_json::Value;
use tokio::runtime::Builder;

use crate::{controller::ClusterArgs, error::Error, printer};

/// Resources of these kinds, and what of them is invalid.
pub(crate) fn read(
    args: &ClusterArgs,
    kinds: &[MeshKind],
    compat: Compat,
) -> Result<(Vec<Resource>, Vec<Problem>), Error> {
    let runtime = Builder::new_current_thread().enable_all().build().map_err(Error::Start)?;
    let source = args.source()?;
    printer::note(format_args!("kubeconfig: {source}"));
    let objects = runtime.block_on(objects(&source, kinds))?;
    let (mut resources, mut problems) = (Vec::new(), Vec::new());
    for object in &objects {
        match parse(object, Form::Custom, compat) {
            Ok(resource) => resources.push(resource),
            Err(errors) => problems.extend(errors.into_iter().map(|error| problem(object, error))),
        }
    }
    Ok((resources, problems))
}

async fn objects(source: &ClusterSource, kinds: &[MeshKind]) -> Result<Vec<Value>, Error> {
    let client = live::client(source).await?;
    Ok(live::mesh_objects(&client, kinds).await?)
}

/// Named as the control plane names it.
fn problem(object: &Value, error: FieldError) -> Problem {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (kind, metadata) = (text(&object["kind"]), &object["metadata"]);
    let origin = format!("{kind} {}/{}", text(&metadata["namespace"]), text(&metadata["name"]));
    Problem {
        origin: origin.into(),
        document: None,
        resource: None,
        field: (!error.path.is_empty()).then_some(error.path),
        message: error.message,
        last_good_in_force: false,
    }
}
