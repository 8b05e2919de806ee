//! Folders with good and bad files.

use std::os::unix::{ffi::OsStringExt as _, fs::symlink};

use super::*;

const ALL: &str = "apiVersion: evenkeel.dev/v1alpha1\nkind: FlowSchema\nmetadata: {name: all}\n\
                   spec: {requestPriority: {name: LEVEL}, match: [{and: []}]}\n";
const KUBERNETES: &str = "apiVersion: flowcontrol.apiserver.k8s.io/v1\nkind: FlowSchema\n\
                          metadata: {name: mine}\n\
                          spec: {priorityLevelConfiguration: {name: exempt}}\n";

/// A new folder, removed on drop.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Scratch {
        let name = format!("evenkeel-fairness-{:016x}", rand::random::<u64>());
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).unwrap();
        Scratch(path)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::write(self.0.join(name), text).unwrap();
    }

    /// By the level of the schema that matches everything.
    fn write_level(&self, name: &str, level: &str) {
        self.write(name, ALL.replace("LEVEL", level));
    }

    fn files(&self) -> Files {
        Files::open(self.0.clone()).unwrap()
    }

    fn error(&self) -> String {
        let error = Files::open(self.0.clone()).expect_err("something is wrong").to_string();
        error.replace(&self.0.display().to_string(), "DIR")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Files {
    /// One look; whether it changed anything.
    fn poll(&self) -> bool {
        let polled = self.looks.lock().poll(SystemTime::now());
        let is_some = polled.is_some();
        polled.into_iter().for_each(|outcome| self.take(outcome, |_| {}));
        is_some
    }

    /// As many looks as a change takes.
    fn settle(&self) {
        self.poll();
        self.poll();
    }

    fn error(&self) -> Option<String> {
        self.in_force.lock().error.clone()
    }

    fn schemas(&self) -> Vec<String> {
        self.config().schemas.iter().map(|schema| schema.name.to_string()).collect()
    }

    fn level(&self) -> String {
        let config = self.config();
        config.level_of(&config.schemas[0]).name.to_string()
    }
}

#[test]
fn an_empty_folder_is_a_configuration_of_backstops() {
    let scratch = Scratch::new();
    let files = scratch.files();
    assert_eq!(files.schemas(), ["system-top", "non-top-backstop"]);
    assert_eq!(files.conditions().len(), 1);
    assert!(!files.poll());
}

#[test]
fn only_yaml_and_json_files_are_read_and_no_hidden_ones() {
    let scratch = Scratch::new();
    scratch.write_level("flows.yaml", "system-top");
    let bad = "kind: [";
    for name in [".flows.yaml.swp", ".#flows.yaml", "flows.yaml~", "#flows.yaml#", "4913"] {
        scratch.write(name, bad);
    }
    scratch.write("README.md", bad);
    fs::create_dir(scratch.0.join("folder.yaml")).unwrap();
    assert_eq!(scratch.files().schemas(), ["all"]);
    scratch.write("b.yml", ALL.replace("all", "b").replace("LEVEL", "system-top"));
    let json = r#"{"apiVersion": "evenkeel.dev/v1alpha1", "kind": "RequestPriority",
                   "metadata": {"name": "c"},
                   "spec": {"assuredConcurrencyShares": 1, "queues": 1, "queueLengthLimit": 1}}"#;
    scratch.write("c.json", json);
    let files = scratch.files();
    assert_eq!((files.schemas().len(), files.config().levels.len()), (2, 2));
}

#[test]
fn errors_name_the_file_and_what_to_do() {
    let blank = vec![b' '; MAX_BYTES as usize + 1];
    type Case<'a> = (&'a str, &'a [u8], &'a str);
    let cases: [Case<'_>; 6] = [
        ("a.yaml", b"kind: [", "DIR/a.yaml, document 1: line 1"),
        ("a.yaml", b"kind: FlowSchema\xff\n", "DIR/a.yaml: byte 16 is not UTF-8; save the file"),
        ("a.yaml", KUBERNETES.as_bytes(), "apiVersion: an object of Kubernetes' dialect"),
        (
            "a.yaml",
            b"kind: Pod\n---\nkind: Pod",
            "(and 1 more problem); `evenkeel fairness lint -f DIR`",
        ),
        ("a.yaml", &blank, "DIR/a.yaml: more than 8388608 bytes"),
        ("a.json", b"{", "DIR/a.json, document 1"),
    ];
    for (name, text, words) in cases {
        let scratch = Scratch::new();
        scratch.write(name, text);
        let error = scratch.error();
        assert!(error.contains(words), "{words:?} is not in {error}");
    }
}

#[test]
fn sizes_count_together() {
    let scratch = Scratch::new();
    for name in ["a.yaml", "b.yaml"] {
        scratch.write(name, vec![b' '; MAX_BYTES as usize / 2 + 1]);
    }
    assert!(scratch.error().starts_with("DIR/b.yaml: more than"), "{}", scratch.error());
}

