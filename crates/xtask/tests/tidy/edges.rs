//! Which crate may depend on which.

use crate::{
    rules::{ADAPTERS, ALSO, CORE, DEV_ONLY, EDGE, NOT_IN_CORE, ONLY, PURE, SHELL},
    workspace::{Crate, Finding},
};

pub(crate) fn check(krate: &Crate) -> Vec<Finding> {
    let mut findings = Vec::new();
    let layers = [CORE, ADAPTERS, SHELL, EDGE];
    if !layers.concat().contains(&krate.folder.as_str()) {
        let advice = "add the crate to its layer in crates/xtask/tests/tidy/rules.rs";
        findings.push(krate.finding("has-a-layer", advice.into()));
    }
    // Dev-dependencies are free: a test may compare a core crate with anything.
    for dependency in krate.dependencies.iter().filter(|d| !d.dev) {
        findings.extend(match &dependency.ours {
            Some(ours) => check_ours(krate, ours),
            None => check_theirs(krate, &dependency.name),
        });
    }
    findings
}

fn check_ours(krate: &Crate, used: &str) -> Option<Finding> {
    if DEV_ONLY.contains(&used) {
        let advice = format!("move {used} to [dev-dependencies]");
        return Some(krate.finding("dev-only", advice));
    }
    if may_use(&krate.folder, used) {
        return None;
    }
    let from = &krate.folder;
    let advice = format!(
        "{from} may not use {used}: pass what it needs through model, or let the binary bring them together"
    );
    Some(krate.finding("arrows-point-one-way", advice))
}

fn may_use(from: &str, used: &str) -> bool {
    let row = |table: &[(&str, &[&str])]| {
        let row = table.iter().find(|(name, _)| *name == from);
        row.map(|(_, used_by_it)| used_by_it.contains(&used))
    };
    if let Some(listed) = row(ONLY) {
        return listed;
    }
    if EDGE.contains(&from) || row(ALSO) == Some(true) {
        return true;
    }
    if CORE.contains(&from) {
        return used == "model";
    }
    CORE.contains(&used) || ADAPTERS.contains(&used)
}

fn check_theirs(krate: &Crate, used: &str) -> Option<Finding> {
    let is = |name: &&&str| used == **name || used.starts_with(&format!("{name}-"));
    let banned = NOT_IN_CORE.iter().any(|name| is(&name)) && !PURE.contains(&used);
    if !CORE.contains(&krate.folder.as_str()) || !banned {
        return None;
    }
    let advice =
        format!("core crates decide and do nothing else: move what needs {used} to a shell crate");
    Some(krate.finding("core-stays-pure", advice))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Dependency;

    /// `topology: tokio` depends on a crate of others, `topology: =model` on one of ours,
    /// `topology: dev =testkit` for tests only.
    fn rules_broken(line: &str) -> Vec<&'static str> {
        let (folder, rest) = line.split_once(": ").unwrap();
        let (dev, name) = match rest.strip_prefix("dev ") {
            Some(name) => (true, name),
            None => (false, rest),
        };
        let krate = Crate {
            folder: folder.into(),
            manifest: String::new(),
            dependencies: vec![Dependency {
                name: name.trim_start_matches('=').into(),
                ours: name.strip_prefix('=').map(Into::into),
                dev,
            }],
        };
        check(&krate).iter().map(|finding| finding.rule).collect()
    }

    #[test]
    fn core_gains_no_runtime_client_or_database() {
        for name in ["tokio", "tokio-stream", "kube", "kube-runtime", "k8s-openapi", "redb"] {
            assert_eq!(rules_broken(&format!("topology: {name}")), ["core-stays-pure"]);
            assert!(rules_broken(&format!("topology: dev {name}")).is_empty());
            assert!(rules_broken(&format!("k8s: {name}")).is_empty());
        }
        assert!(rules_broken("topology: thiserror").is_empty());
        assert!(rules_broken("structural: kube-cel").is_empty());
    }

    #[test]
    fn cores_know_each_other_only_through_model() {
        assert!(rules_broken("topology: =model").is_empty());
        for line in ["topology: =nft", "topology: =k8s", "fairness: =model", "model: =store"] {
            assert_eq!(rules_broken(line), ["arrows-point-one-way"], "{line}");
        }
    }

    #[test]
    fn shells_use_cores_and_adapters() {
        for line in ["proxy: =nft", "controller: =k8s", "k8s: =model", "dashboard: =admin"] {
            assert!(rules_broken(line).is_empty(), "{line}");
        }
        for line in ["controller: =proxy", "k8s: =controller", "proxy: =evenkeel"] {
            assert_eq!(rules_broken(line), ["arrows-point-one-way"], "{line}");
        }
    }

    #[test]
    fn the_fairness_layer_has_two_users_and_one_need() {
        for line in
            ["gate: =tower-fairness", "apiserver: =tower-fairness", "tower-fairness: =fairness"]
        {
            assert!(rules_broken(line).is_empty(), "{line}");
        }
        for line in ["proxy: =tower-fairness", "tower-fairness: =model", "tower-fairness: =admin"] {
            assert_eq!(rules_broken(line), ["arrows-point-one-way"], "{line}");
        }
    }

    #[test]
    fn the_edge_knows_all_but_testkit_is_for_tests() {
        assert!(rules_broken("evenkeel: =topology").is_empty());
        assert!(rules_broken("evenkeel: dev =testkit").is_empty());
        assert_eq!(rules_broken("evenkeel: =testkit"), ["dev-only"]);
    }

    #[test]
    fn a_new_crate_needs_a_layer() {
        assert_eq!(rules_broken("misc: serde"), ["has-a-layer"]);
    }
}
