//! The dashboard's page about fairness beside a server whose seats somebody takes: it says who waits for
//! whom, and that all is well afterwards.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::{
    alone::turn,
    rig::{caller, caller::Caller, server::Server, work::Work},
    seats::{Narrow, PATH, SEATS, hostile, peer},
};

const PATIENCE: Duration = Duration::from_secs(60);
/// Long enough that requests wait whenever the page reads.
const HOLD: Duration = Duration::from_secs(1);
/// Of the hostile: more than there are seats.
const CONNECTIONS: usize = 16;

/// `evenkeel dashboard`, killed when this is dropped, and what it takes to read its pages.
struct Dashboard {
    child: Child,
    base: String,
    cookie: String,
}

impl Drop for Dashboard {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Dashboard {
    fn start(server: &Server) -> Dashboard {
        let mut child = Command::new(env!("CARGO_BIN_EXE_evenkeel"))
            .args(["dashboard", "--listen", "127.0.0.1:0", "--kubeconfig"])
            .arg(server.kubeconfig())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let (base, token) = line.trim_start_matches("dashboard: ").split_once("/#token=").unwrap();
        let (login, origin) = (format!("{base}/api/login"), format!("Origin: {base}"));
        let head = curl(&["-D", "-", "-H", &origin, "--data-raw", token.trim(), &login]);
        let cookie = head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
        let cookie = format!("Cookie: {}", cookie.split(';').next().unwrap());
        Dashboard { child, base: base.to_owned(), cookie }
    }

    /// Asks again and again until `is_so`.
    async fn eventually(&self, is_so: impl Fn(&Value, &Value) -> bool) -> (Value, Value) {
        let begun = Instant::now();
        loop {
            let (cookie, url) = (self.cookie.clone(), format!("{}/api/fairness", self.base));
            let text = tokio::task::spawn_blocking(move || curl(&["-H", &cookie, &url]));
            let page: Value = serde_json::from_str(&text.await.unwrap()).unwrap_or_default();
            let lanes = page["lanes"].as_array().map(Vec::as_slice).unwrap_or_default();
            let lane = lanes.iter().find(|lane| lane["level"] == "narrow");
            let lane = lane.cloned().unwrap_or_default();
            if is_so(&page, &lane) {
                return (page, lane);
            }
            assert!(begun.elapsed() < PATIENCE, "it stayed {page:#}");
        }
    }
}

fn curl(args: &[&str]) -> String {
    let output = Command::new("curl").args(["-s", "--max-time", "20"]).args(args).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_says_who_waits_for_whom() {
    let _turn = turn().await;
    let narrow = Narrow::start("dashboard", &[]).await;
    let dashboard = Dashboard::start(&narrow.server);
    let (page, lane) = dashboard.eventually(|_, lane| lane["used"]["value"] == 0.0).await;
    assert_eq!(lane["nominal"]["value"], SEATS, "{page:#}");

    let holds = |user| {
        let work = Work::create(PATH, r#"{"metadata":{"name":"new-{n}"}}"#);
        Caller::new(user, work).slowly(HOLD)
    };
    let mut callers = holds(hostile()).times(CONNECTIONS);
    callers.push(holds(peer()));
    let load = caller::load(&narrow.server, callers).await;
    let is_full = |page: &Value, lane: &Value| {
        let sentence = page["sentence"].as_str().unwrap_or_default();
        let held = lane["held"].as_str().unwrap_or_default();
        lane["state"] == "full"
            && sentence.starts_with("narrow is full: ")
            && sentence.contains("user “mallory” has ")
            && held.contains(" of user “mallory”")
            && held.contains("Seats are held by: ")
    };
    let (page, lane) = dashboard.eventually(is_full).await;
    println!("{}\n{}", page["sentence"], lane["held"]);
    assert_eq!(
        (&lane["used"]["value"], &lane["used"]["basis"]),
        (&SEATS.into(), &"measured".into())
    );
    let flows = page["flows"].as_array().unwrap();
    let elephant = flows.iter().find(|flow| flow["flow"] == "user “mallory”").unwrap();
    let waiting = elephant["waiting"]["value"].as_f64().unwrap();
    assert!((1.0..CONNECTIONS as f64).contains(&waiting), "{flows:#?}");
    assert!(elephant["longest"]["value"].as_f64().unwrap() < PATIENCE.as_secs_f64(), "{flows:#?}");
    let maps = page["queues"]["maps"].as_array().unwrap();
    assert!(maps.iter().any(|map| map["level"] == "narrow"), "{maps:#?}");

    drop(load);
    let is_idle = |page: &Value, lane: &Value| {
        lane["used"]["value"] == 0.0 && lane["waiting"]["value"] == 0.0 && page["flows"].is_array()
    };
    let (page, _) = dashboard.eventually(is_idle).await;
    let sentence = page["sentence"].as_str().unwrap();
    assert!(sentence.starts_with("All requests are served at once"), "{sentence}");
}
