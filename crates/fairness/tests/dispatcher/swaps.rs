//! Configurations change while requests wait and run.

use std::time::{Duration, Instant};

use evenkeel_fairness::{
    Settings,
    config::{Config, Handling, Level},
    dispatcher::{Admission, Dispatcher},
    queues::{Verdict, stats::SchemaStats},
};

use crate::{
    Server,
    support::{PROFILES, config, level, ms, queuing, schema},
};

fn queue(name: &str) -> Level {
    level(name, 10, queuing(8, 1, 50))
}

fn names(server: &Server) -> Vec<String> {
    server.limits().iter().map(|level| level.level.to_string()).collect()
}

fn stats_of(server: &Server, level: &str, schema: &str) -> Option<SchemaStats> {
    server.level(level).view(|view| {
        let mut schemas = view.schemas();
        schemas.find(|(name, _)| &***name == schema).map(|(_, stats)| stats.clone())
    })
}

#[test]
fn a_level_that_is_removed_drains_and_then_vanishes_and_its_seats_are_the_others() {
    for settings in PROFILES {
        let mut server = Server::new(config(vec![queue("a"), queue("b")]), 8, settings());
        let mut running = server.runs("b", 4);
        let (first, waiting) = server.wait("b");
        let (second, cancelled) = server.wait("b");
        server.configure(config(vec![queue("a")]), 8);
        assert_eq!(names(&server), ["a", "b"]);
        assert_eq!(server.nominal("a"), 4, "what drains keeps its shares");
        assert!(server.limits()[1].quiescing);
        // The schema is gone, so that its requests fall back to the first.
        let Admission::Dispatched(handle) = server.admit("b") else { panic!("level a is free") };
        assert_eq!(&*handle.destination.level.name, "a");
        server.leave(handle);
        server.leave(running.pop().expect("four run"));
        assert_eq!(server.take_woken(), [first]);
        server.leave(cancelled);
        running.into_iter().for_each(|handle| server.leave(handle));
        server.adjust();
        assert_eq!(names(&server), ["a", "b"], "one still runs");
        server.leave(waiting);
        server.now = ms(10_000);
        server.adjust();
        assert_eq!(names(&server), ["a"]);
        assert_eq!(server.nominal("a"), 8, "the seats of what is gone are shared anew");
        assert_eq!(server.limit("a"), 8);
        assert!(!server.take_woken().contains(&second), "it went away");
        server.assert_idle("drained");
    }
}

#[test]
fn an_idle_level_that_is_removed_is_gone_at_once() {
    let mut server = Server::new(config(vec![queue("a"), queue("b")]), 8, Settings::default());
    let handle = server.run("b");
    server.leave(handle);
    server.configure(config(vec![queue("a")]), 8);
    assert_eq!((names(&server), server.limit("a")), (vec!["a".to_owned()], 8));
}

#[test]
fn a_level_that_comes_back_while_it_drains_goes_on_with_what_it_has() {
    let mut server = Server::new(config(vec![queue("a"), queue("b")]), 8, Settings::default());
    let running = server.runs("b", 4);
    let (id, _) = server.wait("b");
    server.configure(config(vec![queue("a")]), 8);
    server.configure(config(vec![queue("a"), queue("b")]), 8);
    assert!(!server.limits()[1].quiescing);
    running.into_iter().for_each(|handle| server.leave(handle));
    assert_eq!(server.take_woken(), [id]);
    assert_eq!(stats_of(&server, "b", "b").expect("it counts").dispatched, 5);
}

#[test]
fn a_level_that_is_added_has_its_seats_at_once() {
    let mut server = Server::new(config(vec![queue("a")]), 8, Settings::kubernetes());
    let running = server.runs("a", 8);
    server.configure(config(vec![queue("a"), queue("b")]), 8);
    assert_eq!((server.nominal("a"), server.nominal("b")), (4, 4));
    let of_b = server.runs("b", 4);
    server.wait("a");
    // Requests that run are never withdrawn, so that the limit is exceeded for a while.
    for handle in running.into_iter().take(4) {
        server.leave(handle);
        assert!(server.take_woken().is_empty());
    }
    of_b.into_iter().for_each(|handle| server.leave(handle));
}

#[test]
fn queues_grow_and_shrink_and_no_request_is_lost() {
    for settings in PROFILES {
        let sizes = [8, 1, 3, 16, 2, 8];
        let sized = |queues: u32| {
            config(vec![level("a", 10, queuing(queues, 1, 100)), level("b", 1, Handling::Reject)])
        };
        let mut server = Server::new(sized(8), 4, settings());
        let mut handles = Vec::new();
        for queues in sizes {
            server.configure(sized(queues), 4);
            for n in 0..12 {
                match server.admit_with("a", &n.to_string(), crate::support::cost(1)) {
                    Admission::Dispatched(handle) | Admission::Waiting(handle) => {
                        handles.push(handle);
                    }
                    Admission::Rejected { .. } => panic!("queues are long"),
                }
            }
            server.now = ms(server.now.0 / 1_000_000 + 5);
            for _ in 0..6 {
                let at =
                    handles.iter().position(|handle| server.verdict(handle) == Verdict::Dispatched);
                let handle = handles.remove(at.expect("four run"));
                server.leave(handle);
            }
        }
        while let Some(at) =
            handles.iter().position(|handle| server.verdict(handle) == Verdict::Dispatched)
        {
            let handle = handles.remove(at);
            server.leave(handle);
        }
        assert!(handles.is_empty(), "{} were never dispatched", handles.len());
        assert_eq!(server.level("a").view(|view| view.set.dump().queues.len()), 8);
        assert_eq!(stats_of(&server, "a", "a").expect("it counts").dispatched, 72);
        server.assert_idle("all have left");
    }
}

