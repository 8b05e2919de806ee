//! Definitions that change while their objects are used.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};

use super::{NAME, WIDGETS, establish, path, send, start, version, widget, widgets};
use crate::server::testing::Server;

const WIDGETS_V2: &str = "/apis/example.com/v2/namespaces/default/widgets";

/// Schemas with and without the fields `a` and `b`, the latter with a default.
fn schema(has_a: bool, has_b: bool) -> Value {
    let mut properties = json!({"n": {"type": "integer"}});
    if has_a {
        properties["a"] = json!({"type": "string"});
    }
    if has_b {
        properties["b"] = json!({"type": "string", "default": "b"});
    }
    json!({"type": "object", "properties": {
        "spec": {"type": "object", "default": {}, "properties": properties},
    }})
}

/// The n-th form of the definition: all combinations of fields, stored and served versions.
fn versions(n: usize) -> Value {
    let schema = schema(n & 1 != 0, n & 2 != 0);
    let (mut v1, mut v2) = (version("v1", &schema), version("v2", &schema));
    v1["storage"] = json!(n & 4 != 0);
    v2["storage"] = json!(n & 4 == 0);
    v1["served"] = json!(n & 8 == 0);
    json!([v1, v2])
}

type Codes = Arc<Mutex<BTreeMap<(&'static str, u16), usize>>>;

async fn use_objects(server: Arc<Server>, stop: Arc<AtomicBool>, codes: Codes) {
    let json = [("content-type", "application/merge-patch+json")];
    for n in 0_usize.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let base = if n.is_multiple_of(2) { WIDGETS } else { WIDGETS_V2 };
        let one = format!("{base}/busy");
        let change = json!({"spec": {"n": n, "a": "x"}}).to_string();
        let table = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")];
        let watch = format!("{base}?watch=true&timeoutSeconds=1&resourceVersion=0");
        let work = [
            ("get", send(&server, Method::GET, &one, &[], Bytes::new())),
            ("list", send(&server, Method::GET, base, &[], Bytes::new())),
            ("table", send(&server, Method::GET, base, &table, Bytes::new())),
            ("patch", send(&server, Method::PATCH, &one, &json, change.into())),
        ];
        if n.is_multiple_of(50) {
            tokio::spawn(send(&server, Method::GET, &watch, &[], Bytes::new()));
        }
        for (verb, answered) in work {
            let (code, body) = answered.await;
            assert!(code < 500, "{verb} {code} {}", String::from_utf8_lossy(&body));
            *codes.lock().unwrap().entry((verb, code)).or_default() += 1;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn objects_stay_usable_while_their_definition_changes() {
    let server = Arc::new(start().await);
    let mut definition = widgets(&schema(true, false));
    definition["spec"]["versions"] = versions(5);
    establish(&server, &definition).await;
    server.create(WIDGETS, &widget("old", &json!({"a": "kept", "n": 1}))).await;
    server.create(WIDGETS, &widget("busy", &json!({"a": "x"}))).await;
    let (stop, codes) = (Arc::new(AtomicBool::new(false)), Codes::default());
    let users: Vec<_> = (0..2)
        .map(|_| tokio::spawn(use_objects(server.clone(), stop.clone(), codes.clone())))
        .collect();
    for n in (0..16).chain((0..16).rev()).chain(0..16) {
        server.patch(&path(NAME), &json!({"spec": {"versions": versions(n)}})).await;
        let expected = expected(n);
        for base in [WIDGETS, WIDGETS_V2] {
            let is_served = base == WIDGETS_V2 || n & 8 == 0;
            let is_shown = |found: &Value| match is_served {
                true => found["spec"] == expected,
                false => found.is_null(),
            };
            server.until(&format!("{base}/old"), is_shown).await;
        }
    }
    stop.store(true, Ordering::Relaxed);
    for user in users {
        user.await.unwrap();
    }
    let codes = codes.lock().unwrap().clone();
    assert!(codes.keys().all(|(_, code)| matches!(code, 200 | 404 | 409)), "{codes:?}");
    assert!(["get", "list", "table", "patch"].iter().all(|verb| codes.contains_key(&(*verb, 200))));
    Arc::into_inner(server).unwrap().stop().await;
}

/// Of an object that was written with `a`, in the n-th form.
fn expected(n: usize) -> Value {
    let mut spec = json!({"n": 1});
    if n & 1 != 0 {
        spec["a"] = json!("kept");
    }
    if n & 2 != 0 {
        spec["b"] = json!("b");
    }
    spec
}
