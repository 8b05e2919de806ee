//! Names in the cluster, as a shell is offered them.

use std::process::Command;

use crate::process::Up;

fn candidates(up: &Up, words: &[&str]) -> Vec<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_evenkeel"))
        .arg("--")
        .args(words)
        .env("COMPLETE", "bash")
        .env("_CLAP_COMPLETE_INDEX", (words.len() - 1).to_string())
        .env("_CLAP_COMPLETE_COMP_TYPE", "9")
        .env("_CLAP_COMPLETE_SPACE", "true")
        .env("_CLAP_IFS", "\n")
        .env("KUBECONFIG", &up.kubeconfig)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| line.trim_end().to_owned()).collect()
}

#[test]
fn names_of_the_cluster_are_offered() {
    let mut up = Up::start(&["--ephemeral"]);
    up.explained();
    for (words, expected) in [
        (&["evenkeel", "explain", "-n", "shop", "pay"][..], "payments"),
        (&["evenkeel", "plan", "--namespace=shop", "pay"], "payments"),
        (&["evenkeel", "explain", "-n", "sh"], "shop"),
        (&["evenkeel", "explain", "web", "--from-zone", "zone-"], "zone-a"),
        (&["evenkeel", "explain", "web", "--from-node", "node-"], "node-a1"),
        (&["evenkeel", "curl", "--from", "node-"], "node-a1"),
        (&["evenkeel", "drill", "--lose", "zone-"], "zone-a"),
        (&["evenkeel", "drill", "--lose", "zone-a", "-n", "shop", "--service", "pay"], "payments"),
    ] {
        let found = candidates(&up, words);
        assert!(found.iter().any(|name| name == expected), "{words:?}: {found:?}");
    }
    assert!(candidates(&up, &["evenkeel", "explain", "pay"]).is_empty(), "of another namespace");
    assert!(candidates(&up, &["evenkeel", "plan", "-n", "shop", "-f", "x.yaml", "pay"]).is_empty());
}