#[test]
fn a_folder_with_too_many_files_is_refused() {
    let scratch = Scratch::new();
    for i in 0..=MAX_FILES {
        scratch.write(&format!("{i}.yaml"), "");
    }
    assert!(scratch.error().starts_with("DIR: more than 1000 files; "), "{}", scratch.error());
}

#[test]
fn what_is_no_file_and_no_folder_is_an_error() {
    let missing = Files::open("/no/such/folder".into()).expect_err("it is missing").to_string();
    assert!(missing.starts_with("/no/such/folder: can't be read: No such file"), "{missing}");
    let scratch = Scratch::new();
    symlink("/dev/zero", scratch.0.join("a.yaml")).unwrap();
    assert!(scratch.error().contains("not a regular file"), "{}", scratch.error());
    symlink("nowhere", scratch.0.join("a.yml")).unwrap();
    scratch.error();
}

#[test]
fn a_name_that_is_not_utf8_is_read_all_the_same() {
    let scratch = Scratch::new();
    let name = OsString::from_vec(b"\xff.yaml".to_vec());
    fs::write(scratch.0.join(name), ALL.replace("LEVEL", "system-top")).unwrap();
    assert_eq!(scratch.files().schemas(), ["all"]);
}

#[test]
fn a_change_is_applied_when_two_looks_agree() {
    let scratch = Scratch::new();
    scratch.write_level("a.yaml", "system-top");
    let files = scratch.files();
    scratch.write("a.yaml", "");
    assert!(!files.poll());
    scratch.write_level("a.yaml", "workload-low");
    assert!(!files.poll(), "another change");
    assert!(files.poll());
    assert_eq!(files.level(), "workload-low");
    assert!(!files.poll());
    fs::remove_file(scratch.0.join("a.yaml")).unwrap();
    files.settle();
    assert_eq!(files.schemas(), ["system-top", "non-top-backstop"]);
}

#[test]
fn a_bad_file_leaves_the_last_good_configuration_in_force_until_it_is_corrected() {
    let scratch = Scratch::new();
    scratch.write_level("a.yaml", "system-top");
    let files = scratch.files();
    scratch.write("b.yaml", "kind: [");
    files.settle();
    assert_eq!(files.level(), "system-top");
    assert!(files.error().unwrap().contains("b.yaml"));
    scratch.write_level("a.yaml", "workload-low");
    files.settle();
    assert_eq!(files.level(), "system-top", "b.yaml is still bad");
    scratch.write("b.yaml", "");
    files.settle();
    assert_eq!((files.level().as_str(), files.error()), ("workload-low", None));
}

#[test]
fn a_folder_that_is_gone_leaves_the_configuration_in_force() {
    let scratch = Scratch::new();
    scratch.write_level("a.yaml", "system-top");
    let files = scratch.files();
    let aside = scratch.0.with_extension("aside");
    fs::rename(&scratch.0, &aside).unwrap();
    files.settle();
    assert!(files.error().is_some());
    assert_eq!(files.schemas(), ["all"]);
    fs::rename(&aside, &scratch.0).unwrap();
    files.settle();
    assert_eq!(files.error(), None);
}

/// As the kubelet replaces the contents of a ConfigMap.
#[test]
fn a_mounted_config_map_is_followed_through_its_links() {
    let scratch = Scratch::new();
    for (version, level) in [("..1", "system-top"), ("..2", "workload-low")] {
        fs::create_dir(scratch.0.join(version)).unwrap();
        scratch.write_level(&format!("{version}/flows.yaml"), level);
    }
    symlink("..1", scratch.0.join("..data")).unwrap();
    symlink("..data/flows.yaml", scratch.0.join("flows.yaml")).unwrap();
    let files = scratch.files();
    assert_eq!(files.level(), "system-top");
    symlink("..2", scratch.0.join("..data_tmp")).unwrap();
    fs::rename(scratch.0.join("..data_tmp"), scratch.0.join("..data")).unwrap();
    files.settle();
    assert_eq!(files.level(), "workload-low");
}

#[test]
fn files_that_have_not_changed_for_a_while_are_not_read() {
    let scratch = Scratch::new();
    scratch.write_level("a.yaml", "system-top");
    let later = SystemTime::now() + 2 * RECENT;
    let (mut looks, _) = Looks::open(scratch.0.clone(), later).unwrap();
    assert!(looks.look(later).is_none());
    looks.stamps = None;
    assert!(looks.look(SystemTime::now()).is_some());
    assert!(looks.look(SystemTime::now()).is_some(), "changed a moment ago");
}

#[test]
fn conditions_are_told_once_and_when_they_are_gone() {
    let scratch = Scratch::new();
    scratch.write_level("a.yaml", "nowhere");
    let files = scratch.files();
    files.in_force.lock().log_conditions();
    let reasons = || -> Vec<&'static str> {
        files.in_force.lock().logged.iter().map(|told| told.reason).collect()
    };
    assert_eq!(reasons(), ["NotFound", "NoCatchAllFlowSchema"]);
    scratch.write_level("a.yaml", "system-top");
    files.settle();
    assert_eq!(reasons(), [""; 0]);
}
