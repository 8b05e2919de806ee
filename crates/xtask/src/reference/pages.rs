//! The pages of the reference.

use std::{
    fmt::Write,
    fs, io,
    path::{Path, PathBuf},
};

use super::scan::{self, Item, Member};

const GENERATED: &str = "<!-- Written by `cargo xtask reference`. Change the code instead. -->\n";

/// Where codes of reasons, findings and checks come from, with the title of their section.
const CODES: &[(&str, &str)] = &[
    ("crates/topology/src", "Topology: `explain`, `analyze`, `plan`, `migrate`, conditions"),
    ("crates/evenkeel/src", "Command line: `status`, `analyze`"),
    ("crates/fairness/src", "Fairness: `fairness match`, `fairness lint`"),
    ("crates/locality/src", "Mesh: `mesh inspect`, `mesh lint`"),
];

/// Where annotations and labels are named. The API server knows many of Kubernetes' that mean nothing
/// to the rest: there, ours count.
const CONSTANTS: &[(&str, bool)] = &[
    ("crates/model/src", true),
    ("crates/apiserver/src", false),
    ("crates/controller/src", false),
];

/// Scrapes with every metric in them, as tests keep them.
const SCRAPES: &[(&str, &str)] = &[
    ("crates/controller/src/metrics/all.txt", "`evenkeel controller`"),
    ("crates/proxy/src/metrics/all.txt", "`evenkeel proxy`"),
    ("crates/xds-server/src/metrics/all.txt", "`evenkeel xds`"),
    ("crates/apiserver/src/metrics/all.txt", "`evenkeel apiserver`"),
    ("crates/tower-fairness/tests/metrics/scenario.txt", "`tower-fairness`"),
];

/// The types of `evenkeel.dev/v1alpha1`.
const OBJECTS: &str = "crates/fairness/src/dialect/proposal/object.rs";

/// Where the types and reasons of conditions and the reasons of Events are named.
const CONDITIONS: &[(&str, &str)] = &[
    ("Conditions of Services", "crates/controller/src/engine/conditions.rs"),
    ("Events about Services", "crates/controller/src/engine/event_reason.rs"),
    ("Events about Auto hints", "crates/topology/src/reason.rs"),
    ("Exceptions in reports of proxies", "crates/proxy/src/engine/mod.rs"),
];

pub(super) fn codes(root: &Path) -> Result<String, String> {
    let mut page = page(
        "Codes",
        "Codes and field names are API: they change only with a major version. Sentences may change.",
    );
    let mut missing = Vec::new();
    for (folder, title) in CODES {
        let _ = write!(page, "\n## {title}\n");
        let sources = sources(&root.join(folder))?;
        // A long `Display` has a file of its own.
        let all: String = sources.iter().map(|(_, text)| &**text).collect();
        for (path, text) in &sources {
            for item in scan::items(text, "enum") {
                if item.attributes.contains("tag = \"code\"") || item.name == "Code" {
                    missing.extend(code_table(&item, &all, path, &mut page));
                }
            }
        }
    }
    if missing.is_empty() { Ok(page) } else { Err(missing.join("; ")) }
}

/// Writes the table, and returns what is missing for it.
fn code_table(item: &Item, text: &str, path: &Path, page: &mut String) -> Vec<String> {
    let mut missing = Vec::new();
    let Item { name, doc, attributes, members } = item;
    let doc = doc.replace(" Codes and fields are API.", "");
    let _ = write!(page, "\n### {name}\n\n{doc}\n\n| code | fields | text |\n|---|---|---|\n");
    for Member { name: variant, doc, parts } in members {
        let about = Some(doc.clone()).filter(|doc| !doc.is_empty());
        let Some(about) = about.or_else(|| scan::sentence(text, name, variant)) else {
            let path = path.display();
            missing.push(format!("{path}: {name}::{variant} needs a doc comment"));
            continue;
        };
        let camel = attributes.contains("rename_all_fields = \"camelCase\"");
        let fields = parts.iter().map(|part| if camel { camel_case(part) } else { part.clone() });
        let fields: Vec<_> = fields.map(|field| format!("`{field}`")).collect();
        let _ = writeln!(
            page,
            "| `{variant}` | {} | {} |",
            fields.join(", "),
            cell(&links(&about.replace("{}", "…")))
        );
    }
    missing
}

pub(super) fn annotations(root: &Path) -> Result<String, String> {
    let intro = "What Evenkeel reads and writes on objects, by the domain of the name.";
    let mut page = page("Annotations and labels", intro);
    let mut rows = Vec::new();
    for (folder, all) in CONSTANTS {
        for (path, text) in sources(&root.join(folder))? {
            for constant in scan::constants(&text) {
                let Some((domain, _)) = named(&constant.value) else { continue };
                if !all && !domain.ends_with("evenkeel.dev") {
                    continue;
                }
                if constant.doc.is_empty() {
                    let path = path.display();
                    return Err(format!("{path}: {} needs a doc comment", constant.value));
                }
                rows.push((domain.to_owned(), constant.value, constant.doc));
            }
        }
    }
    rows.sort();
    rows.dedup();
    page.push_str("\n| name | meaning |\n|---|---|\n");
    for (_, name, doc) in rows {
        let _ = writeln!(page, "| `{name}` | {} |", cell(&links(&doc)));
    }
    Ok(page)
}

