//! The dashboard of a large cluster in a real Chromium: `cargo xtask bench dashboard`.
//!
//! `evenkeel dashboard` reads 5,000 Services with 10,000 endpoints on 300 nodes from an API that serves
//! what it is given. The page about the cluster is loaded anew and again, and then kept open while
//! endpoints of the Service at its top come and go. Times in the page are the browser's own
//! (`performance`); a frame is there when its layout and paint are done. A number as argument is another
//! number of Services. A run takes a minute or two.

#![expect(clippy::print_stdout, reason = "a program that prints its figures")]
#![expect(clippy::unwrap_used, reason = "shared with tests")]

#[path = "../../tests/browser/api.rs"]
mod api;
#[path = "../../tests/browser/clusters.rs"]
#[expect(dead_code, reason = "the tests look at more clusters")]
mod clusters;
#[path = "../../tests/browser/driver.rs"]
#[expect(dead_code, reason = "the tests do more")]
mod driver;
#[path = "../../tests/browser/process.rs"]
#[expect(dead_code, reason = "the tests start more")]
mod process;
#[path = "../load/table.rs"]
mod table;

use std::{
    env, fs,
    time::{Duration, Instant, SystemTime},
};

use serde_json::{Value, json};
use tokio::time::sleep;

use crate::{
    api::Api,
    driver::Browser,
    process::{dashboard, folder},
    table::{Figure, grouped},
};

const SERVICES: usize = 5000;
const LOADS: usize = 10;
const CHANGES: usize = 20;
/// For one change to be drawn.
const PATIENCE: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_millis(20);

fn main() {
    // Cargo adds `--bench`.
    let number = env::args().skip(1).find_map(|word| word.parse().ok());
    let services = number.unwrap_or(SERVICES);
    let before = load_of_machine();
    // One thread: the dashboard and the browser have need of the others.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let figures = runtime.block_on(run(services));
    println!(
        "\n{} Services, {} endpoints",
        grouped(services as f64),
        grouped(2.0 * services as f64)
    );
    table::print("", &figures);
    println!("\nload of the machine: {before} before, {} after", load_of_machine());
}

async fn run(services: usize) -> Vec<Figure> {
    let folder = folder("bench-dashboard");
    let api = Api::start(clusters::many(services));
    let started = Instant::now();
    let (_dashboard, url) = dashboard(&api, &folder);
    let browser = Browser::start(&folder).await;
    browser.client.goto(&url).await.unwrap();
    browser.until_live("Cluster").await;
    let shown = started.elapsed().as_secs_f64() * 1e3;
    let mut figures = vec![figure("from the start to the first page", &[shown], None)];
    figures.extend(loads(&browser).await);
    figures.extend(changes(&browser, &api).await);
    let elements = browser.js("return document.querySelectorAll('main *').length").await;
    println!("elements of the page: {elements}");
    figures
}

async fn loads(browser: &Browser) -> [Figure; 2] {
    let (mut painted, mut complete) = (Vec::new(), Vec::new());
    for _ in 0..LOADS {
        browser.client.refresh().await.unwrap();
        browser.until("return performance.getEntriesByName('frame').length > 0").await;
        let times = "return [performance.getEntriesByName('first-contentful-paint')[0].startTime, \
                     performance.getEntriesByName('frame')[0].startTime]";
        let [paint, frame] = numbers(&browser.js(times).await);
        painted.push(paint);
        complete.push(frame);
    }
    [
        figure("load: first paint", &painted, Some(("1 s", 1000.0))),
        figure("load: the page is complete", &complete, Some(("1 s", 1000.0))),
    ]
}

/// The number of ready endpoints of the first Service changes.
async fn changes(browser: &Browser, api: &Api) -> [Figure; 4] {
    let mut times = [const { Vec::new() }; 4];
    for i in 0..CHANGES {
        browser.js("performance.clearMarks(); performance.clearResourceTimings()").await;
        let zones = ["zone-a", "zone-b", "zone-c"];
        let [_, slice] = clusters::service("shop", "service-0000", &zones[..1 + i % 2]);
        let since = SystemTime::UNIX_EPOCH;
        let at = SystemTime::now().duration_since(since).unwrap().as_secs_f64() * 1e3;
        api.change(slice);
        let seen = after_frame(browser).await;
        let [origin, event, asked, answered, frame] = numbers(&seen);
        let taken = [origin + frame - at, frame - event, answered - asked, frame - answered];
        for (all, one) in times.iter_mut().zip(taken) {
            all.push(one);
        }
    }
    let [all, event, request, frame] = times;
    [
        figure("update: from the change to the frame", &all, Some(("200 ms", 200.0))),
        figure("… from the event to the frame", &event, None),
        figure("… of which the request", &request, None),
        figure("… of which script, layout and paint", &frame, Some(("100 ms", 100.0))),
    ]
}

/// When the last event came, its request began and ended, and its frame was there.
async fn after_frame(browser: &Browser) -> Value {
    let begun = Instant::now();
    let last = "const last = (name) => performance.getEntriesByName(name).at(-1); \
                const frame = last('frame'); if (!frame) return null; \
                const request = last(location.origin + '/api/cluster'); \
                return [performance.timeOrigin, last('event').startTime, request.startTime, \
                        request.responseEnd, frame.startTime]";
    loop {
        let seen = browser.js(last).await;
        if seen != json!(null) {
            return seen;
        }
        assert!(begun.elapsed() < PATIENCE, "the change was not drawn");
        sleep(PAUSE).await;
    }
}

fn numbers<const N: usize>(value: &Value) -> [f64; N] {
    let all = value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap());
    all.collect::<Vec<f64>>().try_into().unwrap()
}

/// The median and the most of some milliseconds. A target is for the most.
fn figure(what: &str, times: &[f64], target: Option<(&'static str, f64)>) -> Figure {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (median, most) = (sorted[sorted.len() / 2], sorted[sorted.len() - 1]);
    let here = match times.len() {
        1 => format!("{most:.0} ms"),
        n => format!("p50 {median:.0} ms, most of {n}: {most:.0} ms"),
    };
    Figure {
        what: what.to_owned(),
        here,
        target: target.map_or("", |(text, _)| text),
        kubernetes: "",
        met: target.is_none_or(|(_, bound)| most < bound),
    }
}

/// Runnable tasks, averaged over the last minute: what else ran spoils the figures.
fn load_of_machine() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or_default().to_owned()
}
