//! Decoding errors and their location, in Go's wording.

use std::fmt::Write;

use super::{Decoder, GoType, Nothing, Step};
use crate::schema::Finding;

/// Same as Kubernetes.
const MOST_FINDINGS: usize = 100;

/// Bytes of all paths together: one long key may occur in very many paths.
const MOST_DESCRIBED: usize = 1 << 20;

/// How much of a path that is too deep is shown, in steps, and of each key, in characters.
const STEPS_SHOWN: usize = 12;
const KEY_SHOWN: usize = 40;

impl<'a> Decoder<'a> {
    /// Skips a value of the wrong type. `byte` is its first byte, `name` the expected type; if that
    /// is empty, it is taken from `go`.
    pub(super) fn mismatch(&mut self, byte: u8, go: Option<GoType<'a>>, name: &str) -> Nothing {
        self.scanner.skip()?;
        self.wrong(json_kind(byte), go, name);
        Ok(())
    }

    /// The same for a type with its own decoder, where Go stops decoding.
    pub(super) fn refused_type(&mut self, byte: u8, go: Option<GoType<'a>>, name: &str) -> Nothing {
        self.scanner.skip()?;
        let words = self.words(json_kind(byte), go, name);
        self.refused(words);
        Ok(())
    }

    pub(super) fn wrong(&mut self, what: &str, go: Option<GoType<'a>>, name: &str) {
        if self.mistyped.is_none() {
            self.mistyped = Some(self.words(what, go, name));
        }
    }

    pub(super) fn mistyped(&mut self, words: impl FnOnce() -> String) {
        self.mistyped.get_or_insert_with(words);
    }

    pub(super) fn refused(&mut self, words: String) {
        self.refused.get_or_insert(words);
    }

    pub(super) fn words(&self, what: &str, go: Option<GoType<'a>>, name: &str) -> String {
        let wanted = match go {
            Some(go) if name.is_empty() => {
                (0..go.inside).fold(&*go.field.go, |outer, _| self.schema.inner(outer))
            }
            _ => name,
        };
        let place = self.place();
        format!("json: cannot unmarshal {what} into Go {place} of type {wanted}")
    }

    /// `struct field ServicePort.spec.ports.port`: the struct, and the path to it.
    fn place(&self) -> String {
        let mut out = String::new();
        let mut within = "";
        for step in &self.path {
            let Step::Field(of, field) = step else { continue };
            within = &of.go;
            for name in field.via.iter().flat_map(|via| via.split('.')) {
                let _ = write!(out, ".{name}");
            }
            let _ = write!(out, ".{}", field.name);
        }
        if out.is_empty() { "value".to_owned() } else { format!("struct field {within}{out}") }
    }

    /// `spec.ports[0].port`: the path of a field of the current value.
    fn path_to(&self, name: &str) -> String {
        let mut out = String::new();
        for step in &self.path {
            let _ = match step {
                Step::Field(_, field) => write!(out, "{}{}", dot(&out), field.name),
                Step::Key(key) => write!(out, "{}{key}", dot(&out)),
                Step::Index(index) => write!(out, "[{index}]"),
            };
        }
        let dot = dot(&out);
        out + dot + name
    }

    /// The path of the current value, shortened for display.
    pub(super) fn start_of_path(&self) -> String {
        let mut out = String::new();
        for step in self.path.iter().take(STEPS_SHOWN) {
            let key = match step {
                Step::Field(_, field) => &*field.name,
                Step::Key(key) => key,
                Step::Index(index) => {
                    let _ = write!(out, "[{index}]");
                    continue;
                }
            };
            out.push_str(dot(&out));
            out.extend(key.chars().take(KEY_SHOWN));
        }
        let cut = self.path.len() > STEPS_SHOWN;
        if cut { out + "..." } else { out }
    }

    pub(super) fn find(&mut self, finding: fn(String) -> Finding, name: &str) {
        if self.quiet || self.findings.len() >= MOST_FINDINGS || self.described > MOST_DESCRIBED {
            return;
        }
        let path = self.path_to(name);
        self.described += path.len();
        let finding = finding(path);
        if !self.findings.contains(&finding) {
            self.findings.push(finding);
        }
    }
}

/// The separator before the next name of a path.
fn dot(path: &str) -> &'static str {
    if path.is_empty() { "" } else { "." }
}

/// The JSON type of a value, by its first byte.
pub(super) fn json_kind(byte: u8) -> &'static str {
    match byte {
        b'{' => "object",
        b'[' => "array",
        b'"' => "string",
        b't' | b'f' => "bool",
        b'n' => "null",
        _ => "number",
    }
}
