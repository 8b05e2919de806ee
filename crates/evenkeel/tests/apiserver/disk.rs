//! A real full disk, and data that is already in use.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
    client::Body,
    core::Status,
};

use crate::process::{Server, folder, refused};

/// A separate file system of the given size.
pub(crate) struct SmallDisk(pub(crate) PathBuf);

impl SmallDisk {
    pub(crate) fn mount(name: &str, size: &str) -> SmallDisk {
        let path = folder(name);
        fs::create_dir_all(&path).unwrap();
        let size = format!("size={size},mode=700");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(&path);
        assert!(mount.status().unwrap().success(), "this test mounts a tmpfs: it needs root");
        SmallDisk(path)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
        let _ = fs::remove_dir(&self.0);
    }
}

fn large(name: &str) -> ConfigMap {
    let mut object = ConfigMap::default();
    object.metadata.name = Some(name.to_owned());
    object.data = Some([("text".to_owned(), "x".repeat(200 << 10))].into());
    object
}

/// Creates until a write is rejected. Returns the created names, and the error.
async fn fill(api: &Api<ConfigMap>, prefix: &str) -> (Vec<String>, Box<Status>) {
    let mut made = Vec::new();
    loop {
        let name = format!("{prefix}-{}", made.len());
        match api.create(&PostParams::default(), &large(&name)).await {
            Ok(_) => made.push(name),
            Err(kube::Error::Api(status)) => return (made, status),
            Err(problem) => panic!("{problem}"),
        }
        assert!(made.len() < 1000, "the disk is never full");
    }
}

async fn names(api: &Api<ConfigMap>) -> Vec<String> {
    let list = api.list(&ListParams::default()).await.unwrap();
    let names = list.items.into_iter().filter_map(|object| object.metadata.name);
    names.filter(|name| name != "kube-root-ca.crt").collect()
}

/// The status code and text of a non-resource path.
async fn get(client: &Client, path: &str) -> (u16, String) {
    let request = hyper::Request::get(path).body(Body::empty()).unwrap();
    let response = client.send(request).await.unwrap();
    let code = response.status().as_u16();
    let body = response.into_body().collect_bytes().await.unwrap();
    (code, String::from_utf8(body.to_vec()).unwrap())
}

