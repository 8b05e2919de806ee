//! The real kubectl against `evenkeel apiserver`.
//!
//! Each topic is a table of commands with their output. Every topic and every kubectl has its own
//! server and cache. `EVENKEEL_KUBECTL=PATH,PATH` adds other builds to the installed one. The
//! commands and versions run are printed (`--nocapture` shows it), and written to
//! `kubectl/TOPIC-N.txt` in the folder for temporary files of the build.

#![expect(clippy::unwrap_used, reason = "tests")]
#![expect(clippy::print_stdout, reason = "the report")]

mod child;
mod pattern;
mod server;
mod session;
mod step;
mod steps;

use std::env;

use crate::{session::Session, step::Step};

/// A sandbox with short delays.
const SANDBOX: [&str; 7] = [
    "--sandbox",
    "--sandbox-ready-after",
    "100ms",
    "--sandbox-end-after",
    "100ms",
    "--sandbox-node-grace",
    "1s",
];

/// Runs a topic with every available kubectl.
fn check(topic: &str, steps: &[Step]) {
    check_with(&[], topic, steps);
}

/// On a server with these flags.
fn check_with(flags: &[&str], topic: &str, steps: &[Step]) {
    check_all(topic, flags, |session| session.run(steps));
}

fn check_all(topic: &str, flags: &[&str], check: impl Fn(&mut Session) -> Vec<String>) {
    let others = env::var("EVENKEEL_KUBECTL").unwrap_or_default();
    let builds = others.split(',').filter(|path| !path.is_empty());
    let mut failures = Vec::new();
    for (n, kubectl) in std::iter::once("kubectl").chain(builds).enumerate() {
        let mut session = Session::start(&format!("{topic}-{n}"), kubectl, flags);
        failures.extend(check(&mut session));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

/// Two tables, with a restart of the server between them.
fn check_restarted(topic: &str, before: &[Step], after: &[Step]) {
    check_all(topic, &[], |session| {
        let mut failures = session.run(before);
        session.restart();
        failures.extend(session.run(after));
        failures
    });
}

#[test]
fn apply_creates_changes_and_keeps_what_others_set() {
    check("apply", &steps::apply::steps());
}

#[test]
fn templates_and_revisions_are_kept_and_shown() {
    check("templates", &steps::templates::steps());
}

#[test]
fn create_makes_objects_from_files_and_generators() {
    check("create", &steps::create::steps());
}

#[test]
fn get_prints_in_every_form() {
    check("get", &steps::get::steps());
}

#[test]
fn every_kind_has_its_columns() {
    check("wide", &steps::wide::steps());
}

#[test]
fn a_watch_prints_what_other_commands_change() {
    check("watch", &steps::watch::steps());
}

#[test]
fn describe_shows_objects_with_their_events() {
    check("describe", &steps::describe::steps());
}

#[test]
fn objects_are_changed_in_place() {
    check("change", &steps::change::steps());
}

#[test]
fn wait_and_rollout_follow_the_status() {
    check("wait", &steps::wait::steps());
}

#[test]
fn delete_waits_forces_and_selects() {
    check("delete", &steps::delete::steps());
}

#[test]
fn owners_and_namespaces_take_with_them_what_is_theirs() {
    check("collect", &steps::collect::steps());
}

#[test]
fn what_the_server_offers_is_discovered_and_explained() {
    check("discover", &steps::discover::steps());
}

#[test]
fn flow_schemas_and_priority_levels_are_kept_and_shown() {
    check("flowcontrol", &steps::flowcontrol::steps());
}

#[test]
fn a_custom_resource_is_discovered_and_explained() {
    check("custom-schema", &steps::custom::schema::steps());
}

#[test]
fn custom_resources_fit_their_schema_and_have_their_columns() {
    check("custom-objects", &steps::custom::objects::steps());
}

#[test]
fn custom_resources_are_patched_edited_and_scaled() {
    check("custom-changes", &steps::custom::changes::steps());
}

#[test]
fn the_end_of_a_definition_takes_its_objects_with_it() {
    check("custom-end", &steps::custom::end::steps());
}

#[test]
fn in_the_sandbox_deployments_are_rolled_out_and_back() {
    check_with(&SANDBOX, "rollouts", &steps::sandbox::rollouts::steps());
}

#[test]
fn in_the_sandbox_pods_follow_the_nodes() {
    check_with(&SANDBOX, "nodes", &steps::sandbox::nodes::steps());
}

#[test]
fn in_the_sandbox_accounts_have_secrets() {
    check_with(&SANDBOX, "accounts", &steps::sandbox::accounts::steps());
}

#[test]
fn users_are_told_who_they_are_and_what_they_may_do() {
    check("users", &steps::auth::users::steps());
}

#[test]
fn an_account_of_one_namespace_sees_just_that() {
    check("limited", &steps::auth::limited::steps());
}

#[test]
fn escalation_by_role() {
    check("escalation-by-role", &steps::auth::escalation::by_role());
}

#[test]
fn escalation_by_cluster_role() {
    check("escalation-by-cluster-role", &steps::auth::escalation::by_cluster_role());
}

#[test]
fn escalation_by_binding() {
    check("escalation-by-binding", &steps::auth::escalation::by_binding());
}

#[test]
fn escalation_by_aggregation() {
    check("escalation-by-aggregation", &steps::auth::escalation::by_aggregation());
}

#[test]
fn escalation_by_impersonation() {
    check("escalation-by-impersonation", &steps::auth::escalation::by_impersonation());
}

#[test]
fn escalation_by_token_of_another_namespace() {
    check("escalation-by-token", &steps::auth::escalation::by_token_of_another_namespace());
}

#[test]
fn escalation_by_node() {
    check("escalation-by-node", &steps::auth::nodes::steps());
}

#[test]
fn the_verbs_bind_and_escalate_allow_it() {
    check("bind-and-escalate", &steps::auth::escalation::allowed());
}

#[test]
fn view_edit_and_admin_allow_what_they_do_in_kubernetes() {
    check("default-roles", &steps::auth::defaults::steps());
}

#[test]
fn auth_reconcile_adds_and_removes() {
    check("reconcile", &steps::auth::reconcile::steps());
}

#[test]
fn default_roles_are_completed_at_the_next_start_unless_switched_off() {
    use steps::auth::autoupdate;
    check_restarted("autoupdate", &autoupdate::before(), &autoupdate::after());
}
