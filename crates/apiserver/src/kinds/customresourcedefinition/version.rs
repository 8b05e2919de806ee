//! Parts of a version other than its schema: the deprecation, subresources and columns.

use serde_json::{Value, json};

use crate::{
    invalid::{Errors, FieldError, Path},
    kinds::read::{at, list, text},
};

const COLUMN_TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const COLUMN_FORMATS: [&str; 8] =
    ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];
const MOST_WARNING: usize = 256;

/// The text that clients of a deprecated version are sent.
pub(super) fn deprecation(version: &Value, path: &Path) -> Errors {
    let given = at(version, &["deprecationWarning"]);
    let Some(warning) = given.as_str() else { return Errors::new() };
    let invalid =
        |words: String| FieldError::invalid(path.child("deprecationWarning"), given, words);
    if !at(version, &["deprecated"]).as_bool().unwrap_or_default() {
        return vec![invalid("can only be set for deprecated versions".to_owned())];
    }
    let mut errors = Errors::new();
    if warning.len() > MOST_WARNING {
        errors.push(invalid(format!("must be <= {MOST_WARNING} characters long")));
    }
    if warning.is_empty() {
        errors.push(invalid("must not be an empty string".to_owned()));
    }
    if let Some((at, _)) = warning.char_indices().find(|(_, c)| !is_printed(*c)) {
        let words = "must only contain printable UTF-8 characters; non-printable character found";
        errors.push(invalid(format!("{words} at index {at}")));
    }
    errors
}

/// Go prints letters, marks, numbers, punctuation, symbols, and the space of ASCII.
fn is_printed(c: char) -> bool {
    let separates = c.is_whitespace() && c != ' ';
    // Formatting characters, surrogates' neighbours and private use.
    let is_format = matches!(
        u32::from(c),
        0xad | 0x600..=0x605 | 0x61c | 0x6dd | 0x70f | 0x180e | 0x200b..=0x200f | 0x202a..=0x202e
            | 0x2060..=0x206f | 0xe000..=0xf8ff | 0xfeff | 0xfff9..=0xfffb | 0xe0000..=0x10_ffff
    );
    !c.is_control() && !separates && !is_format
}

/// The paths of a scale subresource.
pub(super) fn subresources(subresources: &Value, path: &Path) -> Errors {
    let scale = at(subresources, &["scale"]);
    let mut errors = Errors::new();
    if scale.is_null() {
        return errors;
    }
    for (name, under) in [("specReplicasPath", ".spec"), ("statusReplicasPath", ".status")] {
        let path = path.child(&format!("scale.{name}"));
        match text(scale, &[name]) {
            "" => errors.push(FieldError::required(path, "")),
            given if !given.starts_with(&format!("{under}.")) => {
                let words = format!("should be a json path under {under}");
                errors
                    .push(not_simple(given, &path).unwrap_or_else(|| {
                        FieldError::invalid(path.clone(), &json!(given), words)
                    }));
            }
            _ => {}
        }
    }
    let given = text(scale, &["labelSelectorPath"]);
    let is_under = [".spec.", ".status."].iter().any(|under| given.starts_with(under));
    if !given.is_empty() && !is_under {
        let path = path.child("scale.labelSelectorPath");
        let words = "should be a json path under either .spec or .status";
        let other = || FieldError::invalid(path.clone(), &json!(given), words);
        errors.push(not_simple(given, &path).unwrap_or_else(other));
    }
    errors
}

/// Kubernetes checks no more of a path here; a column whose path can't be read is not shown.
fn not_simple(given: &str, path: &Path) -> Option<FieldError> {
    let words = "must be a simple json path starting with .";
    let error = || FieldError::invalid(path.clone(), &json!(given), words);
    (!given.starts_with('.')).then(error)
}

pub(super) fn columns(columns: &Value, path: &Path) -> Errors {
    let each = list(columns, &[]).iter().enumerate();
    each.flat_map(|(i, column)| self::column(column, &path.index(i))).collect()
}

fn column(column: &Value, path: &Path) -> Errors {
    let [name, type_, format, json_path] =
        ["name", "type", "format", "jsonPath"].map(|name| text(column, &[name]));
    let mut errors = Errors::new();
    if name.is_empty() {
        errors.push(FieldError::required(path.child("name"), ""));
    }
    let one_of = format!("must be one of {}", COLUMN_TYPES.join(","));
    if type_.is_empty() {
        errors.push(FieldError::required(path.child("type"), one_of));
    } else if !COLUMN_TYPES.contains(&type_) {
        errors.push(FieldError::invalid(path.child("type"), &json!(type_), one_of));
    }
    if !format.is_empty() && !COLUMN_FORMATS.contains(&format) {
        let words = format!("must be one of {}", COLUMN_FORMATS.join(","));
        errors.push(FieldError::invalid(path.child("format"), &json!(format), words));
    }
    let path = path.child("JSONPath");
    match json_path {
        "" => errors.push(FieldError::required(path, "")),
        given => errors.extend(not_simple(given, &path)),
    }
    errors
}
