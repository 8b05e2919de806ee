//! Every page, of clusters that are always the same: legible, accessible, and without a complaint.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    api::Api,
    clusters::{self, SCRIPT},
    driver::{Browser, Killed},
    elephant,
    look::golden,
    process::{dashboard, folder},
};

/// A page to look at. A new one is one line below.
struct Page {
    name: &'static str,
    path: &'static str,
    heading: &'static str,
}

const fn page(name: &'static str, path: &'static str, heading: &'static str) -> Page {
    Page { name, path, heading }
}

/// Of `examples/three-zones`.
const SAMPLE: &[Page] = &[
    page("cluster", "/", "Cluster"),
    page("service", "/?namespace=shop&name=search", "shop/search"),
    page("what-if", "/?namespace=shop&name=cart&policy=PreferSameZone&lose=zone-a", "shop/cart"),
];

const BALANCED: &[Page] = &[
    page("balanced", "/?namespace=shop&name=cart", "shop/cart"),
    page("zone-lost", "/?namespace=shop&name=cart&lose=zone-a", "shop/cart"),
];

const TWELVE_ZONES: &[Page] = &[
    page("twelve-zones", "/", "Cluster"),
    page("matrix", "/?namespace=shop&name=web", "shop/web"),
];

const HOSTILE: &[Page] = &[
    page("hostile", "/", "Cluster"),
    page("hostile-service", "/?namespace=shop&name=web", "shop/web"),
];

/// A dashboard that somebody has signed in to.
struct Open {
    browser: Browser,
    base: String,
    api: Api,
    _dashboard: Killed,
}

impl Open {
    async fn start(test: &str, objects: Vec<Value>) -> Open {
        Open::of(test, Api::start(objects)).await
    }

    async fn of(test: &str, api: Api) -> Open {
        let folder = folder(test);
        let (child, url) = dashboard(&api, &folder);
        let browser = Browser::start(&folder).await;
        browser.client.goto(&url).await.unwrap();
        browser.until_live("Cluster").await;
        // Before the cluster has been read, the answer is 503, which browsers tell.
        let early = browser.complaints().await;
        let is_early =
            |said: &Value| said["message"].as_str().is_some_and(|it| it.contains(" 503 "));
        assert!(early.iter().all(is_early), "{early:?}");
        let (base, _) = url.split_once("/#").unwrap();
        Open { browser, base: base.to_owned(), api, _dashboard: child }
    }

    async fn show(&self, page: &Page) {
        self.browser.client.goto(&format!("{}{}", self.base, page.path)).await.unwrap();
        self.browser.until_live(page.heading).await;
    }

    async fn must_be_legible(&self, pages: &[Page]) {
        for page in pages {
            self.show(page).await;
            self.browser.must_be_legible(page.name).await;
            assert_eq!(self.browser.complaints().await, Vec::<Value>::new(), "{}", page.name);
        }
    }

    /// Event streams that are open. Nothing else stays connected for long.
    fn streams(&self) -> usize {
        let port: u16 = self.base.rsplit(':').next().unwrap().parse().unwrap();
        let own = format!("0100007F:{port:04X}");
        let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
        let is_open = |line: &&str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            words.get(1) == Some(&own.as_str()) && words.get(3) == Some(&"01")
        };
        table.lines().filter(is_open).count()
    }
}

#[tokio::test]
async fn pages_of_the_sample_are_legible_and_accessible() {
    let open = Open::start("sample", clusters::three_zones()).await;
    open.must_be_legible(SAMPLE).await;
    for page in SAMPLE {
        open.show(page).await;
        golden(&format!("{}.txt", page.name), &open.browser.accessible());
        open.browser.must_be_reachable(page.name).await;
    }
}

#[tokio::test]
async fn balanced_and_a_lost_zone_are_legible() {
    let open = Open::start("balanced", clusters::balanced()).await;
    open.must_be_legible(BALANCED).await;
    open.show(&BALANCED[0]).await;
    let sentence = open.browser.js("return document.querySelector('.sentence').textContent").await;
    assert!(sentence.as_str().unwrap().starts_with("83.3 % of traffic stays"), "{sentence}");
}

#[tokio::test]
async fn twelve_zones_are_a_matrix_that_is_legible() {
    let open = Open::start("matrix", clusters::zones(12)).await;
    open.must_be_legible(TWELVE_ZONES).await;
    let cells = open.browser.js("return document.querySelectorAll('.matrix td').length").await;
    assert_eq!(cells, 144);
}

