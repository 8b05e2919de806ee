//! Cases that the crash rounds do not reach, or not by name.

mod migration;
mod registered;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use evenkeel_store::{
    history,
    journal::{Journal, JournalError},
    object::{Change, Object, ResourceId},
    state::State,
};

use super::{
    FileJournal,
    files::{File, Files},
    header::{Header, Kind, VERSION},
    log::{Background, Limits, Log},
    names::Names,
    simulated::{Disk, Faults},
};
use crate::metrics::Metrics;

const NAMES: [&str; 2] = ["configmaps", "deployments.apps"];
const SMALL: Limits = Limits {
    snapshot_after: 8 << 10,
    frame: 1 << 10,
    piece: 3 << 10,
    fill: 2 << 10,
    room: 1 << 10,
    reserve: 2 << 10,
    background: Background::Steps,
};

fn on(disk: &Disk) -> Log<Disk> {
    named(disk, &NAMES)
}

fn named(disk: &Disk, names: &[&str]) -> Log<Disk> {
    Log::new(disk.clone(), Names::new(names.iter().copied()), SMALL)
}

fn change(revision: u64, encoded: &str) -> Change {
    change_of(&format!("default/name-{revision}"), revision, encoded)
}

fn change_of(key: &str, revision: u64, encoded: &str) -> Change {
    let key: Box<str> = key.into();
    let object = Object {
        key: key.clone(),
        revision,
        labels: [("app".into(), "a".into()), ("tier".into(), "".into())].into(),
        fields: ["Running".into()].into(),
        encoded: encoded.as_bytes().to_vec().into(),
    };
    Change { resource: ResourceId(1), revision, key, object: Some(Arc::new(object)) }
}

fn write(journal: &mut dyn Journal, changes: &[Change]) -> Result<(), JournalError> {
    journal.append(changes)?;
    journal.sync()
}

fn replayed(journal: &mut dyn Journal) -> Result<State, JournalError> {
    replayed_with(journal, &NAMES)
}

/// `names`: those that the journal was opened with.
fn replayed_with(journal: &mut dyn Journal, names: &[&str]) -> Result<State, JournalError> {
    let mut state = State::new(names, history::Limits::default());
    journal.replay(&mut |replayed| state.replay(replayed)).map(|()| state)
}

fn changes(state: &State) -> Vec<Change> {
    let mut changes = Vec::new();
    for (resource, _) in state.resources() {
        let events = state.history().since(resource, state.history().oldest()).unwrap();
        changes.extend(events.map(|event| Change {
            resource,
            revision: event.revision,
            key: event.key().into(),
            object: event.object.clone(),
        }));
    }
    changes.sort_unstable_by_key(|change| change.revision);
    changes
}

fn retaining(changes: usize) -> State {
    State::new(NAMES, history::Limits { changes, bytes: usize::MAX })
}

