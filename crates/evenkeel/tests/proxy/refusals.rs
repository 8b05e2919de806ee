//! What a proxy can't do, it says in one message, and changes nothing.

use evenkeel_testkit::netns::Host;
use serde_json::json;

use crate::{
    process::{Ran, ran},
    shape::elements,
    world::{World, evenkeel},
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_of_another_program_is_refused_and_a_proxy_that_runs_is_not_cleaned_up() {
    let world = World::start("refused").await;
    world.service("web", "10.96.1.1", json!({}), None).await;
    let (a1, kubeconfig) = (world.a1(), world.kubeconfig());
    a1.nft("table ip evenkeel { chain theirs { ip daddr 192.0.2.1 drop; }; }");
    let before = tables(a1);
    let cleanup = ["proxy", "cleanup", "--netns", a1.netns()];
    let started = ran(&mut evenkeel(&[&["proxy"], &world.args(&kubeconfig)[..]].concat()));
    refused(&started, "table ip evenkeel exists and was not created by Evenkeel");
    assert!(started.err.contains("--adopt"), "{}", started.err);
    refused(&ran(&mut evenkeel(&cleanup)), "was not created by Evenkeel");
    assert_eq!(tables(a1), before);

    let mut proxy = world.proxy(&["--adopt"]);
    proxy.ready();
    assert!(!tables(a1).contains("theirs"));
    let rules = elements(a1);
    refused(&ran(&mut evenkeel(&cleanup)), "is owned by another process");
    refused(
        &ran(&mut evenkeel(&[&cleanup[..], &["--adopt"]].concat())),
        "is owned by another process",
    );
    let second = [&["proxy"], &world.args(&kubeconfig)[..]].concat();
    refused(&ran(&mut evenkeel(&second)), "is owned by another process");
    assert_eq!(elements(a1), rules);
    assert_eq!(a1.http_many("10.96.1.1:80".parse().unwrap(), 20).failures, []);

    assert_eq!(proxy.process.stop(), Some(0), "{}", world.log());
    assert_eq!(elements(a1), rules, "rules stay");
    let cleaned = ran(&mut evenkeel(&cleanup));
    assert_eq!((cleaned.code, tables(a1).as_str()), (Some(0), ""), "{}", cleaned.err);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_privileges_there_is_one_message_and_no_table() {
    let world = World::start("privileges").await;
    let (a1, kubeconfig) = (world.a1(), world.kubeconfig());
    let binary = env!("CARGO_BIN_EXE_evenkeel");
    let run = [&["proxy"], &world.args(&kubeconfig)[..]].concat();
    for args in [run, vec!["proxy", "cleanup", "--netns", a1.netns()]] {
        let mut command = std::process::Command::new("setpriv");
        command.args(["--bounding-set=-net_admin", "--inh-caps=-net_admin", binary]).args(args);
        let started = ran(&mut command);
        refused(&started, "Operation not permitted");
        assert!(started.err.contains("CAP_NET_ADMIN"), "{}", started.err);
        assert_eq!(tables(a1), "");
    }
}

fn refused(ran: &Ran, problem: &str) {
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    assert!(ran.err.contains(problem), "{}", ran.err);
    assert_eq!(ran.err.matches("error:").count(), 1, "one message: {}", ran.err);
    assert!(!ran.err.contains("panicked"), "{}", ran.err);
    assert_eq!(ran.out, "");
}

fn tables(host: &Host) -> String {
    let output = host.command("nft").args(["-s", "list", "ruleset"]).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}
