//! Proxies that ask for everything and never read, while others go on.

use std::{thread::sleep, time::Duration};

use crate::{
    fleet::Fleet,
    load::{Failure, server::Folder, table::Figure},
    mesh::Mesh,
    plane::Plane,
    quantile::{bounded, plain, quantile},
    scale,
};

/// Each is sent some hundreds of kilobytes, more than all buffers on the way hold.
const MESH: Mesh = Mesh { services: 400, instances: 1, proxies: 400, calls: 200, alike: false };
const READING: usize = 200;
const STALLED: usize = 200;
const CHANGES: usize = 100;
/// Of what one costs that reads.
const MEMORY: (&str, f64) = ("1.5 times", 1.5);
/// In megabytes, by as many changes again as are followed one by one.
const GROWTH: (&str, f64) = ("4 MB", 4.0);

pub(crate) fn run(name: &str) -> Result<Vec<Figure>, Failure> {
    let folder = Folder::new(name)?;
    let plane = Plane::start(&folder, &MESH)?;
    let empty = plane.usage()?.memory;
    let mut fleet = Fleet::start(&plane, 0, READING, 0)?;
    fleet.ready()?;
    let alone = scale::changes(&plane, &mut fleet, CHANGES)?;
    let before = plane.usage()?.memory;

    let stalled = Fleet::start(&plane, READING, 0, STALLED)?;
    while plane.metric("evenkeel_xds_connected_proxies")? < (READING + STALLED) as f64 {
        sleep(Duration::from_millis(20));
    }
    let beside = scale::changes(&plane, &mut fleet, 3 * CHANGES)?;
    let with = plane.usage()?.memory;
    scale::changes(&plane, &mut fleet, 3 * CHANGES)?;
    let later = plane.usage()?.memory;
    drop(stalled);

    let reading = (before - empty) / READING as f64;
    let each = (with - before) / STALLED as f64;
    let here = format!("{each:.3} MB; of each other {reading:.3} MB");
    let of = |what: &str| format!("{STALLED} of {} proxies never read: {what}", READING + STALLED);
    let times = |mut last: Vec<f64>| {
        format!("p50 {:.1}, p99 {:.1} ms", quantile(&mut last, 50), quantile(&mut last, 99))
    };
    Ok(vec![
        bounded(of("memory of each"), here, each / reading, MEMORY),
        bounded(
            of(&format!("memory after {} more changes", 3 * CHANGES)),
            format!("{:+.1} MB", later - with),
            later - with,
            GROWTH,
        ),
        plain(of("change to last ACK of the others, before"), times(alone.last)),
        plain(of("… beside them"), times(beside.last)),
    ])
}
