//! Slow readers that have lost their seats.

use evenkeel_fairness::{Settings, config::Handling, dispatcher::RequestHandle, queues::Verdict};

use crate::{
    Server,
    support::{config, level, ms, queuing},
};

const MAX: u32 = 3;

/// One seat; three responses may go on without one.
fn server(handling: Handling) -> Server {
    let settings = Settings { max_detached: MAX, ..Settings::default() };
    Server::new(config(vec![level("slow", 1, handling)]), 1, settings)
}

impl Server {
    /// A request that begins to respond now and whose client reads slowly.
    fn read_slowly(&mut self) -> RequestHandle<usize> {
        let handle = self.run("slow");
        self.dispatcher.respond(self.now, &handle);
        handle
    }

    /// The hold passes.
    fn pass(&mut self) {
        self.now = ms(self.now.0 / 1_000_000 + 10_000);
        self.tick();
    }

    /// Those without seats now and ever, and the seats in use.
    fn detached(&self) -> (u32, u64, u64) {
        self.level("slow").view(|view| {
            let stats: Vec<_> = view.schemas().map(|(_, stats)| stats.clone()).collect();
            assert_eq!(u64::from(view.set.detached()), stats[0].detached);
            assert_eq!(view.set.dump().detached, view.set.detached());
            (view.set.detached(), stats[0].detached_total, view.set.seats_in_use())
        })
    }
}

#[test]
fn beyond_the_limit_a_slow_reader_keeps_its_seat() {
    let mut server = server(queuing(1, 1, 100));
    let mut slow = Vec::new();
    for n in 1..=MAX {
        slow.push(server.read_slowly());
        server.pass();
        assert_eq!(server.detached(), (n, n.into(), 0));
    }
    slow.push(server.read_slowly());
    server.pass();
    assert_eq!(server.detached(), (MAX, MAX.into(), 1), "so many and the seats, no more");
    assert_eq!(server.level("slow").deadline(), None, "time alone changes nothing");
    let (id, waiting) = server.wait("slow");
    server.pass();
    assert_eq!(server.verdict(&waiting), Verdict::Waiting);

    // One of the detached ends: the oldest of those that are overdue takes its place.
    server.leave(slow.remove(0));
    assert_eq!(server.take_woken(), [id]);
    assert_eq!(server.detached(), (MAX, u64::from(MAX) + 1, 1));
    slow.push(waiting);
    slow.into_iter().for_each(|handle| server.leave(handle));
    assert_eq!(server.detached(), (0, u64::from(MAX) + 1, 0));
    server.assert_idle("all have left");
}

#[test]
fn one_that_keeps_its_seat_frees_it_when_its_response_ends() {
    let mut server = server(queuing(1, 1, 100));
    let mut slow = Vec::new();
    for _ in 0..=MAX {
        slow.push(server.read_slowly());
        server.pass();
    }
    let (id, waiting) = server.wait("slow");
    server.leave(slow.pop().expect("the last"));
    assert_eq!(server.take_woken(), [id]);
    slow.push(waiting);
    slow.into_iter().for_each(|handle| server.leave(handle));
    server.assert_idle("all have left");
}

/// However many slow readers come.
#[test]
fn requests_under_way_are_never_more_than_seats_and_limit() {
    let mut server = server(Handling::Reject);
    let mut slow = Vec::new();
    for _ in 0..50 {
        if server.level("slow").view(|view| view.set.seats_in_use()) == 0 {
            slow.push(server.read_slowly());
        } else {
            assert!(server.rejected("slow").is_some());
        }
        server.pass();
    }
    assert_eq!(slow.len(), MAX as usize + 1);
}
