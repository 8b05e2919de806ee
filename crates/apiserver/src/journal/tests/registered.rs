//! Resources that are registered while the journal is written, and damaged registrations.

use evenkeel_store::{
    journal::{Journal, JournalError},
    object::{Change, ResourceId},
    state::State,
};

use super::{NAMES, change, changes, header, named, on, replayed, replayed_with, write};
use crate::journal::{
    files::{File, Files},
    frame,
    header::VERSION,
    names::LONGEST,
    simulated::{Disk, Faults},
};
use crate::writer::register;

const WIDGETS: &str = "widgets.example.com";

fn of(resource: u32, revision: u64) -> Change {
    Change { resource: ResourceId(resource), ..change(revision, "x") }
}

fn registered(state: &State) -> Vec<&str> {
    state.resources().skip(NAMES.len()).map(|(_, name)| &**name).collect()
}

#[test]
fn resources_are_known_by_name_and_others_are_registered_when_they_are_used() {
    let disk = Disk::new(2);
    write(&mut on(&disk), &[change(1, "x")]).unwrap();
    let renumbered = ["pods", "services", "deployments.apps", "configmaps"];
    let state = replayed_with(&mut named(&disk, &renumbered), &renumbered).unwrap();
    assert!(state.object(ResourceId(2), "default/name-1").is_some());
    let state = replayed_with(&mut named(&disk, &["pods"]), &["pods"]).unwrap();
    let names: Vec<&str> = state.resources().map(|(_, name)| &**name).collect();
    assert_eq!(names, ["pods", "deployments.apps"], "configmaps were never written");
    assert!(state.object(ResourceId(1), "default/name-1").is_some());
}

#[test]
fn a_registration_is_kept_with_the_first_change_and_gone_with_the_last() {
    let disk = Disk::new(8);
    let mut journal = on(&disk);
    replayed(&mut journal).unwrap();
    for (id, name) in (2..).zip(["gadgets.example.com", WIDGETS, "sprockets.example.com"]) {
        journal.register(ResourceId(id), name);
    }
    write(&mut journal, &[of(1, 1), of(3, 2)]).unwrap();
    disk.power_cut();
    let mut journal = on(&disk);
    let mut state = replayed(&mut journal).unwrap();
    assert_eq!(registered(&state), [WIDGETS], "the others were never written");
    assert_eq!(changes(&replayed(&mut journal).unwrap()), changes(&state), "also while it runs");
    let gone = Change { object: None, ..of(2, 3) };
    let gone = Change { key: "default/name-2".into(), ..gone };
    write(&mut journal, std::slice::from_ref(&gone)).unwrap();
    state.publish(&[gone]);
    state.compact();
    for revision in 4..=40 {
        let change = change(revision, &"x".repeat(600));
        write(&mut journal, std::slice::from_ref(&change)).unwrap();
        state.publish(&[change]);
        journal.compact(&mut || state.clone());
    }
    disk.power_cut();
    let state = replayed(&mut on(&disk)).unwrap();
    assert_eq!((registered(&state), state.revision()), (vec![], 40));
}

/// The first change of a resource fails, and then another one of it is the first.
#[test]
fn a_name_that_a_failed_sync_or_a_full_disk_lost_is_written_again() {
    for fails_by_space in [false, true] {
        let disk = Disk::new(9);
        let mut journal = on(&disk);
        replayed(&mut journal).unwrap();
        journal.register(ResourceId(2), WIDGETS);
        let large = Change { resource: ResourceId(2), ..change(1, &"x".repeat(20_000)) };
        match fails_by_space {
            true => disk.set_full(true),
            false => disk.set(Faults { failing_syncs: 1, ..Faults::default() }),
        }
        write(&mut journal, &[large]).unwrap_err();
        disk.set(Faults::default());
        write(&mut journal, &[of(2, 1)]).unwrap();
        write(&mut journal, &[of(2, 2)]).unwrap();
        disk.power_cut();
        let state = replayed(&mut on(&disk)).unwrap();
        assert_eq!((registered(&state), changes(&state).len()), (vec![WIDGETS], 2));
    }
}

#[test]
fn a_change_of_a_resource_that_nobody_registered_is_rejected() {
    let disk = Disk::new(10);
    let mut journal = on(&disk);
    replayed(&mut journal).unwrap();
    let error = write(&mut journal, &[of(2, 1)]).unwrap_err().to_string();
    assert!(error.ends_with("resource 2 is not registered"), "{error}");
    journal.register(ResourceId(2), &"x".repeat(LONGEST + 1));
    write(&mut journal, &[of(2, 1)]).unwrap_err();
    write(&mut journal, &[of(1, 1)]).unwrap();
    assert_eq!(replayed(&mut on(&disk)).unwrap().revision(), 1);
}