/// `domain/name`, where the domain is that of Kubernetes or ours.
fn named(value: &str) -> Option<(&str, &str)> {
    let (domain, name) = value.split_once('/')?;
    let known = domain == "evenkeel.dev"
        || domain.ends_with(".evenkeel.dev")
        || domain.ends_with("kubernetes.io");
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
    (known && !name.is_empty() && name.chars().all(plain) && !is_version(name))
        .then_some((domain, name))
}

fn is_version(name: &str) -> bool {
    name.starts_with('v') && name[1..].starts_with(|c: char| c.is_ascii_digit())
}

pub(super) fn metrics(root: &Path) -> Result<String, String> {
    let intro = "OpenMetrics text at `/metrics`. Names without the prefix `evenkeel_` are those of Kubernetes. A counter's samples end in `_total`.";
    let mut page = page("Metrics", intro);
    for (file, title) in SCRAPES {
        let text = read(&root.join(file))?;
        if let Some(name) = unlisted(root, file, &text)? {
            return Err(format!("{file}: the metric {name} is missing: let the test fill it"));
        }
        let _ = write!(page, "\n## {title}\n\n| name | type | meaning |\n|---|---|---|\n");
        let mut help = None;
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# HELP ") {
                help = rest.split_once(' ');
            } else if let (Some(rest), Some((name, about))) = (line.strip_prefix("# TYPE "), help) {
                let kind = rest.rsplit(' ').next().unwrap_or("");
                let kind = if kind == "unknown" { "counter" } else { kind };
                let _ = writeln!(page, "| `{name}` | {kind} | {} |", cell(about));
            }
        }
    }
    Ok(page)
}

/// A metric that the sources of the crate register and the scrape does not have.
fn unlisted(root: &Path, scrape: &str, text: &str) -> Result<Option<String>, String> {
    let Some((folder, _)) = scrape.split_once("/src/") else { return Ok(None) };
    for (_, source) in sources(&root.join(folder).join("src"))? {
        let calls = ["register(", "register_with_unit("].map(|call| source.match_indices(call));
        for (at, call) in calls.into_iter().flatten() {
            let rest = source[at + call.len()..].trim_start();
            // A metric has a help text after its name; resources are registered by name alone.
            let split = rest.strip_prefix('"').and_then(|rest| rest.split_once('"'));
            let Some((name, _)) = split.filter(|(_, rest)| rest.starts_with(',')) else { continue };
            let is_there = |line: &str| line.starts_with("# TYPE ") && line.contains(name);
            if !text.lines().any(is_there) {
                return Ok(Some(name.to_owned()));
            }
        }
    }
    Ok(None)
}

pub(super) fn conditions(root: &Path) -> Result<String, String> {
    let intro = "What the controller says in the status of a Service and in Events about it, and what proxies say in their reports. Other reasons are the codes of `PolicyReason` and `NoHints` in [codes.md](codes.md).";
    let mut page = page("Conditions and Events", intro);
    for (title, file) in CONDITIONS {
        let _ = write!(page, "\n## {title}\n\n| name | meaning |\n|---|---|\n");
        for constant in scan::constants(&read(&root.join(file))?) {
            let scan::Constant { doc, value } = constant;
            if !value.chars().all(|c| c.is_ascii_alphanumeric()) {
                continue;
            }
            if doc.is_empty() {
                return Err(format!("{file}: {value} needs a doc comment"));
            }
            let _ = writeln!(page, "| `{value}` | {} |", cell(&doc));
        }
    }
    Ok(page)
}

pub(super) fn configuration(root: &Path) -> Result<String, String> {
    let intro = "The fields of `evenkeel.dev/v1alpha1`. Objects of `flowcontrol.apiserver.k8s.io/v1` have the fields that Kubernetes documents.";
    let mut page = page("Configuration of fairness", intro);
    let path = root.join(OBJECTS);
    for item in scan::items(&read(&path)?, "struct") {
        let _ = write!(page, "\n## {}\n\n{}\n\n", item.name, item.doc);
        page.push_str("| field | type | meaning |\n|---|---|---|\n");
        for Member { name, doc, parts } in item.members {
            if doc.is_empty() {
                let path = path.display();
                return Err(format!("{path}: {}.{name} needs a doc comment", item.name));
            }
            let kind = parts.concat();
            let _ = writeln!(page, "| `{}` | `{kind}` | {} |", camel_case(&name), cell(&doc));
        }
    }
    Ok(page)
}

fn page(title: &str, intro: &str) -> String {
    format!("{GENERATED}# {title}\n\n{intro}\n")
}

/// Text that fits into a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// Links between items mean nothing outside of the code.
fn links(doc: &str) -> String {
    doc.replace("[`", "`").replace("`]", "`")
}

fn camel_case(name: &str) -> String {
    let mut parts = name.split('_');
    let first = parts.next().unwrap_or("").to_owned();
    parts.fold(first, |mut name, part| {
        let mut chars = part.chars();
        name.extend(chars.next().map(|c| c.to_ascii_uppercase()));
        name + chars.as_str()
    })
}

/// All sources below a folder, by their paths.
fn sources(folder: &Path) -> Result<Vec<(PathBuf, String)>, String> {
    let mut paths = Vec::new();
    collect(folder, &mut paths).map_err(|error| format!("{}: {error}", folder.display()))?;
    paths.sort();
    paths.into_iter().map(|path| read(&path).map(|text| (path, text))).collect()
}

fn collect(folder: &Path, into: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, into)?;
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            into.push(path);
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}
