//! Whichever list is long, the work is near-linear in the body.
//!
//! Every list and map of every kind is found in the table of types and filled with n entries: some
//! equal, some sharing names and ports, some with nothing in common. Decoding, validating, warning,
//! storing and rendering it is then timed for n and 4n, and so is an update of such an object to
//! itself. Linear work takes four times as long, quadratic work up to sixteen times; if the result
//! is not clear, n grows. The time is this thread's CPU time.

use std::collections::BTreeSet;

use evenkeel_store::{
    patch,
    schema::{self, Field, Shape, Type},
};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Map, Value, json};

use super::{Admission, KINDS, Kind, KindRef, Part, metadata, read::entry};
use crate::{document, settings::Features, status::Failure, types, warnings::Warnings};

/// The path of a list or map in an object; `0` stands for an element.
type FieldPath = Vec<&'static str>;

/// Maximum ratio for four times the size: far from linear, and close enough that larger sizes must
/// be tried.
const QUADRATIC: f64 = 8.0;
const LINEAR: f64 = 5.0;
/// This many sizes in a row must look quadratic.
const IN_A_ROW: usize = 3;
/// How many of a struct's scalars an entry has: the first ones, which identify it.
const SCALARS: usize = 4;
/// Maximum list length.
const LONGEST: usize = 64_000;

#[test]
fn a_create_is_linear_in_every_list_of_every_kind() {
    for (kind, path) in field_paths() {
        check(&format!("create {} {}", kind.kind, path.join(".")), 600, |n| {
            let body = object(kind, &path, n).to_string();
            Box::new(move || created(kind, &body))
        });
    }
}

#[test]
fn an_update_is_linear_in_every_list_of_every_kind() {
    for (kind, path) in field_paths() {
        check(&format!("update {} {}", kind.kind, path.join(".")), 400, |n| {
            let value = kind.converted(object(kind, &path, n));
            let old = stored(kind, &value);
            Box::new(move || updated(kind, &value, &old))
        });
    }
}

#[test]
fn a_patch_is_linear_in_every_list_of_every_kind() {
    for (kind, path) in field_paths() {
        check(&format!("patch {} {}", kind.kind, path.join(".")), 400, |n| {
            let value = object(kind, &path, n);
            let patch = value.to_string();
            Box::new(move || patched(kind, &value, &patch))
        });
    }
}

#[test]
fn lists_that_name_each_other_are_not_multiplied() {
    for kind in KINDS {
        check(&format!("all lists of {}", kind.kind), 10, |n| {
            let mut value = json!({"metadata": {"name": "a", "namespace": "b"}});
            for (_, path) in field_paths().into_iter().filter(|(of, _)| of == kind) {
                fill(kind, &mut value, &path, n);
            }
            let body = value.to_string();
            let value = kind.converted(value);
            let old = stored(kind, &value);
            Box::new(move || {
                created(kind, &body);
                updated(kind, &value, &old);
            })
        });
    }
}

// === what is timed ===

fn admission() -> Admission {
    Admission { now: "2026-01-01T00:00:00Z".parse().unwrap(), features: Features::default() }
}

/// All steps of a create, whether the previous one rejects it or not.
fn created(kind: &KindRef, body: &str) {
    let of = types::schema().named(&kind.schema).unwrap();
    let value = schema::decode(types::schema(), of, body.as_bytes()).unwrap().value;
    let mut value = kind.converted(value);
    let mut warnings = Warnings::default();
    warnings.extend(metadata::drop_duplicate_owners(&mut value));
    kind.strategy.default(&mut value, &admission());
    metadata::prepare_create(&mut value, &admission(), "uid", "abcde");
    kind.strategy.prepare_create(&mut value, &admission());
    let mut errors = metadata::validate_create(kind, &value);
    errors.extend(kind.strategy.validate_create(&value, &admission()));
    let refused = Failure::invalid(kind, "a", &metadata::distinct(errors));
    assert!(refused.status().to_string().len() < 16 << 20, "answers have an end");
    warnings.extend(kind.strategy.warnings(&value, None));
    assert!(warnings.headers().map(|value| value.len()).sum::<usize>() < 64 << 10);
    document::canonical(kind.stored_kind(), &mut value);
    let stored = document::stored(kind.stored_kind(), &value);
    assert!(!stored.encoded.is_empty());
    let value = kind.presented(value);
    for column in kind.columns {
        let _ = (column.cell)(&value, admission().now);
    }
}