#[tokio::test]
async fn an_elephant_among_mice_is_named_and_legible() {
    let objects = [clusters::three_zones(), elephant::objects()].concat();
    let open = Open::of("elephant", Api::with_texts(objects, elephant::texts())).await;
    let page = page("fairness", "/fairness", "Fairness");
    open.show(&page).await;
    let sentence = "document.querySelector('.sentence')?.textContent";
    let is_full = format!("return {sentence}?.startsWith('workload-low is full') ?? false");
    open.browser.until(&is_full).await;
    let sentence = open.browser.js(&format!("return {sentence}")).await;
    let who = format!("user “{}” has 83.3 % of the waiting requests", elephant::ELEPHANT);
    assert!(sentence.as_str().unwrap().contains(&who), "{sentence}");
    open.must_be_legible(&[page]).await;
    open.browser.must_be_reachable("fairness").await;
}

#[tokio::test]
async fn hostile_names_are_text_and_stay_in_their_place() {
    let open = Open::start("hostile", clusters::hostile()).await;
    for page in HOSTILE {
        open.show(page).await;
        let made =
            "return document.querySelectorAll('main :is(script, img, iframe, [onerror])').length";
        assert_eq!(open.browser.js(made).await, 0, "{}", page.name);
        let text = open.browser.js("return document.body.innerText").await;
        let text = text.as_str().unwrap();
        assert!(text.contains(&SCRIPT[..20]), "{}: it is shown", page.name);
        assert!(!text.contains('\u{202e}'), "{}: nothing turns around", page.name);
        let title = open.browser.js("return document.title").await;
        assert!(title.as_str().unwrap().ends_with("Evenkeel"), "{title}");
    }
    open.must_be_legible(HOSTILE).await;
}

#[tokio::test]
async fn a_tab_that_is_hidden_closes_its_stream() {
    let open = Open::start("hidden", clusters::balanced()).await;
    let until = async |wanted: usize| {
        for _ in 0..500 {
            if open.streams() == wanted {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("{} streams instead of {wanted}", open.streams());
    };
    until(1).await;
    open.browser.client.minimize_window().await.unwrap();
    open.browser.until("return document.hidden").await;
    open.browser.until("return document.getElementById('state').textContent === 'Paused'").await;
    until(0).await;
    open.browser.client.maximize_window().await.unwrap();
    open.browser.until_live("Cluster").await;
    until(1).await;
}

#[tokio::test]
async fn a_change_is_drawn_soon_after_its_event() {
    let open = Open::start("soon", clusters::balanced()).await;
    open.show(&BALANCED[0]).await;
    let paint = "return performance.getEntriesByName('first-contentful-paint')[0].startTime";
    let drawn = "return performance.getEntriesByName('frame')[0].startTime";
    let (paint, drawn) = (open.browser.js(paint).await, open.browser.js(drawn).await);
    open.browser.js("performance.clearMarks()").await;
    let [_, slice] = clusters::service("shop", "cart", &["zone-a", "zone-b", "zone-c"]);
    open.api.change(slice);
    open.browser.until("return performance.getEntriesByName('frame').length > 0").await;
    let took = "const [event] = performance.getEntriesByName('event'); \
                return performance.getEntriesByName('frame').at(-1).startTime - event.startTime";
    let took = open.browser.js(took).await;
    println!("first paint {paint} ms, page drawn {drawn} ms, event to frame {took} ms");
    for (what, given) in [("paint", paint), ("drawn", drawn), ("event to frame", took)] {
        assert!(given.as_f64().unwrap() < 5000.0, "{what}: {given} ms");
    }
}

#[tokio::test]
async fn five_thousand_services_are_drawn_with_few_elements() {
    let open = Open::start("many", clusters::many(5000)).await;
    open.must_be_legible(&[page("many", "/", "Cluster")]).await;
    let elements = open.browser.js("return document.querySelectorAll('main *').length").await;
    assert!(elements.as_u64().unwrap() < 4000, "{elements}");
    let text = open.browser.js("return document.body.innerText").await;
    assert!(text.as_str().unwrap().contains("4900 more Services not shown"));
    assert_eq!(
        open.browser.js("return document.querySelectorAll('tbody tr').length").await,
        json!(100)
    );
}
