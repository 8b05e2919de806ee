//! The controller on a real Kubernetes, beside Kubernetes' own.
//!
//! It runs only where `EVENKEEL_TEST_KUBECONFIG` names the kubeconfig of a cluster that may be
//! thrown away, without real nodes (the Nodes and Pods here are made up); otherwise it says that it
//! did not run. `EVENKEEL_TEST_START_BUILT_IN` and `EVENKEEL_TEST_STOP_BUILT_IN` are shell commands
//! that switch Kubernetes' own EndpointSlice controller on and off, and return when it is so.
//! `EVENKEEL_TEST_SERVICES` is how many Services with ten Pods each are compared at the end, by
//! default 20.
//!
//! 1. The built-in controller writes slices for Services of every kind.
//! 2. It is stopped. Ours adopts: no slice vanishes, none changes but for its label; and for the same
//!    objects in another namespace it writes, from nothing, the same but for names. Later changes
//!    come out alike too. Started again, it writes nothing.
//! 3. Ours stops and releases. The built-in controller, back again, writes nothing.
//! 4. Many Services: ours, from nothing, against the built-in's.
//! 5. Beside the built-in controller at work: Services opt in and out; the times of changes are the
//!    same; ours withdraws where it is to have all Services, also if it is killed on the way.
//! 6. Zone shares and hints for several zones are kept by the API server, and taken off at release.

#![expect(clippy::unwrap_used, reason = "all of it is a test")]

mod beside;
mod compare;
mod many;
mod objects;
mod phases;
mod shares;

use std::{env, io::Write as _, time::Duration};

use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};

const KUBECONFIG: &str = "EVENKEEL_TEST_KUBECONFIG";

/// How long anything may take before the test fails.
const PATIENCE: Duration = Duration::from_secs(120);

fn main() {
    let Ok(path) = env::var(KUBECONFIG) else {
        say(&format!("not run: set {KUBECONFIG} to the kubeconfig of a throw-away cluster"));
        return;
    };
    let commands = ["EVENKEEL_TEST_START_BUILT_IN", "EVENKEEL_TEST_STOP_BUILT_IN"]
        .map(|name| env::var(name).unwrap_or_else(|_| panic!("set {name} to a shell command")));
    let services = env::var("EVENKEEL_TEST_SERVICES").map_or(20, |n| n.parse().unwrap());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let client = client(&path).await;
        let [start, stop] = commands;
        let built_in = BuiltIn { start, stop };
        phases::run(&client, &built_in).await;
        many::run(&client, &built_in, services).await;
        beside::run(&client, &built_in).await;
        shares::run(&client, &built_in).await;
    });
    say("all phases passed");
}

/// How Kubernetes' own controller is switched on and off.
struct BuiltIn {
    start: String,
    stop: String,
}

impl BuiltIn {
    fn start(&self) {
        shell(&self.start);
    }

    fn stop(&self) {
        shell(&self.stop);
    }
}

fn shell(command: &str) {
    let status = std::process::Command::new("sh").args(["-c", command]).status().unwrap();
    assert!(status.success(), "`{command}` ended with {status}");
}

fn say(line: &str) {
    let mut out = std::io::stderr();
    writeln!(out, "real: {line}").unwrap();
}

async fn client(path: &str) -> Client {
    let file = Kubeconfig::read_from(path).unwrap();
    let options = KubeConfigOptions::default();
    let mut config = Config::from_custom_kubeconfig(file, &options).await.unwrap();
    config.default_retry = false;
    Client::try_from(config).unwrap()
}
