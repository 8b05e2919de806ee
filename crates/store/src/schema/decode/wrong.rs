//! What is wrong with a text, and where, in Go's words.

use std::fmt::Write;

use super::{Decoder, GoType, Nothing, Step};
use crate::schema::Finding;

/// As in Kubernetes.
const MOST_FINDINGS: usize = 100;

/// How long the paths of findings may be in all. A path can be as long as the text, and the same
/// one found again as often as there is room for it.
const MOST_LOOKED_FOR: usize = 1 << 20;

impl<'a> Decoder<'a> {
    /// Passes over a value of the wrong type. `byte` is its first, `name` the type wanted; `go`
    /// tells it where that is empty.
    pub(super) fn mismatch(&mut self, byte: u8, go: Option<GoType<'a>>, name: &str) -> Nothing {
        self.scanner.skip()?;
        self.wrong(json_kind(byte), go, name);
        Ok(())
    }

    /// The same where the type reads itself, which ends Go's reading.
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

    /// `struct field ServicePort.spec.ports.port`: the struct, and the names on the way to it.
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

    /// `spec.ports[0].port`, for a field of what is being read.
    pub(super) fn path_to(&self, name: &str) -> String {
        let mut out = String::new();
        for step in &self.path {
            let dot = if out.is_empty() { "" } else { "." };
            let _ = match step {
                Step::Field(_, field) => write!(out, "{dot}{}", field.name),
                Step::Key(key) => write!(out, "{dot}{key}"),
                Step::Index(index) => write!(out, "[{index}]"),
            };
        }
        let dot = if out.is_empty() { "" } else { "." };
        out + dot + name
    }

    /// Keeps in mind what is passed over: a field of what is being read.
    pub(super) fn find(&mut self, name: &str, finding: fn(String) -> Finding) {
        if self.findings.len() >= MOST_FINDINGS || self.looked_for >= MOST_LOOKED_FOR {
            return;
        }
        let path = self.path_to(name);
        self.looked_for += path.len();
        let finding = finding(path);
        if !self.findings.contains(&finding) {
            self.findings.push(finding);
        }
    }
}

/// What a value is, by its first byte.
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
