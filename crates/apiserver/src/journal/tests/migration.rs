//! Folders of older formats.

use std::fmt::Write as _;
use std::ops::Bound;
use std::sync::Arc;

use evenkeel_store::{
    history,
    journal::{Journal, JournalError},
    object::{Object, ResourceId},
    state::State,
};

use super::{NAMES, SMALL, Scratch, header, on, replayed};
use crate::journal::{
    FileJournal,
    files::{File, Files},
    frame,
    log::Log,
    names::Names,
    simulated::{Disk, Faults},
};

/// Written by the last version with format 1: a snapshot, and the segments of four starts after it.
const FORMAT_1: [(&str, &[u8]); 5] = [
    ("snapshot-0000000010", include_bytes!("format_1/snapshot-0000000010")),
    ("journal-0000000010", include_bytes!("format_1/journal-0000000010")),
    ("journal-0000000011", include_bytes!("format_1/journal-0000000011")),
    ("journal-0000000012", include_bytes!("format_1/journal-0000000012")),
    ("journal-0000000013", include_bytes!("format_1/journal-0000000013")),
];
/// What that version read from it: all objects, and all changes that a watch can resume from.
const EXPECTED: &str = include_str!("format_1/expected.txt");
/// With what it was retained.
const RETAINED: history::Limits = history::Limits { changes: 60, bytes: usize::MAX };
/// In another order than that version's, and with one that it did not have.
const SERVED: [&str; 7] = [
    "namespaces",
    "configmaps",
    "services",
    "nodes",
    "pods",
    "deployments.apps",
    "leases.coordination.k8s.io",
];
/// In the order of the text. Secrets are not served: they are registered by the replay.
const SHOWN: [&str; 7] = [
    "configmaps",
    "leases.coordination.k8s.io",
    "namespaces",
    "nodes",
    "pods",
    "secrets",
    "deployments.apps",
];

fn read(journal: &mut dyn Journal) -> Result<State, JournalError> {
    let mut state = State::new(SERVED, RETAINED);
    journal.replay(&mut |replayed| state.replay(replayed)).map(|()| state)
}

#[test]
fn a_folder_of_the_version_before_is_migrated_once_after_a_backup() {
    let scratch = Scratch::new("format-1");
    std::fs::create_dir_all(&scratch.0).unwrap();
    for (name, bytes) in FORMAT_1 {
        std::fs::write(scratch.0.join(name), bytes).unwrap();
    }
    let open = || FileJournal::open(&scratch.0, SERVED).unwrap();
    assert_eq!(shown(&read(&mut open()).unwrap()), EXPECTED);
    let names = scratch.names();
    for (name, bytes) in FORMAT_1 {
        assert!(!names.contains(&name.to_owned()), "{names:?}");
        let backup = scratch.0.join(format!("format-1.{name}"));
        assert!(std::fs::read(&backup).unwrap() == bytes, "{name}");
        std::fs::remove_file(backup).unwrap();
    }
    assert_eq!(shown(&read(&mut open()).unwrap()), EXPECTED);
    let backups = scratch.names().into_iter().filter(|name| name.starts_with("format-"));
    assert_eq!(backups.count(), 0, "nothing was left to migrate");
}

