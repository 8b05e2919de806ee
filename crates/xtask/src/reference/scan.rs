//! Reads items from sources as `rustfmt` lays them out: enums with their variants, structs with their
//! fields, constants, and the sentence that `Display` gives a variant. Linear in the text.

/// An enum or a struct.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) name: String,
    pub(super) doc: String,
    /// The attributes above it, one a line.
    pub(super) attributes: String,
    pub(super) members: Vec<Member>,
}

/// A variant or a field.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) doc: String,
    /// Names of a variant's fields; the type of a field.
    pub(super) parts: Vec<String>,
}

/// A string constant.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Constant {
    pub(super) doc: String,
    pub(super) value: String,
}

/// A sentence has more characters.
const SHORTEST: usize = 12;

/// All public items of this keyword, `enum` or `struct`.
pub(super) fn items(text: &str, keyword: &str) -> Vec<Item> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    let mut above = Above::default();
    while let Some(line) = lines.next() {
        if let Some(name) = declared(line, keyword) {
            let Above { doc, attributes } = std::mem::take(&mut above);
            let body = lines.by_ref().take_while(|line| *line != "}");
            let members = members(body, keyword);
            found.push(Item { name, doc, attributes, members });
        } else if !above.read(line) {
            above = Above::default();
        }
    }
    found
}

/// All constants of type `&str`, in modules too.
pub(super) fn constants(text: &str) -> Vec<Constant> {
    let mut found = Vec::new();
    let mut above = Above::default();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(at) = line.find("const ").filter(|_| line.contains(": &str =")) else {
            if !above.read(line) {
                above = Above::default();
            }
            continue;
        };
        let doc = std::mem::take(&mut above).doc;
        // A long value stands on a line of its own.
        let rest = if line.ends_with('=') { lines.next().unwrap_or("") } else { &line[at..] };
        if let Some(value) = literal(rest) {
            found.push(Constant { doc, value });
        }
    }
    found
}

/// The sentence that `Display` writes for a variant: the first literal behind `Enum::Variant … =>`.
pub(super) fn sentence(text: &str, of: &str, variant: &str) -> Option<String> {
    let display = text.find(&format!("impl fmt::Display for {of} "))?;
    let path = format!("{of}::{variant}");
    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    let found = text[display..].match_indices(&path).map(|(at, _)| display + at + path.len());
    let mut arms = found.map(|at| &text[at..]).filter(|rest| ends(rest)).filter_map(|rest| {
        let arm = rest.split(&format!("{of}::")).next().unwrap_or("");
        literal(arm.split_once("=>")?.1)
    });
    // What is shorter is a part of a sentence.
    arms.find(|text| text.len() > SHORTEST)
}

/// The first string literal of the text, with what a continued line leaves out.
fn literal(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('"')?;
    let mut value = String::new();
    let mut chars = rest.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => return Some(value),
            '\\' => match chars.next()? {
                '\n' => {
                    let rest = chars.as_str().trim_start();
                    chars = rest.chars();
                }
                c => value.push(c),
            },
            c => value.push(c),
        }
    }
    None
}

fn declared(line: &str, keyword: &str) -> Option<String> {
    // The macro that lists the codes of `status`.
    if line == "codes! {" && keyword == "enum" {
        return Some("Code".to_owned());
    }
    let rest = line.strip_prefix("pub ").or_else(|| line.strip_prefix("pub(crate) "))?;
    let name = rest.strip_prefix(keyword)?.strip_prefix(' ')?.strip_suffix(" {")?;
    Some(name.split('<').next()?.to_owned())
}

fn members<'t>(body: impl Iterator<Item = &'t str>, keyword: &str) -> Vec<Member> {
    let mut found: Vec<Member> = Vec::new();
    let mut above = Above::default();
    for line in body {
        let depth = line.len() - line.trim_start().len();
        let text = line.trim();
        if depth == 4 && above.read(line) {
            continue;
        }
        match depth {
            4 if text.starts_with('}') => {}
            4 if keyword == "struct" => {
                let Some((name, kind)) = text.trim_end_matches(',').split_once(": ") else {
                    continue;
                };
                let name = name.rsplit(' ').next().unwrap_or(name).trim_start_matches("r#");
                let Above { doc, attributes } = std::mem::take(&mut above);
                if !attributes.contains("#[serde(skip)]") {
                    found.push(Member { name: name.into(), doc, parts: vec![kind.into()] });
                }
            }
            4 => {
                let name: String = text.chars().take_while(char::is_ascii_alphanumeric).collect();
                let doc = std::mem::take(&mut above).doc;
                found.push(Member { name, doc, parts: fields(text) });
            }
            // A variant whose fields stand below each other.
            8 if !text.starts_with("//") && !text.starts_with('#') => {
                if let (Some(last), Some((name, _))) = (found.last_mut(), text.split_once(": ")) {
                    last.parts.push(name.to_owned());
                }
            }
            _ => {}
        }
    }
    found
}

