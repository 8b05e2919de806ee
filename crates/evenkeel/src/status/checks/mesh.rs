//! Whether the control plane of a mesh answers, and whether its proxies accept what it sends. A cluster
//! without one is not told so.

use super::{Check, Code, Group, named};
use crate::{
    error::counted,
    status::facts::{Cluster, ControlPlane, Mesh},
};

pub(super) fn checks(cluster: &Cluster) -> Vec<Check> {
    let Some(Mesh { url, found }) = &cluster.mesh else { return Vec::new() };
    let found = match found {
        Ok(found) => found,
        Err(problem) => {
            return vec![Group::Mesh.warning(
                Code::ControlPlaneUnreachable,
                format!("cannot read the control plane at {url}: {problem}"),
                "check that it is running, or set --control-plane-admin URL",
            )];
        }
    };
    let mut checks = vec![ready(found), accepted(found)];
    checks.push(valid(&found.invalid));
    checks
}

fn ready(ControlPlane { unready, connected, not_connected, .. }: &ControlPlane) -> Check {
    match unready {
        None => Group::Mesh.ok(
            Code::ControlPlaneReady,
            format!(
                "control plane is ready: {} connected, {not_connected} not connected",
                counted(*connected, "Envoy")
            ),
        ),
        Some(problem) => Group::Mesh.failed(
            Code::ControlPlaneNotReady,
            format!("control plane is not ready: {problem}"),
            "read its log; check the API server, and its permissions by deploy/mesh",
        ),
    }
}

fn accepted(ControlPlane { rejecting, .. }: &ControlPlane) -> Check {
    match rejecting.is_empty() {
        true => {
            Group::Mesh.ok(Code::EnvoyAccepts, "no Envoy proxy rejects what it was sent".to_owned())
        }
        false => Group::Mesh.failed(
            Code::EnvoyRejects,
            format!("Envoy proxies reject what they were sent: {}", named(rejecting)),
            "run `evenkeel mesh proxies` for Envoy's messages, and correct the policy",
        ),
    }
}

fn valid(invalid: &[String]) -> Check {
    match invalid {
        [] => Group::Mesh
            .ok(Code::MeshResourcesValid, "all resources of the mesh are valid".to_owned()),
        [first, ..] => Group::Mesh.warning(
            Code::MeshResourcesInvalid,
            format!("{} not in force: {first}", counted(invalid.len(), "invalid resource")),
            "run `evenkeel mesh lint` to see all",
        ),
    }
}
