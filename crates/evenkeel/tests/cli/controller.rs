//! `evenkeel controller` where it can't start: the error, and the exit code.

use std::net::TcpListener;

use crate::{
    apiserver::Server,
    run::{Ran, evenkeel},
};

/// It exited with this code, printed all of `parts` to stderr, and nothing to stdout.
fn refused(ran: &Ran, code: i32, parts: &[&str]) {
    assert_eq!((ran.code, ran.stdout.as_str()), (code, ""), "{}", ran.stderr);
    for part in parts {
        assert!(ran.stderr.contains(part), "{part:?} is not in {:?}", ran.stderr);
    }
}

#[test]
fn wrong_settings_are_refused_with_what_to_do() {
    let cases: &[(&[&str], &[&str])] = &[
        (&["--feature-gates", "Nope=true"], &["Nope", "ServiceTrafficDistribution"]),
        (&["--feature-gates", "TopologyAwareHints"], &["NAME=true or NAME=false"]),
        (&["--leader-elect-lease-duration", "5s"], &["must be more than the renew deadline"]),
        (&["--leader-elect-retry-period", "10"], &["has no known unit"]),
        (&["--max-endpoints-per-slice", "2000"], &["1 to 1000"]),
        (&["--concurrent-service-endpoint-syncs", "0"], &["from 1 up"]),
        (&["--services", "some"], &["all", "annotated"]),
        (&["--listen", "here"], &["--listen"]),
        (&["release", "-A", "-n", "shop"], &["cannot be used with"]),
        (&["release", "-A", "web"], &["cannot be used with"]),
    ];
    for (args, parts) in cases {
        refused(&evenkeel(&[&["controller"], *args].concat(), b""), 2, parts);
    }
}

#[test]
fn without_a_cluster_it_says_where_one_comes_from() {
    for args in [&["controller", "--listen", "127.0.0.1:0"][..], &["controller", "release", "-A"]] {
        refused(&evenkeel(args, b""), 3, &["no cluster configured", "evenkeel up"]);
    }
}

#[test]
fn an_address_in_use_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ran = evenkeel(&["controller", "--listen", &address], b"");
    refused(&ran, 1, &[&address, "set another --listen"]);
}

#[test]
fn a_missing_namespace_of_the_lease_is_named() {
    let server = Server::start(&["--ephemeral"]);
    let kubeconfig = server.kubeconfig.to_str().unwrap();
    let flags = ["--listen", "127.0.0.1:0", "--leader-elect-resource-namespace", "nowhere"];
    let ran = evenkeel(&[&["controller", "--kubeconfig", kubeconfig], &flags[..]].concat(), b"");
    refused(
        &ran,
        1,
        &["namespace \"nowhere\" of the lease does not exist", "--leader-elect-resource-namespace"],
    );
}

#[test]
fn missing_permissions_are_listed() {
    let (_server, kubeconfig) = Server::without_permissions("controller");
    let flags = ["--listen", "127.0.0.1:0", "--kubeconfig", kubeconfig.to_str().unwrap()];
    let ran = evenkeel(&[&["controller"], &flags[..]].concat(), b"");
    let parts = ["list pods", "patch services/status", "deploy/base", "kubectl auth can-i"];
    refused(&ran, 1, &parts);
}
