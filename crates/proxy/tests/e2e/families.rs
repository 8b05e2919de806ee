//! UDP, SCTP and IPv6: what TCP by IPv4 can, they can.

use std::net::SocketAddr;

use evenkeel_testkit::netns::{Failure, Protocol, has_sctp};
use serde_json::json;

use crate::{
    cluster::{HTTP, PODS},
    space::Space,
};

#[test]
fn udp_follows_the_distribution() {
    let space = Space::new("udp");
    space.pods(&["a1", "a2", "b1"]);
    let web = space.service("web", json!({"trafficDistribution": "PreferSameZone"}));
    for (client, pods) in [("a1", &["a1", "a2"][..]), ("b1", &["b1"]), ("c1", &["a1", "a2", "b1"])]
    {
        let client = space.client(client).client();
        space.reaches_by(&client, Protocol::Udp, web.udp(), pods);
    }
}

#[test]
fn ipv6_follows_the_distribution_with_policies_and_masquerading() {
    let space = Space::new("ipv6");
    space.pods(&["a1", "a2", "b1"]);
    let more = json!({
        "type": "NodePort", "ipFamilyPolicy": "RequireDualStack",
        "trafficDistribution": "PreferSameZone",
    });
    let web = space.service("web", more);
    for (client, pods) in [("a1", &["a1", "a2"][..]), ("b1", &["b1"]), ("c1", &["a1", "a2", "b1"])]
    {
        let client = space.cluster.pod(&format!("client-{client}"));
        let tally = space.reaches(client, web.at_v6(80), pods);
        assert!(tally.answers.iter().all(|answer| answer.client.ip() == client.v6), "{tally:?}");
        space.reaches_by(&client.client(), Protocol::Udp, web.at_v6(53), pods);
        space.reaches(client, web.http(), pods);
    }
    let node = space.cluster.network.host("node-b1");
    let node_port = SocketAddr::new(node.v6.into(), web.node_port(80));
    let tally = space.reaches(space.outside(), node_port, &["b1"]);
    assert!(tally.answers.iter().all(|answer| answer.client.ip() == node.v6), "{tally:?}");
    let pod = space.cluster.pod("b1");
    let tally = space.reaches(pod, web.at_v6(80), &["b1"]);
    assert!(tally.answers.iter().all(|answer| answer.client.ip() == node.v6), "hairpin: {tally:?}");
    space.fails(&pod.client(), Protocol::Http, web.at_v6(81), &Failure::Refused);
    space.patch("web", json!({"spec": {"internalTrafficPolicy": "Local"}}));
    space.fails(&space.client("c1").client(), Protocol::Http, web.at_v6(80), &Failure::TimedOut);
    space.remove(&["a1", "a2", "b1"]);
    space.fails(&space.client("a1").client(), Protocol::Http, web.at_v6(80), &Failure::Refused);
}

#[test]
fn a_client_of_ipv6_stays_with_its_endpoint() {
    let space = Space::new("ipv6-affinity");
    space.pods(&PODS);
    let more = json!({"ipFamilyPolicy": "RequireDualStack", "sessionAffinity": "ClientIP"});
    let web = space.service("web", more);
    let client = space.client("a1");
    let first = crate::cluster::until("an answer", || {
        client.http(web.at_v6(80)).map_err(|failure| failure.to_string())
    });
    let tally = client.http_many(web.at_v6(80), 50);
    assert_eq!(tally.by_pod().get(&*first.pod), Some(&50), "{tally:?}");
}

#[test]
fn sctp_follows_the_distribution() {
    if !has_sctp() {
        return;
    }
    let space = Space::new("sctp");
    space.pods(&["a1", "a2", "b1"]);
    let port = json!([{"name": "sctp", "port": 80, "targetPort": HTTP, "protocol": "SCTP"}]);
    let more = json!({"ports": port, "trafficDistribution": "PreferSameZone"});
    let web = space.service("web", more);
    for (client, pods) in [("a1", &["a1", "a2"][..]), ("c1", &["a1", "a2", "b1"])] {
        space.reaches_by(&space.client(client).client(), Protocol::Sctp, web.http(), pods);
    }
}
