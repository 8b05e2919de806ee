//! Tenants that only the proposal's dialect can tell apart, configured by files.

use std::{fs, path::PathBuf};

use crate::{
    rig::users::{STAFF, User},
    scenario::{PROFILES, Scenario, creates, crowd},
};

/// One level whose flows are told apart like this.
fn tenants(distinguisher: &str) -> String {
    format!(
        r#"
apiVersion: evenkeel.dev/v1alpha1
kind: RequestPriority
metadata: {{name: tenants}}
spec: {{assuredConcurrencyShares: 30, queues: 128, handSize: 6, queueLengthLimit: 50}}
---
apiVersion: evenkeel.dev/v1alpha1
kind: RequestPriority
metadata: {{name: others}}
spec: {{catchAll: true, assuredConcurrencyShares: 60, queues: 16, handSize: 4, queueLengthLimit: 50}}
---
apiVersion: evenkeel.dev/v1alpha1
kind: FlowSchema
metadata: {{name: tenants}}
spec:
  requestPriority: {{name: tenants}}
  flowDistinguisher: {distinguisher}
  match:
  - and:
    - superSet: {{field: groups, set: [{STAFF}]}}
"#
    )
}

async fn only_the_overbearing_suffers(
    name: &str,
    distinguisher: &str,
    overbearing: impl Fn(usize) -> User,
    others: [User; 2],
) {
    for profile in PROFILES {
        let folder = Folder::new(name, &tenants(distinguisher));
        let crowd = crowd(|n| creates(overbearing(n), "shop"));
        let users = crowd.iter().map(|caller| caller.user.clone()).chain(others.clone());
        let users: Vec<User> = users.collect();
        let config = folder.0.to_str().unwrap();
        let flags = ["--fairness-dialect", "evenkeel", "--fairness-config", config];
        let scenario = Scenario::start_with(name, profile, &users, &flags).await;
        let innocent = others.clone().map(|user| creates(user, "shop"));
        let outcome = scenario.run(vec![crowd], innocent.into()).await;
        outcome.only_the_guilty_suffers(profile);
    }
}

/// Whatever stands before the first dash: many users of one tenant are one flow.
#[tokio::test]
async fn a_tenant_is_a_prefix_of_the_user() {
    let by_prefix = r#"{source: user, transformation: {regex: "([^-]+)-.*"}}"#;
    let user = |tenant: &str, n: usize| User::new(&format!("{tenant}-{n}"), &[STAFF]);
    let others = [user("bank", 0), user("shop", 0)];
    only_the_overbearing_suffers("prefix", by_prefix, |n| user("acme", n), others).await;
}

/// Of the groups, those that begin with `tenant:` identify tenants.
#[tokio::test]
async fn a_tenant_is_a_group_that_a_pattern_finds() {
    let by_group = r#"{source: group, transformation: {regex: "tenant:(.*)"}}"#;
    let member = |name: &str, tenant: &str| {
        User::new(name, &["developers", STAFF, &format!("tenant:{tenant}")])
    };
    let others = [member("alice", "shop"), member("bob", "bank")];
    let acme = |n: usize| member(&format!("user-{n}"), "acme");
    only_the_overbearing_suffers("group-pattern", by_group, acme, others).await;
}

/// Removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, text: &str) -> Folder {
        let name = format!("overload-{}-{name}-files", std::process::id());
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("tenants.yaml"), text).unwrap();
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
