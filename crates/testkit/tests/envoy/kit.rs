//! The kit itself: servers and clients on both sides of an Envoy, and its pages.

use evenkeel_testkit::envoy::{Envoy, Requests, Server, VERSION, get};

use crate::bootstrap::{bootstrap, listener, plain_cluster, tcp_listener};

fn servers(start: fn(&str) -> Server) -> Vec<Server> {
    ["one", "two"].into_iter().map(start).collect()
}

#[test]
fn requests_are_counted_on_both_sides_and_a_dropped_server_answers_none() {
    let mut servers = servers(Server::http);
    let clusters = [plain_cluster("web", &servers)];
    let envoy = Envoy::start(&bootstrap(&[listener(&["web"])], &clusters));
    let to = envoy.listener("web");

    for requests in [Requests::new(100), Requests::new(100).kept_alive()] {
        let answers = requests.path("/web/").http(to);
        assert_eq!(answers.total(), 100);
        assert_eq!((answers.share("one"), answers.share("two")), (0.5, 0.5), "{answers:?}");
    }
    assert_eq!(servers.iter().map(Server::answered).sum::<usize>(), 200);
    assert_eq!(envoy.stat("cluster.web.upstream_rq_total"), 200);

    servers[0].answer_with(500);
    let answers = Requests::new(100).path("/web/").http(to);
    assert_eq!((answers.share("two"), answers.share_of_status(500)), (0.5, 0.5), "{answers:?}");

    // Connections to it end too, even those that Envoy keeps.
    drop(servers.remove(1));
    let answers = Requests::new(100).path("/web/").http(to);
    assert_eq!(answers.share("two"), 0.0);
    assert_eq!(answers.share_of_status(503), 0.5, "{answers:?}");
}

#[test]
fn connections_are_counted() {
    let servers = servers(Server::tcp);
    let clusters = [plain_cluster("db", &servers)];
    let envoy = Envoy::start(&bootstrap(&[tcp_listener("tcp", "db")], &clusters));
    let answers = Requests::new(200).tcp(envoy.listener("tcp"));
    assert_eq!((answers.by_server["one"], answers.by_server["two"]), (100, 100));
    assert_eq!(servers[0].answered(), 100);
    drop(servers);
    let answers = Requests::new(3).tcp(envoy.listener("tcp"));
    assert_eq!((answers.failures.len(), answers.total()), (3, 3));
}

#[test]
fn pages_tell_what_runs() {
    let servers = servers(Server::http);
    let text = bootstrap(&[listener(&["web"])], &[plain_cluster("web", &servers)]);
    let envoy = Envoy::start_with(&text, &["--service-node", "client-1"]);
    let info = envoy.json("/server_info");
    let version = info["version"].as_str().unwrap();
    assert!(version.contains(&format!("/{VERSION}/")), "{version}");
    assert_eq!(info["node"]["id"], "client-1");
    assert!(envoy.config_dump().to_string().contains(&servers[0].address().ip().to_string()));
    assert_eq!(envoy.clusters()["web"]["host_statuses"].as_array().unwrap().len(), 2);
    envoy.wait_until("a log", || envoy.log().contains("starting main dispatch loop"));

    let admin = envoy.admin();
    drop(envoy);
    assert!(get(admin, "/ready").is_err(), "it must be stopped");
}

#[test]
#[should_panic(expected = "Envoy ended before")]
fn a_bad_bootstrap_is_an_error_with_the_log() {
    Envoy::start("static_resources: {clusters: [{name: 1, nonsense: true}]}");
}