/// A temporary directory, removed on drop.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("evenkeel-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Scratch(path)
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl AsRef<Path> for Scratch {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_real_directory_gives_back_what_was_written() {
    let scratch = Scratch::new("gives-back");
    let deleted = Change { object: None, ..change_of("default/name-2", 3, "") };
    let written = [change(1, "one"), change(2, "two"), deleted];
    let mut journal = FileJournal::open(scratch.as_ref(), NAMES).unwrap();
    write(&mut journal, &written[..2]).unwrap();
    write(&mut journal, &written[2..]).unwrap();
    assert_eq!(changes(&replayed(&mut journal).unwrap()), written);
    drop(journal);
    let mut journal = FileJournal::open(scratch.as_ref(), NAMES).unwrap();
    assert_eq!(changes(&replayed(&mut journal).unwrap()), written);
}

#[test]
fn syncs_are_counted_with_their_bytes_and_writes() {
    let scratch = Scratch::new("counted");
    let metrics = Metrics::new();
    let journal = FileJournal::open(scratch.as_ref(), NAMES).unwrap();
    let mut journal = journal.reporting(metrics.journal.clone());
    write(&mut journal, &[change(1, "one"), change(2, "two")]).unwrap();
    write(&mut journal, &[change(3, "three")]).unwrap();
    let text = metrics.text();
    let of = |name: &str| {
        let name = format!("evenkeel_apiserver_journal_{name} ");
        let line = text.lines().find_map(|line| line.strip_prefix(&name));
        line.unwrap_or_else(|| panic!("{name} is not in {text}")).parse::<f64>().unwrap()
    };
    assert_eq!((of("sync_duration_seconds_count"), of("batch_writes_sum")), (2.0, 3.0));
    assert!(of("written_bytes_total") > 11.0);
}

#[test]
fn a_second_process_is_refused_the_directory() {
    let scratch = Scratch::new("second");
    let first = FileJournal::open(scratch.as_ref(), NAMES).unwrap();
    let second = FileJournal::open(scratch.as_ref(), NAMES).unwrap_err();
    assert!(matches!(second, JournalError::InUse { .. }), "{second}");
    drop(first);
    FileJournal::open(scratch.as_ref(), NAMES).unwrap();
}

#[test]
fn snapshots_in_the_background_keep_the_directory_small() {
    let scratch = Scratch::new("small");
    let limits = Limits { background: Background::Thread, ..SMALL };
    let open = || {
        let files = super::files::Directory::open(scratch.as_ref()).unwrap();
        Log::new(files, Names::new(NAMES), limits)
    };
    let mut state = retaining(5);
    let mut journal = open();
    for revision in 1..=400 {
        let change = change_of("default/same", revision, &"x".repeat(500));
        write(&mut journal, std::slice::from_ref(&change)).unwrap();
        state.publish(&[change]);
        journal.compact(&mut || state.clone());
    }
    drop(journal);
    let mut read = retaining(5);
    open().replay(&mut |replayed| read.replay(replayed)).unwrap();
    assert_eq!((read.history().oldest(), read.revision()), (395, 400));
    assert!(changes(&read) == changes(&state));
    let snapshots = scratch.names().into_iter().filter(|name| name.starts_with("snapshot-"));
    assert_eq!(snapshots.count(), 1, "{:?}", scratch.names());
}

#[test]
fn restarts_do_not_pile_up_segments() {
    let disk = Disk::new(1);
    for revision in 1..=60 {
        let mut journal = on(&disk);
        let mut state = replayed(&mut journal).unwrap();
        let change = change(revision, "x");
        write(&mut journal, std::slice::from_ref(&change)).unwrap();
        state.publish(&[change]);
        for _ in 0..20 {
            journal.compact(&mut || state.clone());
        }
    }
    assert!(disk.names().unwrap().len() < 15, "{:?}", disk.names().unwrap());
    assert_eq!(replayed(&mut on(&disk)).unwrap().revision(), 60);
}

#[test]
fn a_changed_byte_is_reported_or_was_in_the_last_frame() {
    let written: Vec<Change> = (1..=4).map(|n| change(n, "some text")).collect();
    let mut n_reported = 0;
    for (name, is_last) in [("journal-0000000001", false), ("journal-0000000002", true)] {
        for offset in 0.. {
            let disk = Disk::new(7);
            for half in written.chunks(2) {
                let mut journal = on(&disk);
                replayed(&mut journal).unwrap();
                write(&mut journal, &half[..1]).unwrap();
                write(&mut journal, &half[1..]).unwrap();
            }
            let size = disk.open(name).unwrap().size().unwrap();
            if offset >= size.min(700) as usize {
                break;
            }
            disk.flip(name, offset);
            match replayed(&mut on(&disk)) {
                Err(JournalError::Damaged { .. } | JournalError::Newer { .. }) => n_reported += 1,
                Ok(state) => {
                    let there = changes(&state);
                    let least = if is_last { 3 } else { 4 };
                    assert!(there.len() >= least, "{name} at {offset}: {} changes", there.len());
                    assert_eq!(there, written[..there.len()]);
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
    assert!(n_reported > 500, "{n_reported}");
}

#[test]
fn a_full_disk_refuses_writes_until_there_is_space() {
    let disk = Disk::new(3);
    let mut journal = on(&disk);
    replayed(&mut journal).unwrap();
    disk.set_full(true);
    let large = change(1, &"x".repeat(20_000));
    for _ in 0..3 {
        let error = write(&mut journal, std::slice::from_ref(&large)).unwrap_err();
        assert!(matches!(error, JournalError::Full { .. }), "{error}");
        assert_eq!(replayed(&mut journal).unwrap().revision(), 0);
    }
    disk.set_full(false);
    write(&mut journal, &[large]).unwrap();
    disk.power_cut();
    assert_eq!(replayed(&mut on(&disk)).unwrap().revision(), 1);
}

#[test]
fn what_a_failed_sync_refused_is_not_there_after_a_kill() {
    let disk = Disk::new(4);
    let mut journal = on(&disk);
    write(&mut journal, &[change(1, "kept")]).unwrap();
    disk.set(Faults { failing_syncs: 1, ..Faults::default() });
    write(&mut journal, &[change(2, "refused")]).unwrap_err();
    write(&mut journal, &[change(2, "refused too")]).unwrap_err();
    disk.set(Faults::default());
    disk.kill();
    assert_eq!(replayed(&mut on(&disk)).unwrap().revision(), 1);
}

#[test]
fn a_newer_format_is_refused() {
    let disk = Disk::new(5);
    let header = header(VERSION + 1);
    let file = disk.create("journal-0000000001").unwrap();
    file.write_at(&header.bytes(), 0).unwrap();
    let error = replayed(&mut on(&disk)).unwrap_err();
    let path = "journal-0000000001".to_owned();
    assert_eq!(error, JournalError::Newer { path, found: VERSION + 1, known: VERSION });
}

fn header(version: u32) -> Header {
    Header {
        kind: Kind::Segment,
        version,
        number: 1,
        salt: 9,
        previous_end: 0,
        revision: 0,
        names: NAMES.map(Box::from).to_vec(),
    }
}
