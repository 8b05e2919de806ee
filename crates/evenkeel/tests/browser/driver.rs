//! Chromium with its driver, both killed when dropped.

use std::{
    io::{BufRead as _, BufReader},
    os::unix::process::CommandExt as _,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use fantoccini::{Client, ClientBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};

/// More than anything takes on a machine with other work to do.
const PATIENCE: Duration = Duration::from_secs(60);

/// Between looks at a page that is not there yet.
const PAUSE: Duration = Duration::from_millis(20);

/// To start the driver.
const MOST_TRIES: usize = 5;

pub(crate) struct Browser {
    pub(crate) client: Client,
    /// Of this session, at the driver.
    session: String,
    _driver: Driver,
}

/// The driver and the browser that it has started, a process group of their own.
struct Driver(Child);

pub(crate) struct Killed(pub(crate) Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // Without the group, Chromium would stay.
        let group = format!("-{}", self.0.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
        let _ = self.0.wait();
    }
}

/// The driver and its address. It wants the same port for both versions of IP, and ends where another
/// process has one of them.
fn start_driver() -> Option<(Driver, String)> {
    let mut driver = Command::new("chromedriver")
        .arg("--port=0")
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("`cargo xtask test` installs it");
    let said = BufReader::new(driver.stdout.take().unwrap());
    let driver = Driver(driver);
    let port = said.lines().map_while(Result::ok).find_map(|line| {
        let (_, port) = line.split_once("started successfully on port ")?;
        Some(port.trim_end_matches('.').to_owned())
    })?;
    Some((driver, format!("http://127.0.0.1:{port}")))
}

impl Browser {
    /// `folder` is for the browser's own data.
    pub(crate) async fn start(folder: &str) -> Browser {
        let (driver, url) = (0..MOST_TRIES).find_map(|_| start_driver()).expect("a driver starts");
        let args = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--hide-scrollbars",
            &format!("--user-data-dir={folder}/data"),
        ];
        let wanted = json!({
            "goog:loggingPrefs": {"browser": "ALL"},
            "goog:chromeOptions": {"args": args},
        });
        let mut builder = ClientBuilder::new(HttpConnector::new());
        builder.capabilities(wanted.as_object().unwrap().clone());
        let client = builder.connect(&url).await.unwrap();
        let id = client.session_id().await.unwrap().unwrap();
        let browser = Browser { client, session: format!("{url}/session/{id}"), _driver: driver };
        let watch = json!({"source": include_str!("scripts/watch.js")});
        browser.devtools("Page.addScriptToEvaluateOnNewDocument", &watch);
        browser
    }

    pub(crate) async fn js(&self, script: &str) -> Value {
        self.client.execute(script, Vec::new()).await.unwrap()
    }

    /// Asks again and again until the script returns true.
    pub(crate) async fn until(&self, script: &str) {
        let begun = Instant::now();
        while self.js(script).await != Value::Bool(true) {
            let page = self.js("return location.search + document.body.innerText").await;
            assert!(begun.elapsed() < PATIENCE, "{script} never came: {page}");
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Until this page is shown, and its stream is open.
    pub(crate) async fn until_live(&self, heading: &str) {
        let heading = serde_json::to_string(heading).unwrap();
        self.until(&format!("return document.querySelector('h1')?.textContent === {heading}"))
            .await;
        self.until("return document.getElementById('state').textContent === 'Live'").await;
    }

    /// Types into what has the focus.
    pub(crate) async fn press(&self, keys: &str) {
        self.client.active_element().await.unwrap().send_keys(keys).await.unwrap();
    }

    /// What the console says, which is nothing, and what the content security policy forbade.
    pub(crate) async fn complaints(&self) -> Vec<Value> {
        let mut said = self.ask("se/log", &json!({"type": "browser"})).as_array().unwrap().clone();
        said.extend(self.js("return violations").await.as_array().unwrap().iter().cloned());
        said
    }

    /// A command of the browser's own protocol.
    pub(crate) fn devtools(&self, command: &str, arguments: &Value) -> Value {
        self.ask("goog/cdp/execute", &json!({"cmd": command, "params": arguments}))
    }

    fn ask(&self, path: &str, body: &Value) -> Value {
        let (url, body) = (format!("{}/{path}", self.session), body.to_string());
        let args = ["-s", "--max-time", "60", "--json", &body, &url];
        let output = Command::new("curl").args(args).output().unwrap();
        let mut answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(answer["value"]["error"].is_null(), "{body}: {answer}");
        answer["value"].take()
    }
}
