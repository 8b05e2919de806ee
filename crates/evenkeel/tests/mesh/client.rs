//! An Envoy with outbounds to services: what it is told, and what it does.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
};

use evenkeel_testkit::envoy::{Answers, Envoy, Requests, Server};
use serde_json::{Value, json};

use crate::{
    control_plane::{ControlPlane, evenkeel, eventually, inspect_page},
    folder::{Place, free_address},
};

/// For each measurement of shares.
pub(crate) const MANY: usize = 5_000;
const FEW: usize = 200;
/// How far a measured share may be from the predicted one.
pub(crate) const TOLERANCE: f64 = 0.03;

/// What a client is, before it is started.
pub(crate) struct Spec<'a> {
    pub(crate) mesh: &'a str,
    pub(crate) name: &'a str,
    pub(crate) zone: &'a str,
    pub(crate) tags: &'a [(&'a str, &'a str)],
    pub(crate) services: &'a [&'a str],
    /// `delta` or `sotw`.
    pub(crate) protocol: &'a str,
}

/// A running one.
pub(crate) struct Client {
    /// As `/mesh/inspect` wants it.
    pub(crate) key: String,
    pub(crate) envoy: Envoy,
    outbounds: BTreeMap<String, SocketAddr>,
}

/// Priority, address and health of an endpoint.
type Host = (u64, String, String);

impl Spec<'static> {
    /// In mesh `default`, with the incremental protocol.
    pub(crate) const fn new(
        name: &'static str,
        zone: &'static str,
        services: &'static [&'static str],
    ) -> Spec<'static> {
        Spec { mesh: "default", name, zone, tags: &[], services, protocol: "delta" }
    }
}

impl Client {
    /// Writes its Dataplane, starts its Envoy, and waits until that has what it is to have.
    pub(crate) fn start(
        spec: &Spec<'_>,
        place: &impl Place,
        control_plane: &ControlPlane,
    ) -> Client {
        let addresses = spec.services.iter().map(|service| ((*service).to_owned(), free_address()));
        let outbounds: BTreeMap<String, SocketAddr> = addresses.collect();
        place.put(&dataplane(spec, &outbounds));
        let key = format!("{}/{}", spec.mesh, place.name_of(spec.name));
        let envoy = Envoy::start(&bootstrap(spec, place, control_plane));
        let client = Client { key, envoy, outbounds };
        for address in client.outbounds.values() {
            client.envoy.listener(&format!("outbound:{address}"));
        }
        client.in_sync(control_plane);
        client
    }

    pub(crate) fn outbound(&self, service: &str) -> SocketAddr {
        self.outbounds[service]
    }

    /// Waits until Envoy has the endpoints that the control plane wants it to have.
    pub(crate) fn in_sync(&self, control_plane: &ControlPlane) {
        eventually(&self.key, || {
            let wanted = wanted_hosts(&control_plane.inspect(&self.key));
            let known = self.known_hosts();
            let behind = wanted.iter().find(|(name, hosts)| known.get(*name) != Some(hosts));
            match behind {
                None if !wanted.is_empty() => Ok(()),
                behind => Err(format!("{known:#?}; wanted: {behind:#?}")),
            }
        });
    }

    /// Waits until the control plane says that these endpoints have a health, in each cluster that has them,
    /// and Envoy too.
    pub(crate) fn told(&self, control_plane: &ControlPlane, health: &str, of: &[SocketAddr]) {
        let of: BTreeSet<String> = of.iter().map(ToString::to_string).collect();
        control_plane.eventually(&inspect_page(&self.key), |page| {
            let hosts: Vec<Host> = wanted_hosts(page).into_values().flatten().collect();
            let meant: Vec<&Host> = hosts.iter().filter(|(_, a, _)| of.contains(a)).collect();
            let known: BTreeSet<&String> = meant.iter().map(|(_, address, _)| address).collect();
            known.len() == of.len() && meant.iter().all(|(_, _, is)| is == health)
        });
        self.in_sync(control_plane);
    }

    /// Sends many requests for a service, all of which must be answered.
    pub(crate) fn measure(&self, service: &str) -> Answers {
        let answers = Requests::new(MANY).kept_alive().http(self.outbound(service));
        assert!(answers.failures.is_empty(), "{service}: {:?}", answers.failures);
        let all_answered = answers.by_status.get(&200) == Some(&MANY);
        assert!(all_answered, "{service}: {answers:?} {}", self.envoy.page("/clusters"));
        answers
    }

    /// Sends requests until the answers are as they are to be: its workers act a moment after Envoy's main
    /// thread has a change.
    pub(crate) fn until(&self, service: &str, is_so: impl Fn(&Answers) -> bool) {
        eventually(service, || {
            let answers = Requests::new(FEW).kept_alive().http(self.outbound(service));
            if is_so(&answers) { Ok(()) } else { Err(format!("{answers:?}")) }
        });
    }