/// The object as it would be stored if it were allowed.
fn stored(kind: &KindRef, value: &Value) -> Value {
    let mut stored = value.clone();
    kind.strategy.default(&mut stored, &admission());
    document::canonical(kind.stored_kind(), &mut stored);
    stored
}

/// All steps of an update and of a status update.
fn updated(kind: &KindRef, value: &Value, old: &Value) {
    for part in [Part::Main, Part::Status] {
        let mut new = value.clone();
        kind.strategy.default(&mut new, &admission());
        metadata::prepare_update(&mut new, old);
        kind.strategy.prepare_update(part, &mut new, old, &admission());
        let mut errors = metadata::validate_update(kind, &new, old);
        errors.extend(kind.strategy.validate_update(part, &new, old, &admission()));
        let refused = Failure::invalid(kind, "a", &metadata::distinct(errors));
        assert!(refused.status().to_string().len() < 16 << 20, "answers have an end");
        let _ = kind.strategy.warnings(&new, Some(old));
    }
}

/// Patches of all three types that change nothing.
fn patched(kind: &KindRef, value: &Value, patch: &str) {
    let of = types::schema().named(&kind.schema).unwrap();
    // Either result is correct: some of the lists have no merge key.
    let mut merged = value.clone();
    if patch::strategic(types::schema(), of, &mut merged, patch.as_bytes()).is_ok() {
        let _ = patch::converted(types::schema(), of, merged);
    }
    let mut merged = value.clone();
    patch::merge(&mut merged, patch.as_bytes()).unwrap();
    let replace = json!([{"op": "test", "path": "", "value": value}]).to_string();
    patch::json(&mut merged, replace.as_bytes()).unwrap();
}

// === timing ===

type Work = Box<dyn Fn()>;

/// Times work of growing size until it is clearly linear, or clearly not: other load on the machine
/// may spoil one size, not several in a row.
fn check(what: &str, least: usize, work: impl Fn(usize) -> Work) {
    let (mut n, mut tries, mut in_a_row) = (least, 1, 0);
    loop {
        let [one, four] = [n, 4 * n].map(|n| least_time(&work(n), tries));
        let ratio = four / one;
        if ratio < LINEAR {
            return;
        }
        in_a_row = if ratio < QUADRATIC { 0 } else { in_a_row + 1 };
        assert!(in_a_row < IN_A_ROW, "{what}: {ratio:.1} times for {n} and {}", 4 * n);
        let is_longest = 4 * n >= LONGEST || four > 1e9;
        if is_longest && in_a_row == 0 {
            return;
        }
        tries = 3;
        n = if is_longest { n } else { 2 * n };
    }
}

#[test]
#[should_panic(expected = "times for")]
fn quadratic_work_is_found() {
    check("a scan for each", 1_500, |n| {
        Box::new(move || {
            let mut seen = Vec::new();
            for one in 0..n {
                if !seen.contains(&one) {
                    seen.push(one);
                }
            }
        })
    });
}

/// In nanoseconds.
fn least_time(work: &Work, tries: usize) -> f64 {
    let times = (0..tries).map(|_| {
        let before = clock();
        work();
        clock() - before
    });
    times.fold(f64::MAX, f64::min).max(1.0)
}

/// CPU time of this thread.
fn clock() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

// === objects ===

/// Each list and map of each kind. A type that was already visited is not visited again.
fn field_paths() -> Vec<(&'static KindRef, FieldPath)> {
    let mut places = Vec::new();
    let mut seen = BTreeSet::new();
    for kind in KINDS {
        let of = types::schema().named(&kind.schema).unwrap();
        seen.remove("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta");
        let mut found = Vec::new();
        collect(of, &mut Vec::new(), &mut seen, &mut found);
        places.extend(found.into_iter().map(|path| (*kind, path)));
    }
    places
}

fn collect(
    of: &'static Type,
    path: &mut FieldPath,
    seen: &mut BTreeSet<&'static str>,
    found: &mut Vec<FieldPath>,
) {
    if !seen.insert(&of.name) {
        return;
    }
    // Regular containers first: what the others share with them is covered there.
    let mut fields: Vec<&Field> = of.fields.iter().collect();
    fields.sort_by_key(|field| &*field.name != "containers");
    for field in fields {
        path.push(&field.name);
        into(&field.shape, path, seen, found);
        path.pop();
    }
}

