//! Completion, as a shell asks for it.

use std::process::Command;

use crate::run::{evenkeel, root};

/// What bash would be offered for the last of these words.
fn candidates(words: &[&str]) -> Vec<String> {
    let index = (words.len() - 1).to_string();
    let output = Command::new(env!("CARGO_BIN_EXE_evenkeel"))
        .arg("--")
        .args(words)
        .current_dir(root())
        .env("COMPLETE", "bash")
        .env("_CLAP_COMPLETE_INDEX", index)
        .env("_CLAP_COMPLETE_COMP_TYPE", "9")
        .env("_CLAP_COMPLETE_SPACE", "true")
        .env("_CLAP_IFS", "\n")
        .env("HOME", "/nonexistent")
        .env_remove("KUBECONFIG")
        .env_remove("KUBERNETES_SERVICE_HOST")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| line.trim_end().to_owned()).collect()
}

#[test]
fn a_script_for_each_shell_asks_the_binary() {
    for command in ["completion", "completions"] {
        for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
            let ran = evenkeel(&[command, shell], b"");
            assert_eq!(ran.code, 0, "{shell}: {}", ran.stderr);
            assert!(ran.stdout.contains("COMPLETE") && ran.stdout.contains("evenkeel"), "{shell}");
        }
    }
}

#[test]
fn commands_flags_and_values_are_offered() {
    for (words, expected) in [
        (&["evenkeel", "ex"][..], "explain"),
        (&["evenkeel", "fairness", "sim"], "simulate"),
        (&["evenkeel", "explain", "web", "--from-z"], "--from-zone"),
        (&["evenkeel", "analyze", "--fail-on", "w"], "warning"),
        (&["evenkeel", "migrate", "--to", "s"], "same-zone"),
        (&["evenkeel", "fairness", "collisions", "--hand"], "--hand-size"),
        (&["evenkeel", "drill", "--lose", "zone-a", "--fail"], "--fail-under"),
    ] {
        let found = candidates(words);
        assert!(found.iter().any(|name| name == expected), "{words:?}: {found:?}");
    }
    assert!(!candidates(&["evenkeel", ""]).iter().any(|name| name == "reference"), "it is hidden");
}

#[test]
fn without_a_cluster_no_name_is_offered_and_nothing_fails() {
    assert_eq!(candidates(&["evenkeel", "explain", "w"]), Vec::<String>::new());
}
