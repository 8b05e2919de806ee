//! The dashboard in a real Chromium: that of `evenkeel up` by keyboard alone and with a change through
//! `kubectl`, and its pages of clusters that are always the same.
//!
//! `EVENKEEL_SCREENSHOTS=FOLDER` keeps a picture of each page in both themes and sizes; `UPDATE_GOLDEN=1`
//! accepts what a screen reader is told.

#![expect(clippy::unwrap_used, reason = "tests")]

mod api;
mod clusters;
mod driver;
mod elephant;
mod fairness;
mod look;
mod mesh;
mod numbers;
mod pages;
mod process;

use std::{
    process::Command,
    time::{Duration, Instant},
};

use fantoccini::key::Key;

use self::{
    driver::Browser,
    process::{folder, up},
};

/// Presses Tab until the script says that the focus is where it should be.
async fn tab_to(browser: &Browser, script: &str) {
    for _ in 0..60 {
        if browser.js(&format!("const it = document.activeElement; return {script}")).await == true
        {
            return;
        }
        browser.press(&char::from(Key::Tab).to_string()).await;
    }
    panic!("{script} is not reached by keyboard");
}

#[tokio::test]
async fn a_service_and_a_what_if_by_keyboard_alone() {
    let (_up, url, _) = up(&[]);
    let browser = Browser::start(&folder("keyboard")).await;
    browser.client.goto(&url).await.unwrap();
    browser.until("return document.querySelector('h1')?.textContent === 'Cluster'").await;
    assert_eq!(browser.js("return location.hash + document.cookie").await, "");
    browser.until("return document.getElementById('state').textContent === 'Live'").await;
    browser.until("return document.querySelectorAll('.ribbon.cross').length > 0").await;
    let labelled = "return document.querySelectorAll('.label').length === document.querySelectorAll('.ribbon.cross').length";
    assert_eq!(browser.js(labelled).await, true, "what crosses zones is labelled, too");
    browser.must_be_legible("up").await;

    tab_to(&browser, "it.tagName === 'A' && it.textContent === 'shop/cart'").await;
    browser.press(&char::from(Key::Enter).to_string()).await;
    browser.until("return document.querySelector('h1')?.textContent === 'shop/cart'").await;
    tab_to(&browser, "it.id === 'policy'").await;
    browser.press("PreferSameZone").await;
    browser
        .until("return new URLSearchParams(location.search).get('policy') === 'PreferSameZone'")
        .await;
    let shown = "return [...document.querySelectorAll('h3')].some((h) => h.textContent === 'Then: policy PreferSameZone')";
    browser.until(shown).await;
    browser.until("return document.activeElement.id === 'policy'").await;
    browser.until("return document.querySelector('pre').textContent.startsWith('kubectl patch svc cart -n shop ')").await;
    // The address has it all.
    browser.client.refresh().await.unwrap();
    browser.until(shown).await;
    browser.client.back().await.unwrap();
    browser.until("return document.querySelectorAll('h3').length === 1").await;

    assert_eq!(browser.complaints().await, Vec::<serde_json::Value>::new());
}

#[tokio::test]
async fn a_change_by_kubectl_is_shown() {
    let (_up, url, kubeconfig) = up(&[]);
    let browser = Browser::start(&folder("change")).await;
    browser.client.goto(&url).await.unwrap();
    browser.until("return document.querySelector('h1')?.textContent === 'Cluster'").await;
    let (base, _) = url.split_once("/#").unwrap();
    browser.client.goto(&format!("{base}/?namespace=shop&name=payments")).await.unwrap();
    let policy = |text: &str| {
        format!(
            "return (document.querySelector('.fact dd')?.textContent ?? '').startsWith('{text}')"
        )
    };
    browser.until(&policy("none")).await;
    browser.until("return document.getElementById('state').textContent === 'Live'").await;
    let patch = r#"{"spec":{"trafficDistribution":"PreferSameZone"}}"#;
    let patched = Command::new("kubectl")
        .args(["--kubeconfig", &kubeconfig, "patch", "svc", "payments", "-n", "shop", "-p", patch])
        .env("HOME", env!("CARGO_TARGET_TMPDIR"))
        .output()
        .unwrap();
    assert!(patched.status.success(), "{}", String::from_utf8_lossy(&patched.stderr));
    let begun = Instant::now();
    browser.until(&policy("PreferSameZone")).await;
    println!("shown {:?} after kubectl ended", begun.elapsed());
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert_eq!(browser.complaints().await, Vec::<serde_json::Value>::new());
}

#[tokio::test]
async fn without_the_token_nothing_is_shown() {
    let (_up, url, _) = up(&[]);
    let browser = Browser::start(&folder("stranger")).await;
    let (base, _) = url.split_once("/#").unwrap();
    browser.client.goto(&format!("{base}/#token=0")).await.unwrap();
    browser.until("return document.getElementById('state').textContent === 'Not signed in'").await;
    let text = browser.js("return document.getElementById('main').innerText").await;
    assert!(text.as_str().unwrap().starts_with("Open the address that the dashboard printed"));
}
