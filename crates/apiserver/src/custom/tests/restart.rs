//! Definitions and objects after a restart.

use std::path::PathBuf;

use http::Method;
use serde_json::{Value, json};

use super::{NAME, WIDGETS, anything, definition, establish, path, widget, widgets};
use crate::server::{in_process::settings, testing::Server};

/// Removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let name = format!("evenkeel-custom-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn count(server: &Server) -> usize {
    let state = server.api.storage.state();
    state.resource(NAME).map_or(0, |id| state.count(id))
}

#[tokio::test]
async fn everything_is_served_before_the_first_request_after_a_restart() {
    let folder = Folder::new("restart");
    let server = Server::start_whole(Some(&folder.0), settings()).await;
    for n in 0..20 {
        let group = format!("g{n}.example.com");
        establish(&server, &definition(&group, "gadgets", "Gadget", &anything())).await;
        let objects = format!("/apis/{group}/v1/namespaces/default/gadgets");
        let object = json!({"apiVersion": format!("{group}/v1"), "kind": "Gadget",
            "metadata": {"name": "a"}, "n": n});
        server.create(&objects, &object).await;
    }
    // Ids have a gap.
    super::delete(&server, "gadgets.g3.example.com").await;
    server.stop().await;
    // Nothing but the start itself makes them known.
    let server = Server::start(Some(&folder.0), settings()).await;
    for n in 0..20 {
        let found =
            server.get(&format!("/apis/g{n}.example.com/v1/namespaces/default/gadgets/a")).await;
        assert_eq!(found["n"], if n == 3 { Value::Null } else { json!(n) });
    }
    server.stop().await;
}

#[tokio::test]
async fn a_deletion_that_was_interrupted_is_completed_after_a_restart() {
    let folder = Folder::new("deletion");
    let server = Server::start_whole(Some(&folder.0), settings()).await;
    establish(&server, &widgets(&anything())).await;
    for n in 0..50 {
        let mut object = widget(&format!("w{n}"), &json!({}));
        if n == 7 {
            object["metadata"]["finalizers"] = json!(["example.com/wait"]);
        }
        server.create(WIDGETS, &object).await;
    }
    server.stop().await;
    // Without a controller, a delete only marks.
    let server = Server::start(Some(&folder.0), settings()).await;
    assert_eq!(server.ask(Method::DELETE, &path(NAME), &Value::Null).await.0, 200);
    assert_eq!(count(&server), 50);
    server.stop().await;
    let server = Server::start_whole(Some(&folder.0), settings()).await;
    // All but one, which waits.
    server.until(WIDGETS, |list| list["items"].as_array().is_some_and(|all| all.len() == 1)).await;
    assert!(server.get(&path(NAME)).await.is_object());
    server.stop().await;
    let server = Server::start_whole(Some(&folder.0), settings()).await;
    server.patch(&format!("{WIDGETS}/w7"), &json!({"metadata": {"finalizers": null}})).await;
    server.until(&path(NAME), Value::is_null).await;
    assert_eq!(count(&server), 0);
    server.stop().await;
}
