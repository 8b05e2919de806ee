//! Objects that are written while their definition comes and goes.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use http::Method;
use serde_json::{Value, json};

use super::{NAME, WIDGETS, anything, delete, establish, start, watch, widget, widgets};
use crate::{kinds::CUSTOM_RESOURCE_DEFINITION, server::testing::Server};

const ROUNDS: usize = 100;

/// No object without a definition, at any revision.
fn check(server: &Server) {
    let state = server.api.storage.state();
    let is_defined = state.object(CUSTOM_RESOURCE_DEFINITION.id(), NAME).is_some();
    let n_objects = state.resource(NAME).map_or(0, |id| state.count(id));
    assert!(is_defined || n_objects == 0, "{n_objects} objects");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn no_object_survives_its_definition() {
    let server = Arc::new(start().await);
    let stop = Arc::new(AtomicBool::new(false));
    let codes: Arc<Mutex<BTreeMap<(u16, String), usize>>> = Arc::default();
    let writers: Vec<_> = (0..3)
        .map(|writer| {
            let (server, stop, codes) = (server.clone(), stop.clone(), codes.clone());
            tokio::spawn(async move {
                for n in 0.. {
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                    let object = widget(&format!("w{writer}-{n}"), &json!({}));
                    let (code, answer) = server.ask(Method::POST, WIDGETS, &object).await;
                    let reason = answer["reason"].as_str().unwrap_or_default().to_owned();
                    *codes.lock().unwrap().entry((code, reason)).or_default() += 1;
                    check(&server);
                    // Refusals don't wait for anything.
                    tokio::task::yield_now().await;
                }
            })
        })
        .collect();
    for _ in 0..ROUNDS {
        round(&server).await;
    }
    stop.store(true, Ordering::Relaxed);
    for writer in writers {
        writer.await.unwrap();
    }
    let codes = codes.lock().unwrap().clone();
    assert!(codes.keys().all(|(code, _)| *code < 500), "{codes:?}");
    assert!(codes.keys().any(|(code, _)| *code == 201), "{codes:?}");
    let unserved = async {
        while !server.api.catalogue.load().customs().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), unserved).await.expect("nothing is served");
    Arc::into_inner(server).unwrap().stop().await;
}

async fn round(server: &Server) {
    establish(server, &widgets(&anything())).await;
    server.create(WIDGETS, &widget("first", &json!({}))).await;
    let watch = watch(server, WIDGETS);
    let uids = |items: &[Value]| -> BTreeSet<String> {
        items.iter().map(|item| item["metadata"]["uid"].to_string()).collect()
    };
    let before = uids(&server.items(WIDGETS).await);
    delete(server, NAME).await;
    check(server);
    establish(server, &widgets(&anything())).await;
    let after = uids(&server.items(WIDGETS).await);
    assert!(before.is_disjoint(&after), "{before:?} {after:?}");
    let watched = tokio::time::timeout(Duration::from_secs(20), watch).await;
    // The watch may have come when nothing was served any more.
    let (code, _) = watched.expect("the watch ends").unwrap();
    assert!(matches!(code, 200 | 404), "{code}");
    delete(server, NAME).await;
}
