//! What a page looks like, to those who see it and to those who don't.

use std::{collections::HashMap, env, fmt::Write as _, fs, path::Path};

use fantoccini::key::Key;
use serde_json::{Value, json};

use crate::driver::Browser;

pub(crate) const THEMES: [&str; 2] = ["light", "dark"];
/// A laptop and a phone.
pub(crate) const WIDTHS: [(u32, u32); 2] = [(1280, 900), (390, 844)];

/// A folder for pictures of what the tests see.
const SCREENSHOTS: &str = "EVENKEEL_SCREENSHOTS";
/// A picture is no higher.
const HIGHEST: u32 = 2600;

/// More than any page has to stop at with the Tab key.
const MOST_STOPS: usize = 200;

/// Roles that say nothing, or what their parents have said.
const SILENT: [&str; 7] =
    ["none", "generic", "InlineTextBox", "LineBreak", "ListMarker", "presentation", "Ignored"];

impl Browser {
    pub(crate) fn use_theme(&self, theme: &str) {
        let features = json!([{"name": "prefers-color-scheme", "value": theme}]);
        self.devtools("Emulation.setEmulatedMedia", &json!({"features": features}));
    }

    pub(crate) fn use_size(&self, (width, height): (u32, u32)) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500});
        self.devtools("Emulation.setDeviceMetricsOverride", &size);
    }

    /// In both themes and sizes: text can be read, and the page is not wider than its window. Pictures
    /// are taken where somebody wants them.
    pub(crate) async fn must_be_legible(&self, name: &str) {
        for theme in THEMES {
            self.use_theme(theme);
            for size in WIDTHS {
                self.use_size(size);
                let what = format!("{name}-{theme}-{}", size.0);
                let wide = self.js("return document.documentElement.scrollWidth").await;
                assert!(wide.as_u64().unwrap() <= size.0.into(), "{what}: {wide} px wide");
                let contrast = self.js(include_str!("scripts/contrast.js")).await;
                assert_eq!(contrast["wrong"], json!([]), "{what}");
                assert!(contrast["checked"].as_u64().unwrap() > 10, "{what}: {contrast}");
                self.picture(&what, size).await;
            }
        }
        self.use_theme(THEMES[0]);
        self.use_size(WIDTHS[0]);
    }

    /// Of the whole page.
    async fn picture(&self, name: &str, (width, height): (u32, u32)) {
        let Some(folder) = env::var_os(SCREENSHOTS) else { return };
        let whole = self.js("return document.documentElement.scrollHeight").await;
        let whole = u32::try_from(whole.as_u64().unwrap()).unwrap();
        self.use_size((width, whole.clamp(height, HIGHEST)));
        let picture = self.client.screenshot().await.unwrap();
        fs::create_dir_all(&folder).unwrap();
        fs::write(Path::new(&folder).join(format!("{name}.png")), picture).unwrap();
    }

    /// Whatever can be used is reached with the Tab key alone, and is seen to have the focus.
    pub(crate) async fn must_be_reachable(&self, name: &str) {
        self.js("document.activeElement.blur(); globalThis.reached = new Set()").await;
        let step = "const it = document.activeElement; const { outlineStyle } = getComputedStyle(it); \
                    if (it === document.body) return 'seen'; if (reached.has(it)) return 'around'; \
                    reached.add(it); return outlineStyle === 'none' ? it.outerHTML.slice(0, 80) : 'seen'";
        let usable = "return [...document.querySelectorAll('a[href], input, select, button, summary, [tabindex=\"0\"]')]\
                      .filter((it) => it.checkVisibility() && !reached.has(it)).map((it) => it.outerHTML.slice(0, 80))";
        for _ in 0..MOST_STOPS {
            self.press(&char::from(Key::Tab).to_string()).await;
            match self.js(step).await.as_str() {
                Some("around") => break,
                stop => assert_eq!(stop, Some("seen"), "{name}"),
            }
        }
        assert_eq!(self.js(usable).await, json!([]), "{name}: not reached by keyboard");
    }

    /// What a screen reader is told, a line for each element: role and name.
    pub(crate) fn accessible(&self) -> String {
        let tree = self.devtools("Accessibility.getFullAXTree", &json!({}));
        let nodes = tree["nodes"].as_array().unwrap();
        let by_id: HashMap<&str, &Value> =
            nodes.iter().map(|node| (node["nodeId"].as_str().unwrap(), node)).collect();
        let mut lines = String::new();
        say(&nodes[0], &by_id, (0, ""), &mut lines);
        lines
    }
}

fn say(
    node: &Value,
    by_id: &HashMap<&str, &Value>,
    (depth, above): (usize, &str),
    lines: &mut String,
) {
    let word = |key: &str| node[key]["value"].as_str().unwrap_or_default().trim();
    let (role, name) = (word("role"), word("name"));
    let is_said = node["ignored"] != true
        && !SILENT.contains(&role)
        && !(role == "StaticText" && (name == above || name.is_empty()));
    if is_said {
        let quoted = if name.is_empty() { String::new() } else { format!(" {name:?}") };
        let _ = writeln!(lines, "{:indent$}{role}{quoted}", "", indent = 2 * depth);
    }
    let below = if is_said { (depth + 1, name) } else { (depth, above) };
    for id in node["childIds"].as_array().into_iter().flatten() {
        // Children may be gone by now.
        if let Some(child) = by_id.get(id.as_str().unwrap()) {
            say(child, by_id, below, lines);
        }
    }
}

/// Compares with `golden/NAME`; `UPDATE_GOLDEN=1` writes it instead.
pub(crate) fn golden(name: &str, got: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser/golden").join(name);
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, got).unwrap();
    }
    let wanted = fs::read_to_string(&path).unwrap_or_default();
    assert!(got == wanted, "{name} differs (UPDATE_GOLDEN=1 accepts it):\n{got}");
}
