//! `evenkeel xds bootstrap`: what Envoy needs to know before it can ask.

use std::{collections::BTreeMap, net::SocketAddr, path::Path, sync::Arc};

use evenkeel_k8s::watched::MeshKind;
use evenkeel_locality::{
    Compat,
    resource::{Key, Kind, Labels, Resource, SERVICE_TAG, Spec, ZONE_TAG},
};
use evenkeel_xds::{
    Variant,
    bootstrap::{BackOff, Bootstrap, ControlPlane, Keepalive, render},
};
use evenkeel_xds_server::source::folder;

use super::args::{self, BootstrapArgs, ProtocolChoice};
use crate::{
    controller::ClusterArgs,
    error::Error,
    mesh::cluster,
    printer,
    up::components::{self, Components},
};

pub(super) fn print(args: &BootstrapArgs) -> Result<(), Error> {
    printer::data(&render(&bootstrap(args)?))
}

fn bootstrap(args: &BootstrapArgs) -> Result<Bootstrap, Error> {
    if let Some(address) = args.envoy_admin.filter(|address| !address.ip().is_loopback()) {
        let problem =
            format!("{address} is not a loopback address; whoever reaches it controls Envoy");
        return Err(Error::Flag { flag: "--envoy-admin", problem });
    }
    let cluster = cluster(args);
    let tags = match (&args.resources, &cluster) {
        (Some(folder), _) => tags(&of_folder(folder)?, args)?,
        (None, Some(cluster)) => tags(&of_cluster(cluster)?, args)?,
        (None, None) => Labels::new(),
    };
    let zone = tags.get(ZONE_TAG).cloned().or_else(|| args.zone.as_deref().map(Arc::from));
    Ok(Bootstrap {
        mesh: args.mesh.as_str().into(),
        dataplane: args.dataplane.as_str().into(),
        service: tags.get(SERVICE_TAG).cloned(),
        zone,
        tags: BTreeMap::from_iter(tags),
        variant: match args.protocol {
            ProtocolChoice::Delta => Variant::Incremental,
            ProtocolChoice::Sotw => Variant::StateOfTheWorld,
        },
        control_plane: control_plane(&address(args, cluster.as_ref()))?,
        admin: args.envoy_admin,
        keepalive: Keepalive::default(),
        back_off: BackOff::default(),
    })
}

/// The cluster that is named. Without a name none is asked: the host of a proxy need not know one.
fn cluster(args: &BootstrapArgs) -> Option<ClusterArgs> {
    let BootstrapArgs { kubeconfig, context, .. } = args;
    let is_named = kubeconfig.is_some() || context.is_some();
    is_named.then(|| ClusterArgs { kubeconfig: kubeconfig.clone(), context: context.clone() })
}

fn of_folder(folder: &Path) -> Result<Vec<Resource>, Error> {
    args::readable(folder)?;
    let read = folder::resources(folder, Compat::default());
    read.map(|(resources, _)| resources)
        .map_err(|source| Error::Read { path: folder.to_owned(), source })
}

fn of_cluster(args: &ClusterArgs) -> Result<Vec<Resource>, Error> {
    Ok(cluster::read(args, &[MeshKind::Dataplane], Compat::default())?.0)
}

/// Where the control plane listens: as given, or as `evenkeel up` noted it, or as without flags.
fn address(args: &BootstrapArgs, cluster: Option<&ClusterArgs>) -> String {
    let noted = || {
        let components = match cluster {
            Some(cluster) => Components::of(&cluster.source().ok()?),
            None => Components::found(),
        };
        components?.address(components::XDS).map(str::to_owned)
    };
    args.control_plane.clone().or_else(noted).unwrap_or_else(|| args::LISTEN.to_owned())
}

/// Those of the Dataplane's gateway, or else of its inbounds; of several values the first counts.
fn tags(resources: &[Resource], args: &BootstrapArgs) -> Result<Labels, Error> {
    let key = Key::new(Kind::Dataplane, &args.mesh, &args.dataplane);
    let found = resources.iter().find(|resource| resource.key == key);
    let Some(Spec::Dataplane(dataplane)) = found.map(|resource| &resource.spec) else {
        let known = resources.iter().filter(|resource| {
            resource.key.kind == Kind::Dataplane && resource.key.mesh == key.mesh
        });
        return Err(Error::NoDataplane {
            name: args.dataplane.clone(),
            mesh: args.mesh.clone(),
            known: known.map(|resource| resource.key.name.to_string()).collect(),
        });
    };
    let mut tags = Labels::new();
    let gateway = dataplane.gateway.iter().map(|gateway| &gateway.tags);
    for inbound in gateway.chain(dataplane.inbounds.iter().map(|inbound| &inbound.tags)) {
        for (key, value) in inbound.iter() {
            tags.entry(key.clone()).or_insert_with(|| value.clone());
        }
    }
    Ok(tags)
}

/// `HOST:PORT`, where the host is an address or a name.
fn control_plane(given: &str) -> Result<ControlPlane, Error> {
    if let Ok(address) = given.parse::<SocketAddr>() {
        return Ok(ControlPlane::Address(address));
    }
    let named = given.rsplit_once(':').and_then(|(name, port)| Some((name, port.parse().ok()?)));
    match named {
        Some((name, port)) if !name.is_empty() && !name.contains(':') => {
            Ok(ControlPlane::Host { name: name.into(), port })
        }
        _ => Err(Error::Flag {
            flag: "--control-plane",
            problem: format!("{given:?} is not HOST:PORT"),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_control_plane_has_an_address_or_a_name() {
        let address = |given: &str| ControlPlane::Address(given.parse().unwrap());
        let host = |name: &str| ControlPlane::Host { name: name.into(), port: 5678 };
        for (given, expected) in [
            ("127.0.0.1:5678", Some(address("127.0.0.1:5678"))),
            ("[::1]:5678", Some(address("[::1]:5678"))),
            ("xds.example.com:5678", Some(host("xds.example.com"))),
            ("xds.example.com", None),
            (":5678", None),
            ("::1:5678", None),
            ("host:70000", None),
        ] {
            assert_eq!(control_plane(given).ok(), expected, "{given}");
        }
    }
}
