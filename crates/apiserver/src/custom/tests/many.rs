//! Many definitions at once.

use std::{sync::Weak, time::Duration};

use http::Method;
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

use super::{DEFINITIONS, anything, definition, path, start};
use crate::{
    custom::conditions::{ESTABLISHED, is_true},
    kinds::catalogue::CustomResource,
    server::testing::Server,
};

const GROUPS: usize = 50;
/// And four times as many. 10,000 need no more than 6 times the CPU of 2,500 either, but 50 s.
const FEW: usize = 1_000;

fn nth(n: usize) -> Value {
    definition(
        &format!("g{}.example.com", n % GROUPS),
        &format!("w{n}s"),
        &format!("W{n}"),
        &anything(),
    )
}

fn name(n: usize) -> String {
    format!("w{n}s.g{}.example.com", n % GROUPS)
}

/// CPU seconds of this thread, which runs everything but the writer.
fn clock() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Creates and deletes n definitions. Returns the CPU time of each half.
async fn come_and_go(n: usize) -> [f64; 2] {
    let server = start().await;
    let before = clock();
    for i in 0..n {
        server.create(DEFINITIONS, &nth(i)).await;
    }
    for i in 0..n {
        server.until(&path(&name(i)), |found| is_true(found, ESTABLISHED)).await;
    }
    let created = clock() - before;
    let members = || server.api.catalogue.full().customs().len();
    assert_eq!(members(), n);
    let kept: Vec<Weak<CustomResource>> =
        server.api.catalogue.load().customs().into_iter().map(std::sync::Arc::downgrade).collect();
    check_use(&server, n).await;
    let before = clock();
    for i in 0..n {
        let (code, answer) = server.ask(Method::DELETE, &path(&name(i)), &Value::Null).await;
        assert_eq!(code, 200, "{answer}");
    }
    for i in 0..n {
        server.until(&path(&name(i)), Value::is_null).await;
    }
    let emptied = async {
        while members() > 0 {
            tokio::task::yield_now().await;
        }
    };
    let emptied = tokio::time::timeout(Duration::from_secs(20), emptied).await;
    assert!(emptied.is_ok(), "{} of {n} are still served", members());
    let deleted = clock() - before;
    assert_eq!(kept.iter().filter(|one| one.upgrade().is_some()).count(), 0);
    let (code, _) = server.ask(Method::GET, "/apis/g1.example.com/v1", &Value::Null).await;
    assert_eq!(code, 404);
    server.stop().await;
    [created, deleted]
}

/// What concerns one group or one object does not depend on how many there are.
async fn check_use(server: &Server, n: usize) {
    let group = server.get("/apis/g1.example.com/v1").await;
    assert_eq!(group["resources"].as_array().unwrap().len(), n / GROUPS);
    let objects = "/apis/g1.example.com/v1/namespaces/default/w1s";
    let object =
        json!({"apiVersion": "g1.example.com/v1", "kind": "W1", "metadata": {"name": "a"}});
    server.create(objects, &object).await;
    let before = clock();
    for _ in 0..20 {
        assert_eq!(server.get(&format!("{objects}/a")).await["kind"], "W1");
    }
    assert!((clock() - before) / 20.0 < 0.05);
}

#[tokio::test]
async fn thousands_of_definitions_come_and_go_in_near_linear_time() {
    let [few, many] = [come_and_go(FEW).await, come_and_go(4 * FEW).await];
    for (what, few, many) in [("created", few[0], many[0]), ("deleted", few[1], many[1])] {
        // Four times as many: 16 if it were quadratic. The clock is that of the process, in which other
        // tests run.
        assert!(many < 12.0 * few, "{what}: {few} and {many} s");
    }
}