    /// Measures a service that is one cluster, and compares with the prediction of the control plane.
    pub(crate) fn as_predicted<'s>(
        &self,
        service: &str,
        control_plane: &ControlPlane,
        servers: impl IntoIterator<Item = &'s Server>,
    ) -> Answers {
        let servers: Vec<&Server> = servers.into_iter().collect();
        let page = control_plane.inspect(&self.key);
        let predicted = predicted(&page, service, &json!({}));
        let gets_nothing = |server: &&&Server| share_of(server, &predicted) == 0.0;
        let without: Vec<&Server> = servers.iter().filter(gets_nothing).copied().collect();
        self.until(service, |answers| without.iter().all(|s| answers.share(s.name()) == 0.0));
        let answers = self.measure(service);
        is_near(&format!("{} to {service}", self.key), &answers, &predicted, servers);
        answers
    }

    fn known_hosts(&self) -> BTreeMap<String, BTreeSet<Host>> {
        let hosts = self.envoy.clusters().into_iter().map(|(name, cluster)| {
            let hosts = cluster["host_statuses"].as_array().into_iter().flatten();
            let hosts = hosts.map(|host| {
                let socket = &host["address"]["socket_address"];
                let address =
                    format!("{}:{}", socket["address"].as_str().unwrap(), socket["port_value"]);
                let health = host["health_status"]["eds_health_status"].as_str().unwrap();
                (host["priority"].as_u64().unwrap_or(0), address, health.to_owned())
            });
            (name, hosts.collect())
        });
        hosts.collect()
    }
}

fn dataplane(spec: &Spec<'_>, outbounds: &BTreeMap<String, SocketAddr>) -> Value {
    let mut tags = json!({ "kuma.io/service": spec.name, "kuma.io/zone": spec.zone });
    for (key, value) in spec.tags {
        tags[*key] = json!(value);
    }
    let outbounds = outbounds.iter().map(|(service, address)| {
        let (ip, port) = (address.ip().to_string(), address.port());
        json!({ "address": ip, "port": port, "tags": { "kuma.io/service": service } })
    });
    json!({
        "type": "Dataplane",
        "mesh": spec.mesh,
        "name": spec.name,
        "networking": {
            "address": "127.0.0.1",
            "gateway": { "tags": tags },
            "outbound": outbounds.collect::<Vec<_>>(),
        },
    })
}

pub(crate) fn bootstrap(
    spec: &Spec<'_>,
    place: &impl Place,
    control_plane: &ControlPlane,
) -> String {
    let listen = control_plane.listen.to_string();
    let mut command = evenkeel(&["xds", "bootstrap", "--dataplane", &place.name_of(spec.name)]);
    command.args(["--mesh", spec.mesh, "--protocol", spec.protocol]);
    command.args(place.flags()).args(["--control-plane", &listen]);
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8(output.stdout).unwrap()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Of each cluster of a page of `/mesh/inspect`.
fn wanted_hosts(page: &Value) -> BTreeMap<String, BTreeSet<Host>> {
    let of_group = |group: &Value| {
        let priority = group["priority"].as_u64().unwrap();
        let hosts = list(&group["endpoints"]).map(move |endpoint| {
            let text = |name: &str| endpoint[name].as_str().unwrap().to_owned();
            (priority, text("address"), text("health"))
        });
        hosts.collect::<Vec<Host>>()
    };
    let clusters = list(&page["destinations"]).map(|destination| {
        let hosts = list(&destination["groups"]).flat_map(of_group).collect();
        (destination["cluster"].as_str().unwrap().to_owned(), hosts)
    });
    clusters.collect()
}

/// The predicted share of each address, for a service or the part of it that a split names.
pub(crate) fn predicted(page: &Value, service: &str, subset: &Value) -> BTreeMap<String, f64> {
    let mut found = list(&page["destinations"]).filter(|destination| {
        destination["service"]["name"] == service && destination["subset"] == *subset
    });
    let destination = found.next().unwrap_or_else(|| panic!("no {service} {subset} in {page:#}"));
    let endpoints = list(&destination["groups"]).flat_map(|group| list(&group["endpoints"]));
    let shares = endpoints.map(|endpoint| {
        let address = endpoint["address"].as_str().unwrap().to_owned();
        (address, endpoint["share"].as_f64().unwrap())
    });
    shares.collect()
}

/// Compares what each server got with what it was predicted to get. Nothing may be where nothing is
/// predicted.
pub(crate) fn is_near<'s>(
    what: &str,
    answers: &Answers,
    predicted: &BTreeMap<String, f64>,
    servers: impl IntoIterator<Item = &'s Server>,
) {
    for server in servers {
        let expected = share_of(server, predicted);
        let measured = answers.share(server.name());
        let is_near = (measured - expected).abs() <= TOLERANCE;
        let all = &answers.by_server;
        assert!(is_near, "{what}: {} was to get {expected}: {all:?}", server.name());
        assert!(
            expected > 0.0 || measured == 0.0,
            "{what}: {} was to get nothing: {all:?}",
            server.name()
        );
    }
}

fn share_of(server: &Server, predicted: &BTreeMap<String, f64>) -> f64 {
    predicted.get(&server.address().to_string()).copied().unwrap_or(0.0)
}

/// The share of all servers whose names begin with that of a zone.
pub(crate) fn share_of_zone(answers: &Answers, zone: &str) -> f64 {
    let prefix = format!("{zone}.");
    let of_zone = answers.by_server.iter().filter(|(name, _)| name.starts_with(&prefix));
    let n: usize = of_zone.map(|(_, n)| n).sum();
    n as f64 / answers.total() as f64
}