#[test]
fn twenty_thousand_resources_survive_a_snapshot_and_a_restart() {
    const N: u32 = 20_000;
    let disk = Disk::new(12);
    let mut journal = on(&disk);
    let mut state = replayed(&mut journal).unwrap();
    for id in 2..N {
        let name = format!("{id}.{}", "g".repeat(240));
        assert_eq!(register(&mut state, &mut journal, &name), ResourceId(id));
    }
    let ids: Vec<u32> = (2..N).collect();
    for batch in ids.chunks(500) {
        let of = |&id: &u32| Change { resource: ResourceId(id), ..change(u64::from(id) - 1, "x") };
        let batch: Vec<Change> = batch.iter().map(of).collect();
        write(&mut journal, &batch).unwrap();
        state.publish(&batch);
    }
    let has_snapshot = || disk.names().unwrap().iter().any(|n| n == "snapshot-0000000002");
    while !has_snapshot() {
        journal.compact(&mut || state.clone());
    }
    let segment = disk.open("journal-0000000002").unwrap().size().unwrap();
    assert!(segment < 10_000, "a header has only the built-in names: {segment}");
    let again = replayed(&mut on(&disk)).unwrap();
    assert!(again.resources().eq(state.resources()));
    assert!(changes(&again) == changes(&state));
}

/// A segment with one frame of changes.
fn replayed_frame(version: u32, entries: &[Vec<u8>]) -> Result<State, JournalError> {
    let disk = Disk::new(11);
    let mut bytes = header(version).bytes();
    frame::put(&mut bytes, 9, 1, 0, |out| {
        out.push(1);
        out.extend(entries.iter().flatten());
    });
    let file = disk.create("journal-0000000001").unwrap();
    file.write_at(&bytes, 0).unwrap();
    replayed(&mut on(&disk))
}

fn entry(number: u32, name: &[u8]) -> Vec<u8> {
    let length = (name.len() as u32).to_le_bytes();
    [&[2][..], &number.to_le_bytes(), &length, name].concat()
}

fn delete(number: u32, revision: u64) -> Vec<u8> {
    [&[0][..], &number.to_le_bytes(), &revision.to_le_bytes(), &[0; 4]].concat()
}

#[test]
fn a_damaged_registration_is_reported() {
    let widgets = entry(7, WIDGETS.as_bytes());
    let fine = replayed_frame(VERSION, &[widgets.clone(), delete(7, 1)]).unwrap();
    assert_eq!((registered(&fine), fine.revision()), (vec![WIDGETS], 1));
    let unused = replayed_frame(VERSION, std::slice::from_ref(&widgets)).unwrap();
    assert!(registered(&unused).is_empty());
    let high = replayed_frame(VERSION, &[entry(u32::MAX, b"a"), delete(u32::MAX, 1)]).unwrap();
    assert_eq!(registered(&high), ["a"], "numbers cost nothing");
    let long = entry(7, &[b'a'; LONGEST + 1]);
    let endless = [&[2][..], &7u32.to_le_bytes(), &[0xff; 4], b"name"].concat();
    for (entries, problem) in [
        (vec![widgets.clone(), delete(8, 1)], "a resource that the file does not name"),
        (vec![delete(7, 1), widgets.clone()], "a resource that the file does not name"),
        (vec![widgets.clone(), widgets.clone()], "a resource number that is named twice"),
        (vec![entry(1, b"a")], "a resource number that is named twice"),
        (vec![entry(7, b"pods"), entry(8, b"pods"), delete(7, 1), delete(8, 2)], "two numbers"),
        (vec![entry(7, NAMES[0].as_bytes()), delete(0, 1), delete(7, 2)], "two numbers"),
        (vec![entry(7, &[0xff, 0xfe])], "text that is not UTF-8"),
        (vec![entry(7, b"")], "a resource's name of an impossible length"),
        (vec![long], "a resource's name of an impossible length"),
        (vec![endless], "a frame that ends early"),
        (vec![vec![2, 7, 0]], "a frame that ends early"),
        (vec![vec![3; 30]], "a change of an unknown kind"),
    ] {
        let error = replayed_frame(VERSION, &entries).unwrap_err();
        let JournalError::Damaged { problem: found, .. } = &error else { panic!("{error}") };
        assert!(found.contains(problem), "{entries:?}: {error}");
    }
    let error = replayed_frame(1, &[vec![2, 1, 0], vec![0; 12]]).unwrap_err().to_string();
    assert!(error.contains("a change of an unknown kind"), "format 1 had none: {error}");
}