/// Whichever operation the power fails at, the next start recovers everything, and the backup is
/// that of the old files alone.
#[test]
fn a_migration_of_the_version_before_survives_a_power_failure_at_every_step() {
    let mut n_cuts = 0;
    for cut_at in 1.. {
        let disk = Disk::new(cut_at);
        for (name, bytes) in FORMAT_1 {
            put(&disk, name, bytes);
        }
        disk.set(Faults { cut_at: Some(cut_at), ..Faults::default() });
        let journal = || Log::new(disk.clone(), Names::new(SERVED), SMALL);
        let first = read(&mut journal());
        let is_cut = disk.is_cut();
        disk.power_cut();
        disk.set(Faults::default());
        assert_eq!(shown(&read(&mut journal()).unwrap()), EXPECTED, "cut at {cut_at}");
        let mut backups = disk.names().unwrap();
        backups.retain(|name| name.starts_with("format-"));
        let expected: Vec<String> = FORMAT_1.iter().map(|(n, _)| format!("format-1.{n}")).collect();
        assert!(backups.iter().all(|name| expected.contains(name)), "{backups:?}");
        for (name, bytes) in FORMAT_1 {
            assert!(content(&disk, &format!("format-1.{name}")) == bytes, "{name} at {cut_at}");
        }
        if !is_cut {
            assert_eq!(shown(&first.unwrap()), EXPECTED);
            break;
        }
        n_cuts += 1;
    }
    assert!(n_cuts > 80, "{n_cuts}");
}

#[test]
fn the_first_format_is_migrated_after_a_backup() {
    for cut_at in (1..80).map(Some).chain([None]) {
        let disk = Disk::new(6);
        let old = format_0(&disk);
        disk.set(Faults { cut_at, ..Faults::default() });
        let _ = replayed(&mut on(&disk));
        disk.power_cut();
        disk.set(Faults::default());
        let state = replayed(&mut on(&disk)).unwrap();
        let object = state.object(ResourceId(1), "default/old").unwrap();
        assert_eq!(
            (&object.encoded[..], object.fields.len(), object.revision),
            (&b"tail"[..], 0, 1)
        );
        assert!(content(&disk, "format-0.journal-0000000001") == old, "cut at {cut_at:?}");
        assert!(!disk.names().unwrap().contains(&"journal-0000000001".to_owned()));
    }
}

/// Writes a segment of format 0, which had no fields; returns its bytes.
fn format_0(disk: &Disk) -> Vec<u8> {
    assert_eq!(NAMES[1], "deployments.apps");
    let mut bytes = header(0).bytes();
    frame::put(&mut bytes, 9, 1, 0, |out| {
        out.extend_from_slice(&[1, 1, 1, 0]);
        out.extend_from_slice(&1u64.to_le_bytes());
        for text in ["default/old", "", "tail"] {
            out.extend_from_slice(&(text.len() as u32).to_le_bytes());
            out.extend_from_slice(text.as_bytes());
        }
    });
    put(disk, "journal-0000000001", &bytes);
    bytes
}

fn put(disk: &Disk, name: &str, bytes: &[u8]) {
    let file = disk.create(name).unwrap();
    file.write_at(bytes, 0).unwrap();
    file.sync().unwrap();
    disk.sync_names().unwrap();
}

fn content(disk: &Disk, name: &str) -> Vec<u8> {
    let file = disk.open(name).unwrap();
    let mut bytes = vec![0; file.size().unwrap() as usize];
    file.read_at(&mut bytes, 0).unwrap();
    bytes
}

/// As the text was written.
fn shown(state: &State) -> String {
    let mut out = String::new();
    writeln!(out, "{} {}", state.history().oldest(), state.revision()).unwrap();
    let mut changes = Vec::new();
    for name in SHOWN {
        let resource = state.resource(name).unwrap();
        for object in state.range(resource, Bound::Unbounded) {
            writeln!(out, "{name} {} {}", object.key, version(object)).unwrap();
        }
        for event in state.history().since(resource, state.history().oldest()).unwrap() {
            let of = |object: &Option<Arc<Object>>| {
                object.as_deref().map_or("nothing".to_owned(), version)
            };
            let (key, before, after) = (event.key(), of(&event.before), of(&event.object));
            let text = format!("change {name} {key} at {}: {before} -> {after}", event.revision);
            changes.push((event.revision, text));
        }
    }
    changes.sort();
    changes.iter().for_each(|(_, text)| writeln!(out, "{text}").unwrap());
    out
}

fn version(object: &Object) -> String {
    let text = str::from_utf8(&object.encoded).unwrap();
    format!("{} {:?} {:?} {text}", object.revision, object.labels, object.fields)
}