/// The names of the fields in `Variant { a: A, b: B },`.
fn fields(variant: &str) -> Vec<String> {
    let Some((_, inner)) = variant.split_once(" { ") else { return Vec::new() };
    let inner = inner.trim_end_matches(',').trim_end_matches('}');
    let names = inner.split(", ").filter_map(|field| field.split_once(": "));
    names.map(|(name, _)| name.trim().to_owned()).collect()
}

/// Comments and attributes that stand above an item.
#[derive(Default)]
struct Above {
    doc: String,
    attributes: String,
}

impl Above {
    /// Whether the line is one of them.
    fn read(&mut self, line: &str) -> bool {
        let line = line.trim();
        if let Some(doc) = line.strip_prefix("///") {
            let space = if self.doc.is_empty() { "" } else { " " };
            self.doc = format!("{}{space}{}", self.doc, doc.trim());
            return true;
        }
        if line.starts_with("#[") {
            self.attributes.push_str(line);
            self.attributes.push('\n');
            return true;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = r##"
/// Why not.
/// Codes are API.
#[derive(Debug)]
#[serde(tag = "code")]
pub enum Why {
    /// Nothing there.
    Empty,
    TooFew { have: u32, need: u32 },
    Long {
        /// In seconds.
        a: f64,
        b: Option<Vec<u8>>,
    },
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Empty | Why::Long { .. } => self.other(f),
            Why::TooFew { have, need } => write!(
                f,
                "{have} of \"{need}\" \
                 are there"
            ),
        }
    }
}

fn other(&self) {
    match self {
        Why::Long { .. } => f.write_str("it takes too long"),
        _ => f.write_str("else"),
    }
}

#[derive(Debug)]
pub struct Spec {
    /// Less is tried first.
    #[serde(default)]
    pub priority: Option<i32>,
    pub r#match: Vec<And>,
}

pub mod label {
    /// The zone.
    pub const ZONE: &str = "topology.kubernetes.io/zone";
    pub const LONG: &str =
        "a.b/c";
    const N: usize = 3;
}
"##;

    #[test]
    fn enums_have_variants_with_docs_and_fields() {
        let found = items(SOURCE, "enum");
        assert_eq!(found.len(), 1);
        assert_eq!((&*found[0].name, &*found[0].doc), ("Why", "Why not. Codes are API."));
        assert!(found[0].attributes.contains("tag = \"code\""));
        let members: Vec<_> =
            found[0].members.iter().map(|m| (&*m.name, &*m.doc, m.parts.join(","))).collect();
        let expected = [
            ("Empty", "Nothing there.", String::new()),
            ("TooFew", "", "have,need".to_owned()),
            ("Long", "", "a,b".to_owned()),
        ];
        assert_eq!(members, expected);
    }

    #[test]
    fn sentences_are_those_of_the_variant() {
        assert_eq!(sentence(SOURCE, "Why", "TooFew").unwrap(), "{have} of \"{need}\" are there");
        assert_eq!(sentence(SOURCE, "Why", "Long").unwrap(), "it takes too long");
        assert_eq!(sentence(SOURCE, "Why", "Empty"), None);
    }

    #[test]
    fn structs_have_fields_with_types() {
        let found = items(SOURCE, "struct");
        let fields: Vec<_> =
            found[0].members.iter().map(|m| (&*m.name, &*m.doc, &*m.parts[0])).collect();
        let expected =
            [("priority", "Less is tried first.", "Option<i32>"), ("match", "", "Vec<And>")];
        assert_eq!(fields, expected);
    }

    #[test]
    fn constants_have_values_and_docs() {
        let found = constants(SOURCE);
        let found: Vec<_> = found.iter().map(|c| (&*c.value, &*c.doc)).collect();
        assert_eq!(found, [("topology.kubernetes.io/zone", "The zone."), ("a.b/c", "")]);
    }
}
