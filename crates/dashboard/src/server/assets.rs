//! The page's own files. They hold no data, so that everyone who reaches the server may have them.

pub(super) struct Asset {
    pub path: &'static str,
    pub content_type: &'static str,
    pub text: &'static str,
}

macro_rules! asset {
    ($path:literal, $content_type:literal, $file:literal) => {
        Asset {
            path: $path,
            content_type: $content_type,
            text: include_str!(concat!("../../assets/", $file)),
        }
    };
}

/// Each kind of page has an address of its own; its script decides what is shown.
pub(super) const ASSETS: &[Asset] = &[
    asset!("/", "text/html; charset=utf-8", "index.html"),
    asset!("/fairness", "text/html; charset=utf-8", "index.html"),
    asset!("/mesh", "text/html; charset=utf-8", "index.html"),
    asset!("/icon.svg", "image/svg+xml", "icon.svg"),
    asset!("/style.css", "text/css; charset=utf-8", "style.css"),
    asset!("/app.js", "text/javascript; charset=utf-8", "app.js"),
    asset!("/dom.js", "text/javascript; charset=utf-8", "dom.js"),
    asset!("/figure.js", "text/javascript; charset=utf-8", "figure.js"),
    asset!("/cluster.js", "text/javascript; charset=utf-8", "cluster.js"),
    asset!("/mesh.js", "text/javascript; charset=utf-8", "mesh.js"),
    asset!("/service.js", "text/javascript; charset=utf-8", "service.js"),
    asset!("/fairness.js", "text/javascript; charset=utf-8", "fairness.js"),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// What could turn the name of an object into markup or code, or fetch from elsewhere.
    #[test]
    fn the_page_only_creates_nodes_and_fetches_from_itself() {
        let banned = [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "Function(",
            "DOMParser",
            "setHTML",
            "http://",
            "https://",
            "style=",
            "onclick=",
        ];
        for Asset { path, text, .. } in ASSETS {
            let text = text.replace("http://www.w3.org/2000/svg", "");
            for word in banned {
                assert!(!text.contains(word), "{path}: {word}");
            }
        }
    }
}