/// Waits until the server becomes ready without any write.
async fn until_ready(client: &Client) {
    let begun = Instant::now();
    while get(client, "/readyz").await.0 != 200 {
        assert!(begun.elapsed() < Duration::from_secs(30), "it does not come back");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn gauge(metrics: &str, name: &str) -> f64 {
    let name = format!("evenkeel_apiserver_journal_{name} ");
    let line = metrics.lines().find_map(|line| line.strip_prefix(&name));
    line.unwrap_or_else(|| panic!("{name} is not there")).parse().unwrap()
}

#[tokio::test]
async fn a_full_disk_shows_in_health_metrics_and_one_log_line_and_ends_by_itself() {
    let disk = SmallDisk::mount("full-health", "24m");
    let (data, ballast) = (disk.0.join("data"), disk.0.join("ballast"));
    fs::write(&ballast, vec![1; 12 << 20]).unwrap();
    let server = Server::start(&data);
    let (client, api) = (server.client().await, server.config_maps().await);
    assert_eq!(get(&client, "/readyz").await.0, 200);
    for prefix in ["first", "second"] {
        assert_eq!(fill(&api, prefix).await.1.code, 507);
    }
    let (code, text) = get(&client, "/readyz").await;
    assert_eq!(code, 500, "{text}");
    assert!(text.contains("[+]etcd ok\n[-]etcd-readiness failed: reason withheld\n"), "{text}");
    let (code, text) = get(&client, "/readyz/etcd-readiness").await;
    assert!(code == 500 && text.contains("no space left"), "{text}");
    for path in ["/livez", "/healthz", "/livez/etcd", "/readyz/etcd"] {
        assert_eq!(get(&client, path).await, (200, "ok".to_owned()), "{path}");
    }
    let metrics = get(&client, "/metrics").await.1;
    assert!(gauge(&metrics, "failed_batches_total") >= 2.0);
    assert!(gauge(&metrics, "writable") == 0.0);
    fs::remove_file(&ballast).unwrap();
    until_ready(&client).await;
    assert!(gauge(&get(&client, "/metrics").await.1, "writable") == 1.0);
    api.create(&PostParams::default(), &large("third")).await.unwrap();
    let log = server.stop_with_log();
    for line in ["journal is not writable", "journal is writable again"] {
        assert_eq!(log.matches(line).count(), 1, "{line}: {log}");
    }
}

/// Nothing but deletes, until they have freed enough: then everything works as before, also after a
/// kill.
#[tokio::test]
async fn deletes_are_accepted_on_a_full_disk_and_free_space() {
    let disk = SmallDisk::mount("full-deletes", "24m");
    let (data, ballast) = (disk.0.join("data"), disk.0.join("ballast"));
    fs::write(&ballast, vec![1; 12 << 20]).unwrap();
    let server = Server::start(&data);
    let (client, api) = (server.client().await, server.config_maps().await);
    let mut waits = large("waits");
    waits.metadata.finalizers = Some(vec!["example.com/a".to_owned()]);
    api.create(&PostParams::default(), &waits).await.unwrap();
    let (mut kept, _) = fill(&api, "first").await;
    occupy(&disk.0.join("rest"));
    assert_eq!(get(&client, "/readyz").await.0, 500);
    // An object with a finalizer is marked, and removed when the finalizer is.
    let finalizers =
        |list: &[&str]| Patch::Merge(serde_json::json!({"metadata": {"finalizers": list}}));
    let patch =
        async |list: &[&str]| api.patch("waits", &PatchParams::default(), &finalizers(list)).await;
    let refused = patch(&["example.com/a", "example.com/b"]).await;
    assert!(matches!(refused, Err(kube::Error::Api(status)) if status.code == 507));
    api.delete("waits", &DeleteParams::default()).await.unwrap();
    patch(&[]).await.unwrap();
    while kept.len() > 6 {
        api.delete(&kept.pop().unwrap(), &DeleteParams::default()).await.unwrap();
    }
    until_ready(&client).await;
    let (more, _) = fill(&api, "second").await;
    assert!(more.len() > 3, "{more:?}");
    kept.extend(more);
    kept.sort();
    assert_eq!(names(&api).await, kept);
    server.kill();
    fs::remove_file(&ballast).unwrap();
    let server = Server::start(&data);
    assert_eq!(names(&server.config_maps().await).await, kept);
    server.stop();
}

#[tokio::test]
async fn a_full_disk_refuses_writes_plainly_until_there_is_space() {
    let disk = SmallDisk::mount("full-disk", "24m");
    let (data, ballast) = (disk.0.join("data"), disk.0.join("ballast"));
    fs::write(&ballast, vec![1; 12 << 20]).unwrap();
    let server = Server::start(&data);
    let api = server.config_maps().await;
    let (mut kept, refusal) = fill(&api, "first").await;
    assert!(kept.len() > 20, "{kept:?}");
    assert_eq!((refusal.code, refusal.reason.as_str()), (507, "InsufficientStorage"));
    assert!(refusal.message.contains("no space left"), "{}", refusal.message);
    assert!(refusal.message.contains("free some"), "{}", refusal.message);
    // Reads continue, and show nothing that was rejected.
    kept.sort();
    assert_eq!(names(&api).await, kept);
    assert_eq!(api.get(&kept[0]).await.unwrap().data, large("").data);
    let (none, again) = fill(&api, "second").await;
    assert_eq!((none.len(), again.code), (0, 507));
    fs::remove_file(&ballast).unwrap();
    api.create(&PostParams::default(), &large("third")).await.unwrap();
    kept.push("third".to_owned());
    assert_eq!(names(&api).await, kept);
    server.stop();
    let server = Server::start(&data);
    let api = server.config_maps().await;
    assert_eq!(names(&api).await, kept);
    api.create(&PostParams::default(), &large("zulu")).await.unwrap();
    server.stop();
}

/// A server that is killed on a full disk reports that when it is started, and starts when there is
/// space.
#[tokio::test]
async fn a_start_on_a_full_disk_fails_plainly_and_loses_nothing() {
    let disk = SmallDisk::mount("full-start", "16m");
    let (data, ballast) = (disk.0.join("data"), disk.0.join("ballast"));
    fs::write(&ballast, vec![1; 6 << 20]).unwrap();
    let server = Server::start(&data);
    let api = server.config_maps().await;
    let (mut kept, _) = fill(&api, "first").await;
    kept.sort();
    server.kill();
    occupy(&disk.0.join("rest"));
    let said = String::from_utf8(refused(&data).stderr).unwrap();
    assert!(said.to_lowercase().contains("no space left"), "{said}");
    fs::remove_file(&ballast).unwrap();
    let server = Server::start(&data);
    assert_eq!(names(&server.config_maps().await).await, kept);
    server.stop();
}

/// Takes all remaining space.
fn occupy(path: &Path) {
    use std::io::Write;

    let mut file = fs::File::create(path).unwrap();
    while file.write_all(&[1; 4096]).is_ok() {}
}

#[test]
fn a_second_server_on_the_same_data_fails_and_the_first_continues() {
    let data = folder("second-server");
    let server = Server::start(&data);
    let said = String::from_utf8(refused(&data).stderr).unwrap();
    assert!(said.contains("another server runs on this data"), "{said}");
    server.stop();
    Server::start(&data).stop();
    fs::remove_dir_all(&data).unwrap();
}