#[test]
fn a_schema_that_moves_to_another_level_is_counted_in_both() {
    let to = |level: usize| Config {
        schemas: vec![schema("mover", level)],
        levels: vec![queue("a"), queue("b")],
        fallback: 0,
    };
    let mut server = Server::new(to(0), 8, Settings::default());
    let before = server.run("mover");
    server.configure(to(1), 8);
    let after = server.run("mover");
    assert_eq!((&*before.destination.level.name, &*after.destination.level.name), ("a", "b"));
    let executing = |server: &Server, level| stats_of(server, level, "mover").unwrap().executing;
    assert_eq!((executing(&server, "a"), executing(&server, "b")), (1, 1));
    server.leave(before);
    server.leave(after);
    server.configure(to(0), 8);
    let again = server.run("mover");
    assert_eq!(stats_of(&server, "a", "mover").unwrap().dispatched, 2, "counts survive");
    server.leave(again);
    server.assert_idle("all have left");
}

#[test]
fn a_level_may_become_exempt_and_limited_again() {
    let with = |handling| config(vec![queue("a"), level("b", 10, handling)]);
    let mut server = Server::new(with(queuing(4, 1, 50)), 8, Settings::proposal());
    let mut handles = server.runs("b", 4);
    let waiting: Vec<_> = (0..3).map(|_| server.wait("b")).collect();
    server.configure(with(Handling::Exempt), 8);
    let ids: Vec<_> = waiting.iter().map(|(id, _)| *id).collect();
    let mut woken = server.take_woken();
    woken.sort_unstable();
    assert_eq!(woken, ids, "nobody waits in an exempt level");
    handles.extend(server.runs("b", 20));
    handles.extend(waiting.into_iter().map(|(_, handle)| handle));
    server.configure(with(queuing(4, 1, 50)), 8);
    let (id, last) = server.wait("b");
    for (left, handle) in (0..handles.len()).rev().zip(handles) {
        assert_eq!(server.verdict(&last) == Verdict::Dispatched, left + 1 < 4, "{left}");
        server.leave(handle);
    }
    assert_eq!(server.take_woken(), [id]);
    server.leave(last);
    server.assert_idle("all have left");
}

#[test]
fn a_configuration_that_can_not_be_leaves_the_old_one_in_force() {
    let mut server = Server::new(config(vec![queue("a"), queue("b")]), 8, Settings::default());
    let before = format!("{:?}", server.limits());
    let running = server.run("b");
    let none = config(vec![level("c", 0, queuing(4, 1, 50))]);
    let rejected = server.dispatcher.configure(server.now, none, 8, &mut server.woken);
    assert_eq!(rejected.expect_err("no shares").levels, 1);
    assert_eq!(format!("{:?}", server.limits()), before);
    let next = server.run("b");
    assert_eq!(&*next.destination.level.name, "b");
    [running, next].into_iter().for_each(|handle| server.leave(handle));
    assert_eq!(stats_of(&server, "b", "b").unwrap().dispatched, 2);
}

#[test]
fn counts_survive_a_swap_and_the_place_of_a_schema_that_is_gone_is_used_again() {
    let with = |names: &[&str]| Config {
        schemas: names.iter().map(|name| schema(name, 0)).collect(),
        levels: vec![queue("a")],
        fallback: 0,
    };
    let mut server = Server::new(with(&["x", "y"]), 8, Settings::default());
    let (x, y) = (server.run("x"), server.run("y"));
    server.configure(with(&["y", "z"]), 8);
    let z = server.run("z");
    let counted = |server: &Server, name| stats_of(server, "a", name).map(|s| s.dispatched);
    assert_eq!(counted(&server, "y"), Some(1));
    assert_eq!((counted(&server, "x"), counted(&server, "z")), (Some(1), Some(1)), "x still runs");
    [x, y, z].into_iter().for_each(|handle| server.leave(handle));
    server.configure(with(&["y", "w"]), 8);
    let n_schemas = server.level("a").view(|view| view.schemas().count());
    assert_eq!((counted(&server, "y"), counted(&server, "w"), n_schemas), (Some(1), Some(0), 3));
}

#[test]
fn ten_thousand_swaps_with_ever_new_names_take_no_more_memory() {
    let with = |n: usize| Config {
        schemas: vec![schema("same", 0), schema(&format!("schema-{n:06}"), 1)],
        levels: vec![queue("a"), queue(&format!("level-{n:06}"))],
        fallback: 0,
    };
    let mut server = Server::new(with(0), 8, Settings::default());
    let mut swap = |numbers: std::ops::Range<usize>| {
        for n in numbers {
            let running = [server.run("same"), server.run(&format!("schema-{n:06}"))];
            server.configure(with(n + 1), 8);
            running.into_iter().for_each(|handle| server.leave(handle));
            server.take_woken();
        }
        assert!(server.limits().len() <= 3);
    };
    swap(0..500);
    let info = allocation_counter::measure(|| swap(500..10_000));
    assert!(info.bytes_current.abs() < 16_384, "{} bytes more", info.bytes_current);
}

/// Cost must not grow with the square of the schemas, let alone their cube.
#[test]
fn ten_thousand_schemas_of_one_level_are_put_into_force_quickly() {
    let configured = |from: usize| {
        let schemas = (from..from + 10_000).map(|n| schema(&format!("user-{n}"), 0)).collect();
        Config { levels: vec![queue("all")], schemas, fallback: 0 }
    };
    let start = Instant::now();
    let dispatcher = Dispatcher::<()>::new(ms(0), configured(0), 10, Settings::default()).unwrap();
    for from in [5_000, 20_000, 0] {
        dispatcher.configure(ms(1), configured(from), 10, &mut Vec::new()).unwrap();
    }
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}
