//! The pages about the mesh of `evenkeel up --mesh`.

use std::{fs, path::Path, process::Command, time::Instant};

use serde_json::{Value, json};

use crate::{Key, driver::Browser, folder, process::up, tab_to};

const MESH: [&str; 5] =
    ["--mesh", "--xds-listen", "127.0.0.1:0", "--xds-admin-listen", "127.0.0.1:0"];

const POLICY: &str = "
apiVersion: kuma.io/v1alpha1
kind: MeshLoadBalancingStrategy
metadata: {name: all-alike, namespace: shop, labels: {kuma.io/mesh: default}}
spec:
  targetRef: {kind: Dataplane, name: client-a}
  to:
  - targetRef: {kind: MeshService, name: backend}
    default: {localityAwareness: {disabled: true}}
";

/// What `evenkeel mesh inspect` prints of the same proxy.
fn inspect(kubeconfig: &str) -> Value {
    let folder = Path::new(kubeconfig).parent().unwrap();
    let components = fs::read_to_string(folder.join("components.json")).unwrap();
    let components: Value = serde_json::from_str(&components).unwrap();
    let mesh = components.as_array().unwrap().iter().find(|one| one["name"] == "mesh").unwrap();
    let printed = Command::new(env!("CARGO_BIN_EXE_evenkeel"))
        .args(["mesh", "inspect", "client-a.shop", "-o", "json", "--control-plane-admin"])
        .arg(mesh["address"].as_str().unwrap())
        .output()
        .unwrap();
    serde_json::from_slice(&printed.stdout).unwrap()
}

/// Shares of the first destination as `inspect` has them, in its order on the page: by zone and locality.
fn shares(inspected: &Value) -> Vec<String> {
    let to = &inspected["destinations"][0];
    let own = &to["place"]["zone"];
    let mut groups: Vec<&Value> = to["groups"].as_array().unwrap().iter().collect();
    groups.sort_by_key(|group| {
        let text = |field: &str| group[field].as_str().map(str::to_owned);
        (group["priority"].as_u64(), group["zone"] != *own, text("zone"), text("subZone"))
    });
    let share = |group: &Value| (group["share"].as_f64().unwrap() * 1000.0).round() / 10.0;
    groups.into_iter().map(|group| format!("{} %", share(group))).collect()
}

#[tokio::test]
async fn the_mesh_and_a_proxy_by_keyboard_alone_and_a_policy_by_kubectl() {
    let (_up, url, kubeconfig) = up(&MESH);
    let browser = Browser::start(&folder("mesh")).await;
    browser.client.goto(&url).await.unwrap();
    browser.until("return document.querySelector('h1')?.textContent === 'Cluster'").await;
    tab_to(&browser, "it.textContent === 'Mesh'").await;
    browser.press(&char::from(Key::Enter).to_string()).await;
    let sentence = "No proxy is connected: 7 Dataplanes wait for one.";
    browser
        .until(&format!("return document.querySelector('.sentence')?.textContent === '{sentence}'"))
        .await;
    assert_eq!(
        browser.js("return document.querySelector('[aria-current]').textContent").await,
        "Mesh"
    );
    let policies = "return document.body.textContent.includes('default/backend.shop')";
    browser.until(policies).await;

    tab_to(&browser, "it.textContent === 'default/client-a.shop'").await;
    browser.press(&char::from(Key::Enter).to_string()).await;
    browser
        .until("return document.querySelector('h1')?.textContent === 'default/client-a.shop'")
        .await;
    let shown = "const table = [...document.querySelectorAll('table')]\
        .find((t) => t.caption.textContent.startsWith('Priorities'));\
        return [...table.querySelectorAll('tbody tr')].map((r) => r.cells[5].firstChild.firstChild.textContent);";
    assert_eq!(browser.js(shown).await, json!(shares(&inspect(&kubeconfig))));
    assert_eq!(browser.js("return document.querySelectorAll('.drawing').length >= 2").await, true);
    browser.must_be_legible("mesh-proxy").await;
    browser.must_be_reachable("mesh-proxy").await;

    let file = format!("{}/policy.yaml", folder("mesh-policy"));
    fs::write(&file, POLICY).unwrap();
    let applied = Command::new("kubectl")
        .args(["--kubeconfig", &kubeconfig, "apply", "-f", &file])
        .env("HOME", env!("CARGO_TARGET_TMPDIR"))
        .output()
        .unwrap();
    assert!(applied.status.success(), "{}", String::from_utf8_lossy(&applied.stderr));
    let begun = Instant::now();
    browser
        .until("return document.getElementById('main').textContent.includes('all-alike.shop')")
        .await;
    println!("shown {:?} after kubectl ended", begun.elapsed());
    assert_eq!(browser.js(shown).await, json!(shares(&inspect(&kubeconfig))));
    browser.client.back().await.unwrap();
    browser.until("return document.body.textContent.includes('default/all-alike.shop')").await;
    browser.must_be_legible("mesh").await;
    browser.must_be_reachable("mesh").await;
    assert_eq!(browser.complaints().await, Vec::<Value>::new());
}

#[tokio::test]
async fn without_a_mesh_the_page_says_how_to_get_one() {
    let (_up, url, _) = up(&[]);
    let browser = Browser::start(&folder("no-mesh")).await;
    browser.client.goto(&url).await.unwrap();
    browser.until("return document.querySelector('h1')?.textContent === 'Cluster'").await;
    let (base, _) = url.split_once("/#").unwrap();
    browser.client.goto(&format!("{base}/mesh")).await.unwrap();
    browser
        .until("return document.querySelector('pre')?.textContent.includes('evenkeel up --mesh')")
        .await;
    assert_eq!(browser.complaints().await, Vec::<Value>::new());
}