fn into(
    shape: &'static Shape,
    path: &mut FieldPath,
    seen: &mut BTreeSet<&'static str>,
    found: &mut Vec<FieldPath>,
) {
    match shape {
        Shape::List(of) | Shape::Map(of) => {
            found.push(path.clone());
            path.push("0");
            into(of, path, seen, found);
            path.pop();
        }
        Shape::Struct(id) => collect(types::schema().of(*id), path, seen, found),
        // The alternatives are at the same path.
        Shape::Either(id) => {
            for field in &types::schema().of(*id).fields {
                into(&field.shape, path, seen, found);
            }
        }
        _ => {}
    }
}

/// An object with n entries at one path.
fn object(kind: &Kind, path: &FieldPath, n: usize) -> Value {
    let mut value = json!({"metadata": {"name": "a", "namespace": "b"}});
    fill(kind, &mut value, path, n);
    value
}

fn fill(kind: &Kind, value: &mut Value, path: &FieldPath, n: usize) {
    let mut shape: Option<&Shape> = None;
    let mut of = types::schema().named(&kind.schema);
    let mut at = value;
    for name in path {
        match (shape, of) {
            (Some(Shape::List(inner)), _) => {
                if !at.is_array() {
                    *at = json!([sample(inner, 0)]);
                }
                at = &mut at[0];
                shape = Some(&**inner);
            }
            (Some(Shape::Map(inner)), _) => {
                at = entry(at, &["k0"]);
                shape = Some(&**inner);
            }
            (_, Some(structure)) => {
                at = entry(at, &[name]);
                shape = structure.field(name).map(|field| &field.shape);
            }
            _ => return,
        }
        of = match shape {
            Some(Shape::Struct(id)) => Some(types::schema().of(*id)),
            _ => None,
        };
    }
    let listed = match shape {
        Some(Shape::Either(id)) => {
            let of = types::schema().of(*id);
            of.alternative(b'[').map(|field| &of.fields[field].shape)
        }
        shape => shape,
    };
    match listed {
        Some(Shape::List(of)) => {
            let first = at.get(0).cloned();
            let entries = first.into_iter().chain((0..n).map(|i| sample(of, share(i))));
            *at = entries.collect();
        }
        Some(Shape::Map(of)) => {
            for i in 0..n {
                *entry(at, &[&format!("k{i}")]) = sample(of, share(i));
            }
        }
        _ => {}
    }
}

/// Every third entry equals the others of its third; every third shares half of its fields; the
/// rest have nothing in common.
fn share(i: usize) -> usize {
    match i % 3 {
        0 => 0,
        1 => i | 1 << 40,
        _ => i,
    }
}

/// A value of a type, different for different numbers: scalars, and in structs only scalars.
fn sample(shape: &Shape, i: usize) -> Value {
    let number = i & ((1 << 40) - 1);
    match shape {
        Shape::Struct(id) => {
            let shared = i >> 40 != 0;
            let mut members = Map::new();
            let scalar = |field: &&Field| {
                !matches!(
                    field.shape,
                    Shape::Struct(_)
                        | Shape::Either(_)
                        | Shape::List(_)
                        | Shape::Map(_)
                        | Shape::Any
                )
            };
            for (at, field) in
                types::schema().of(*id).fields.iter().filter(scalar).take(SCALARS).enumerate()
            {
                let i = if shared && at > 0 { 1 } else { number };
                members.insert(field.name.to_string(), sample(&field.shape, i));
            }
            Value::Object(members)
        }
        Shape::Text(_) => json!(format!("n{number}")),
        Shape::Int32 | Shape::Int64 | Shape::Float | Shape::IntOrString => {
            json!(number % 30_000 + 1)
        }
        Shape::Bool => json!(number.is_multiple_of(2)),
        Shape::Bytes => json!("AAAA"),
        Shape::Quantity => json!(number.to_string()),
        Shape::Time => json!("2026-01-01T00:00:00Z"),
        Shape::MicroTime => json!("2026-01-01T00:00:00.000000Z"),
        Shape::Duration => json!("1s"),
        Shape::Any => json!({"f": number}),
        Shape::List(_) => json!([]),
        Shape::Map(_) | Shape::Either(_) => json!({}),
    }
}
