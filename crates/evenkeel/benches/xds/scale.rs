//! Thousands of proxies connect, and one endpoint changes again and again.

use std::{thread::sleep, time::Duration};

use crate::{
    fleet::Fleet,
    load::{
        Failure,
        server::Folder,
        table::{Figure, grouped},
    },
    mesh::Mesh,
    plane::Plane,
    quantile::{bounded, millis, now, plain, quantile},
};

pub(crate) struct Goals {
    pub(crate) first_push: Option<(&'static str, f64)>,
    /// From the change to the last acknowledgement, p99 of all changes, in milliseconds.
    pub(crate) change: (&'static str, f64),
    /// In megabytes.
    pub(crate) memory: (&'static str, f64),
    pub(crate) changes: usize,
}

/// Between two changes.
const PAUSE: Duration = Duration::from_millis(100);

// === impl Goals ===

impl Goals {
    pub(crate) const TWO_THOUSAND: Goals = Goals {
        first_push: Some(("15 s", 15.0)),
        change: ("100 ms", 100.0),
        memory: ("200 MB", 200.0),
        changes: 100,
    };
    pub(crate) const TEN_THOUSAND: Goals = Goals {
        first_push: None,
        change: ("1 s", 1_000.0),
        memory: ("600 MB", 600.0),
        changes: 30,
    };
}

pub(crate) fn run(name: &str, mesh: &Mesh, goals: &Goals) -> Result<Vec<Figure>, Failure> {
    let folder = Folder::new(name)?;
    let plane = Plane::start(&folder, mesh)?;
    let read = plane.usage()?;
    let of = |what: &str| format!("{} proxies: {what}", grouped(mesh.proxies as f64));
    let mut figures = vec![plain(
        of(&format!("{} Dataplanes read", grouped((mesh.services * mesh.instances) as f64))),
        format!("{:.2} s, CPU {:.2} s, {:.0} MB", plane.ready.as_secs_f64(), read.cpu, read.memory),
    )];

    let begun = now();
    let mut fleet = Fleet::start(&plane, 0, mesh.proxies, 0)?;
    let took = fleet.ready()?.saturating_sub(begun).as_secs_f64();
    let pushed = plane.usage()?;
    let sent = plane.metric("evenkeel_xds_sent_bytes_total")? / 1e6;
    let here = format!("{took:.2} s, CPU {:.2} s, {sent:.0} MB sent", pushed.cpu - read.cpu);
    figures.push(match goals.first_push {
        Some(target) => bounded(of("first push of all"), here, took, target),
        None => plain(of("first push of all"), here),
    });

    let changes = changes(&plane, &mut fleet, goals.changes)?;
    let mut last = changes.last.clone();
    let p99 = quantile(&mut last, 99);
    let here = format!("p50 {:.1}, p99 {p99:.1} ms", quantile(&mut last, 50));
    figures.push(bounded(of("change to last ACK"), here, p99, goals.change));
    let mut all = changes.all;
    let here = format!("p50 {:.1}, p99 {:.1} ms", quantile(&mut all, 50), quantile(&mut all, 99));
    figures.push(plain(of("change to each ACK"), here));
    let mut computed = changes.computed;
    let here = format!(
        "p50 {:.1}, p99 {:.1} ms",
        quantile(&mut computed, 50),
        quantile(&mut computed, 99)
    );
    figures.push(plain(of("… of it until computed"), here));
    let n = goals.changes as f64;
    let here = format!(
        "{:.1} ms, of the clients {:.1} ms",
        changes.cpu / n * 1e3,
        changes.cpu_of_clients / n * 1e3
    );
    figures.push(plain(of("CPU for a change"), here));

    let usage = plane.usage()?;
    let here = format!("{:.0} MB, at most {:.0} MB", usage.memory, usage.peak);
    figures.push(bounded(of("memory"), here, usage.peak, goals.memory));
    Ok(figures)
}

/// What a row of changes cost. Times in milliseconds, CPU in seconds.
pub(crate) struct Changes {
    pub(crate) all: Vec<f64>,
    pub(crate) last: Vec<f64>,
    computed: Vec<f64>,
    cpu: f64,
    cpu_of_clients: f64,
}

/// One change after the other, each acknowledged by all before the next one.
pub(crate) fn changes(plane: &Plane, fleet: &mut Fleet, n: usize) -> Result<Changes, Failure> {
    let (before, of_clients) = (plane.usage()?.cpu, fleet.usage()?.cpu);
    let (mut all, mut last) = (Vec::new(), Vec::new());
    for change in 0..n {
        sleep(PAUSE);
        fleet.arm()?;
        let begun = now();
        plane.change(change % 2 == 1)?;
        let acked = fleet.acked()?;
        let took = acked.times.iter().map(|time| millis(time.saturating_sub(begun)));
        all.extend(took);
        last.extend(all.last().copied());
    }
    let (cpu, cpu_of_clients) = (plane.usage()?.cpu - before, fleet.usage()?.cpu - of_clients);
    let computed = plane.propagation()?;
    let computed = computed.iter().take(n).filter_map(|change| change["computed"].as_f64());
    Ok(Changes { all, last, computed: computed.collect(), cpu, cpu_of_clients })
}
