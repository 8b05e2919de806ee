//! A folder of files as the source.

#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]

mod plane;

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use evenkeel_locality::Compat;
use evenkeel_xds::ResourceType;
use evenkeel_xds_server::{
    Settings,
    engine::Update,
    prepare,
    source::folder::{Folder, Scan},
};
use plane::{DeltaClient, Plane, loopback};
use rustix::fs::{CWD, FileType, Mode, mknodat};

/// A folder of its own for each test, removed with it.
struct Files(PathBuf);

impl Files {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("evenkeel-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.join(name), text).unwrap();
    }

    fn folder(&self) -> Folder {
        Folder::new(self.0.clone(), Compat::Record)
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn server(name: &str, last: u8) -> String {
    format!(
        "type: Dataplane\nmesh: default\nname: {name}\nnetworking:\n  address: 10.0.0.{last}\n  \
         inbound:\n  - port: 8080\n    servicePort: 9090\n    tags: {{kuma.io/service: web}}\n"
    )
}

/// A look a minute later, when nothing is young.
fn look(folder: &mut Folder) -> Vec<String> {
    told(&scan(folder))
}

fn scan(folder: &mut Folder) -> Scan {
    folder.scan(SystemTime::now() + Duration::from_secs(60), &BTreeSet::new()).unwrap()
}

fn told(scan: &Scan) -> Vec<String> {
    let one = |update: &Update| match update {
        Update::Apply(resource) => format!("+{}", resource.key.name),
        Update::Plain { .. } => panic!("files have no Services of Kubernetes"),
        Update::Delete(key) => format!("-{}", key.name),
    };
    scan.updates.iter().map(one).collect()
}

#[test]
fn documents_are_applied_changed_and_deleted() {
    let files = Files::new("documents");
    let mut folder = files.folder();
    files.write("a.yaml", &format!("{}---\n---\n{}", server("a", 1), server("b", 2)));
    files.write("ignored.txt", "x");
    files.write(".hidden.yaml", "x");
    assert_eq!(look(&mut folder), ["+a", "+b"]);
    assert_eq!(look(&mut folder), [""; 0]);
    files.write("a.yaml", &format!("{}---\n{}", server("a", 1), server("b", 33)));
    assert_eq!(look(&mut folder), ["+b"]);
    files.write("a.yaml", &server("b", 33));
    assert_eq!(look(&mut folder), ["-a"]);
    fs::remove_file(files.0.join("a.yaml")).unwrap();
    assert_eq!(look(&mut folder), ["-b"]);
    assert_eq!(folder.problems(), []);
}

#[test]
fn what_is_invalid_keeps_its_last_good_form_and_is_reported() {
    let files = Files::new("invalid");
    let mut folder = files.folder();
    let both = format!("{}---\n{}", server("a", 1), server("b", 2));
    files.write("a.yaml", &both);
    look(&mut folder);
    files.write("a.yaml", &both.replace("10.0.0.2", "nowhere").replace("10.0.0.1", "10.0.0.9"));
    assert_eq!(look(&mut folder), ["+a"]);
    let problems = folder.problems();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert_eq!((problems[0].document, problems[0].last_good_in_force), (Some(2), true));
    assert!(problems[0].field.as_deref().unwrap().contains("address"), "{problems:?}");
    files.write("a.yaml", "a: [");
    assert_eq!(look(&mut folder), [""; 0]);
    assert!(folder.problems()[0].message.contains("not YAML"));
    files.write("a.yaml", &both);
    assert_eq!(look(&mut folder), ["+a"]);
    assert_eq!(folder.problems(), []);
    files.write("bad.yaml", &server("c", 1).replace("type: Dataplane", "type: Banana"));
    assert_eq!(look(&mut folder), [""; 0]);
    assert!(!folder.problems()[0].last_good_in_force);
    fs::remove_file(files.0.join("bad.yaml")).unwrap();
    assert!(scan(&mut folder).problems_changed);
    assert_eq!(folder.problems(), []);
}

#[test]
fn of_several_files_with_a_resource_the_first_counts() {
    let files = Files::new("twice");
    let mut folder = files.folder();
    files.write("b.yaml", &server("a", 1));
    assert_eq!(look(&mut folder), ["+a"]);
    files.write("a.yaml", &server("a", 2));
    assert_eq!(look(&mut folder), ["+a"]);
    assert!(folder.problems()[0].origin.ends_with("b.yaml"));
    fs::remove_file(files.0.join("a.yaml")).unwrap();
    assert_eq!(look(&mut folder), ["+a"]);
    assert_eq!(folder.problems(), []);
}

#[test]
fn links_that_are_exchanged_are_one_change() {
    // As the kubelet does it for volumes of ConfigMaps.
    let files = Files::new("links");
    let mut folder = files.folder();
    let version = |n: u8| {
        let path = files.0.join(format!("..v{n}"));
        fs::create_dir(&path).unwrap();
        fs::write(path.join("a.yaml"), server("a", n)).unwrap();
        fs::write(path.join("b.yaml"), server("b", n)).unwrap();
        let link = files.0.join("..data_new");
        symlink(Path::new(&format!("..v{n}")), &link).unwrap();
        fs::rename(link, files.0.join("..data")).unwrap();
    };
    version(1);
    symlink("..data/a.yaml", files.0.join("a.yaml")).unwrap();
    symlink("..data/b.yaml", files.0.join("b.yaml")).unwrap();
    assert_eq!(look(&mut folder), ["+a", "+b"]);
    version(2);
    assert_eq!(look(&mut folder), ["+a", "+b"]);
    assert_eq!(look(&mut folder), [""; 0]);
}

#[test]
fn a_file_that_is_being_written_is_left_until_it_is_complete() {
    let files = Files::new("young");
    let mut folder = files.folder();
    files.write("a.yaml", &server("a", 1));
    assert_eq!(look(&mut folder), ["+a"]);
    // Truncated, and not written yet.
    files.write("a.yaml", "");
    let scan = folder.scan(SystemTime::now(), &BTreeSet::new()).unwrap();
    assert!(scan.is_unsettled && scan.updates.is_empty());
    files.write("a.yaml", &server("a", 2));
    let closed = BTreeSet::from(["a.yaml".into()]);
    let scan = folder.scan(SystemTime::now(), &closed).unwrap();
    assert_eq!((told(&scan), scan.is_unsettled), (vec!["+a".to_owned()], false));
}

#[test]
fn a_folder_that_is_gone_leaves_everything_in_force() {
    let files = Files::new("gone");
    let mut folder = files.folder();
    files.write("a.yaml", &server("a", 1));
    look(&mut folder);
    fs::rename(&files.0, files.0.with_extension("away")).unwrap();
    assert!(folder.scan(SystemTime::now(), &BTreeSet::new()).is_err());
    fs::rename(files.0.with_extension("away"), &files.0).unwrap();
    assert_eq!(look(&mut folder), [""; 0]);
}

fn fifo(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
}

#[test]
fn what_is_no_file_is_reported_and_followed_again_when_it_is_one() {
    let files = Files::new("no-file");
    let mut folder = files.folder();
    let path = files.0.join("a.yaml");
    let gone = |path: &Path| match path.is_dir() {
        true => fs::remove_dir(path).unwrap(),
        false => fs::remove_file(path).unwrap(),
    };
    type Put = fn(&Path);
    let rows: [(Put, &str); 4] = [
        (|path| fs::create_dir(path).unwrap(), "not a file"),
        (fifo, "not a file"),
        (|path| symlink(path, path).unwrap(), "cannot be read: Too many levels of symbolic links"),
        (|path| symlink("nowhere", path).unwrap(), "cannot be read: No such file or directory"),
    ];
    for (put, message) in rows {
        files.write("a.yaml", &server("a", 1));
        look(&mut folder);
        assert_eq!(folder.problems(), [], "{message}");
        gone(&path);
        put(&path);
        // It might be exchanged at this moment, which the first look cannot know.
        assert_eq!([look(&mut folder), look(&mut folder)], [[""; 0], []], "{message}");
        let problems = folder.problems();
        assert_eq!(problems.len(), 1, "{message}: {problems:?}");
        assert!(problems[0].message.starts_with(message), "{problems:?}");
        assert!(problems[0].last_good_in_force);
        assert!(!scan(&mut folder).problems_changed, "{message}: it is reported once");
        gone(&path);
    }
    assert_eq!(look(&mut folder), ["-a"]);
    assert_eq!(folder.problems(), []);
}

#[test]
fn of_ten_thousand_invalid_documents_a_hundred_are_reported() {
    let files = Files::new("many-invalid");
    let mut folder = files.folder();
    let documents = "type: Banana\n---\n".repeat(10_000);
    files.write("a.yaml", &format!("{documents}{}", server("a", 1)));
    assert_eq!(look(&mut folder), ["+a"]);
    let problems = folder.problems();
    assert_eq!(problems.len(), 101);
    assert_eq!(problems[100].message, "9900 more problems are not shown");
}

#[tokio::test]
async fn a_changed_file_reaches_the_proxies() {
    let files = Files::new("served");
    files.write("servers.yaml", &server("s1", 1));
    files.write(
        "clients.yaml",
        "type: Dataplane\nmesh: default\nname: c\nnetworking:\n  address: 10.9.9.9\n  gateway:\n    \
         tags: {kuma.io/service: edge}\n  outbound:\n  - port: 10000\n    tags: {kuma.io/service: web}\n",
    );
    let settings = Settings { admin: Some(loopback()), ..Settings::folder(loopback(), &files.0) };
    let (control_plane, intake) = prepare(settings);
    let plane = Plane::of(control_plane, intake).await;
    let mut proxy = DeltaClient::settled(plane.ready.listen, "default.c").await;
    files.write("more.tmp", &server("s2", 2));
    fs::rename(files.0.join("more.tmp"), files.0.join("more.yaml")).unwrap();
    let news = proxy.take().await;
    assert_eq!(news.type_url, ResourceType::Endpoint.type_url());
    plane.stop().await;
}
