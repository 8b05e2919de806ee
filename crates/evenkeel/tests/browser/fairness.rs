//! The page about fairness: levels, and the form by keyboard.

use fantoccini::key::Key;

use crate::{driver::Browser, folder, tab_to, up};

#[tokio::test]
async fn levels_are_shown_and_the_form_answers_by_keyboard() {
    let (_up, url, _) = up(&[]);
    let browser = Browser::start(&folder("fairness")).await;
    browser.client.goto(&url).await.unwrap();
    browser.until("return document.querySelector('h1')?.textContent === 'Cluster'").await;
    tab_to(&browser, "it.textContent === 'Fairness'").await;
    browser.press(&char::from(Key::Enter).to_string()).await;
    browser.until("return document.querySelector('h1')?.textContent === 'Fairness'").await;
    browser.until("return document.querySelectorAll('.lane-bar').length >= 8").await;
    browser.until("return document.getElementById('state').textContent === 'Live'").await;
    let levels = "return [...document.querySelectorAll('.level h3')].map((h) => h.firstChild.textContent).sort().join()";
    let levels = browser.js(levels).await;
    assert!(levels.as_str().unwrap().contains("workload-high,workload-low"), "{levels}");

    tab_to(&browser, "it.id === 'request-user'").await;
    browser.press("alice").await;
    // The page is drawn anew meanwhile; what is typed and the focus stay.
    let tab = char::from(Key::Tab).to_string();
    browser.press(&tab).await;
    tab_to(&browser, "it.id === 'request-resource'").await;
    browser.press("pods").await;
    browser.press(&char::from(Key::Enter).to_string()).await;
    let answered = "return (document.getElementById('answer')?.textContent ?? '').startsWith('FlowSchema global-default takes')";
    browser.until(answered).await;
    let query = "const q = new URLSearchParams(location.search); return q.get('user') + ' ' + q.get('resource')";
    assert_eq!(browser.js(query).await, "alice pods");
    let command = "return [...document.querySelectorAll('pre')].some((p) => p.textContent.startsWith('evenkeel fairness match --live --user=alice'))";
    assert_eq!(browser.js(command).await, true);
    // The address has it all.
    browser.client.refresh().await.unwrap();
    browser.until(answered).await;
    assert_eq!(browser.js("return document.getElementById('request-user').value").await, "alice");
    browser.must_be_legible("fairness-of-up").await;
    browser.must_be_reachable("fairness-of-up").await;
    assert_eq!(browser.complaints().await, Vec::<serde_json::Value>::new());
}
