//! The table's text format.
//!
//! ```text
//! package core v1 io.k8s.api.core.v1     short name, Go's name, OpenAPI's prefix; one per text
//! text Protocol                          a named string type
//! alias ResourceList map[ResourceName]resource.Quantity
//! type ServiceSpec [atomic] [either] [unions=JSON]
//!   ports []ServicePort #1 omitempty list=map keys=port,protocol patch=merge merge=port
//! ```
//!
//! A field is one line: JSON name, Go type, flags. Types of other texts are named with the short
//! name of their package (`core.Protocol`). Flags: `omitempty`, `omitzero`, `required`,
//! `default=JSON`, `list=atomic|set|map`, `keys=A,B`, `map=atomic|granular`,
//! `patch=merge|replace|retainKeys` (joined by commas), `merge=KEY`, `via=NAME` for a field of an
//! embedded struct, and `#NUMBER` for its number in protobuf: `#2.7` is field 7 of the embedded
//! struct that is field 2. The fields of a type that is `either` are alternatives: its JSON is that
//! of one of them, an object, a list or a boolean.

use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value;

use super::{
    Field, FieldNumber, ListType, MapType, Omit, PatchStrategy, Schema, Shape, Type, TypeId,
    canonical::is_always_printed,
};

/// An error in the table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of package {package:?}: {problem}: {text:?}")]
pub struct SchemaError {
    pub package: String,
    pub line: usize,
    pub text: String,
    pub problem: &'static str,
}

/// The decoder tracks the fields seen in a bit set of this size.
const MOST_FIELDS: usize = 128;

/// The highest field number of protobuf.
const MOST_NUMBER: u32 = (1 << 29) - 1;

/// Types that are not structs of the table, with Go's name.
const LEAVES: &[(&str, Shape, &str)] = &[
    ("bool", Shape::Bool, "bool"),
    ("int32", Shape::Int32, "int32"),
    ("int64", Shape::Int64, "int64"),
    ("float64", Shape::Float, "float64"),
    ("[]byte", Shape::Bytes, "[]uint8"),
    ("resource.Quantity", Shape::Quantity, "resource.Quantity"),
    ("intstr.IntOrString", Shape::IntOrString, "intstr.IntOrString"),
    ("meta.Time", Shape::Time, "v1.Time"),
    ("meta.MicroTime", Shape::MicroTime, "v1.MicroTime"),
    ("meta.Duration", Shape::Duration, "v1.Duration"),
    ("meta.FieldsV1", Shape::Any, "v1.FieldsV1"),
    ("apiextensions.JSON", Shape::Any, "v1.JSON"),
    ("runtime.RawExtension", Shape::Any, "runtime.RawExtension"),
];

/// One text, and the lines of its types not yet parsed.
struct Package<'a> {
    short: &'a str,
    go: &'a str,
    prefix: &'a str,
    lines: Vec<(usize, &'a str)>,
}

/// All names, before fields are parsed.
#[derive(Default)]
struct Names<'a> {
    structs: FxHashMap<String, TypeId>,
    /// Those of the structs whose fields are alternatives.
    eithers: FxHashSet<TypeId>,
    texts: FxHashMap<String, String>,
    /// Go's name, and the type with fully qualified names.
    aliases: FxHashMap<String, (String, String)>,
    go: FxHashMap<&'a str, &'a str>,
}

type Problem = &'static str;

impl Schema {
    /// Parses the table. All texts are read before names are resolved, so their order does not
    /// matter.
    pub fn parse(texts: &[&str]) -> Result<Schema, SchemaError> {
        let mut schema = Schema::default();
        let mut names = Names::default();
        let mut packages = Vec::new();
        for text in texts {
            packages.push(package(text)?);
        }
        for package in &packages {
            names.go.insert(package.short, package.go);
            declare(package, &mut schema, &mut names)?;
        }
        for package in &packages {
            fill(package, &mut schema, &names)?;
        }
        for (go, target) in names.aliases.values() {
            let failed = |problem| error("", 0, target, problem);
            let (_, target) = shape_of(target, &names).map_err(failed)?;
            schema.aliases.insert(go.as_str().into(), target.into());
        }
        Ok(schema)
    }
}

fn error(package: &str, line: usize, text: &str, problem: Problem) -> SchemaError {
    SchemaError { package: package.to_owned(), line, text: text.to_owned(), problem }
}

fn package(text: &str) -> Result<Package<'_>, SchemaError> {
    let mut lines = text.lines().enumerate().map(|(at, line)| (at + 1, line));
    let (_, head) = lines.next().unwrap_or((1, ""));
    let words: Vec<&str> = head.split(' ').collect();
    let &["package", short, go, prefix] = words.as_slice() else {
        return Err(error("", 1, head, "expected: package SHORT GO PREFIX"));
    };
    let lines = lines.filter(|(_, line)| !line.trim().is_empty()).collect();
    Ok(Package { short, go, prefix, lines })
}

/// Declares all names of a package.
fn declare<'a>(
    package: &Package<'a>,
    schema: &mut Schema,
    names: &mut Names<'a>,
) -> Result<(), SchemaError> {
    for (line, text) in &package.lines {
        let failed = |problem| error(package.short, *line, text, problem);
        let mut words = text.split(' ');
        match (words.next(), words.next(), words.next()) {
            (Some(""), ..) => {}
            (Some("text"), Some(name), None) => {
                let go = format!("{}.{name}", package.go);
                names.texts.insert(format!("{}.{name}", package.short), go);
            }
            (Some("alias"), Some(name), Some(target)) => {
                let go = format!("{}.{name}", package.go);
                let target = qualified(package.short, target);
                names.aliases.insert(format!("{}.{name}", package.short), (go, target));
            }
            (Some("type"), Some(name), _) => {
                let id = TypeId(u16::try_from(schema.types.len()).map_err(|_| failed("too many"))?);
                names.structs.insert(format!("{}.{name}", package.short), id);
                let new = head(package, name, id, text).map_err(failed)?;
                if new.either {
                    names.eithers.insert(id);
                }
                if schema.by_name.insert(new.name.clone(), id).is_some() {
                    return Err(failed("declared twice"));
                }
                schema.types.push(new);
            }
            _ => return Err(failed("expected: text, alias, type, or a field")),
        }
    }
    Ok(())
}

/// A type without its fields.
fn head(package: &Package<'_>, name: &str, id: TypeId, text: &str) -> Result<Type, Problem> {
    let mut new = Type {
        name: format!("{}.{name}", package.prefix).into(),
        go: name.into(),
        package: package.go.into(),
        fields: Vec::new(),
        id,
        atomic: false,
        either: false,
        unions: None,
        by_name: FxHashMap::default(),
        printed: Vec::new(),
        numbered: Vec::new(),
    };
    for flag in text.split(' ').skip(2) {
        match flag.split_once('=') {
            None if flag == "atomic" => new.atomic = true,
            None if flag == "either" => new.either = true,
            Some(("unions", json)) => new.unions = Some(json_of(json)?),
            _ => return Err("unknown flag of a type"),
        }
    }
    Ok(new)
}

/// Parses the fields of a package's types.
fn fill(package: &Package<'_>, schema: &mut Schema, names: &Names<'_>) -> Result<(), SchemaError> {
    let mut current = None;
    for (line, text) in &package.lines {
        let failed = |problem| error(package.short, *line, text, problem);
        if let Some(rest) = text.strip_prefix("type ") {
            let name = rest.split(' ').next().unwrap_or(rest);
            current = names.structs.get(&format!("{}.{name}", package.short)).copied();
            continue;
        }
        let Some(text) = text.strip_prefix("  ") else { continue };
        let Some(id) = current else { return Err(failed("a field before any type")) };
        let field = field(package.short, text, names).map_err(failed)?;
        let of = &mut schema.types[usize::from(id.0)];
        let at = u16::try_from(of.fields.len()).map_err(|_| failed("too many fields"))?;
        if of.fields.len() == MOST_FIELDS {
            return Err(failed("too many fields"));
        }
        if of.by_name.insert(field.name.clone(), at).is_some() {
            return Err(failed("declared twice"));
        }
        if is_always_printed(&field) {
            of.printed.push(at);
        }
        if let Some(number) = field.number {
            add_number(of, number, at).map_err(failed)?;
        }
        of.fields.push(field);
    }
    Ok(())
}

fn add_number(of: &mut Type, number: FieldNumber, field: u16) -> Result<(), Problem> {
    let taken = match number.within {
        Some(within) => of.numbered(None, within).is_some(),
        None => of.embeds(number.number),
    };
    if taken || of.numbered(number.within, number.number).is_some() {
        return Err("a number of another field");
    }
    let at = of.numbered.partition_point(|(other, _)| other.order() < number.order());
    of.numbered.insert(at, (number, field));
    Ok(())
}

fn field(package: &str, text: &str, names: &Names<'_>) -> Result<Field, Problem> {
    let mut words = text.split(' ');
    let (Some(name), Some(written)) = (words.next(), words.next()) else {
        return Err("expected: NAME TYPE FLAGS");
    };
    let pointer = written.starts_with('*');
    let full = qualified(package, written.trim_start_matches('*'));
    let (shape, go) = shape_of(&full, names)?;
    let mut field = Field {
        name: name.into(),
        shape,
        go: go.into(),
        pointer,
        omit: Omit::Never,
        required: false,
        default: None,
        list: None,
        keys: Box::default(),
        map: None,
        patch: PatchStrategy::default(),
        merge_key: None,
        via: None,
        number: None,
    };
    words.try_for_each(|flag| set_flag(&mut field, flag))?;
    Ok(field)
}

fn set_flag(field: &mut Field, flag: &str) -> Result<(), Problem> {
    if let Some(number) = flag.strip_prefix('#') {
        field.number = Some(number_of(number)?);
        return Ok(());
    }
    match flag.split_once('=').unwrap_or((flag, "")) {
        ("omitempty", "") if field.omit == Omit::Never => field.omit = Omit::Empty,
        ("omitzero", "") => field.omit = Omit::Zero,
        ("required", "") => field.required = true,
        ("default", json) => field.default = Some(json_of(json)?),
        ("list", "atomic") => field.list = Some(ListType::Atomic),
        ("list", "set") => field.list = Some(ListType::Set),
        ("list", "map") => field.list = Some(ListType::Map),
        ("keys", keys) => field.keys = keys.split(',').map(Box::from).collect(),
        ("map", "atomic") => field.map = Some(MapType::Atomic),
        ("map", "granular") => field.map = Some(MapType::Granular),
        ("patch", strategy) => field.patch = strategy_of(strategy)?,
        ("merge", key) => field.merge_key = Some(key.into()),
        ("via", name) => field.via = Some(name.into()),
        _ => return Err("unknown flag of a field"),
    }
    Ok(())
}

fn number_of(text: &str) -> Result<FieldNumber, Problem> {
    let number = |text: &str| {
        let number = text.parse().ok().filter(|number| (1..=MOST_NUMBER).contains(number));
        number.ok_or("no number of a field")
    };
    let (within, text) = match text.split_once('.') {
        Some((within, text)) => (Some(number(within)?), text),
        None => (None, text),
    };
    Ok(FieldNumber { within, number: number(text)? })
}

fn strategy_of(text: &str) -> Result<PatchStrategy, Problem> {
    let mut strategy = PatchStrategy::default();
    for word in text.split(',') {
        match word {
            "merge" => strategy.merge = true,
            "replace" => strategy.replace = true,
            "retainKeys" => strategy.retain_keys = true,
            _ => return Err("unknown patch strategy"),
        }
    }
    Ok(strategy)
}

fn json_of(text: &str) -> Result<Value, Problem> {
    serde_json::from_str(text).map_err(|_| "no JSON")
}

/// Adds the package to unqualified names: those with a capital letter and no dot.
fn qualified(package: &str, text: &str) -> String {
    let mut out = String::with_capacity(text.len() + package.len());
    for word in text.split_inclusive(['[', ']']) {
        if word.starts_with(|c: char| c.is_ascii_uppercase()) {
            out.push_str(package);
            out.push('.');
        }
        out.push_str(word);
    }
    out
}

/// The shape of a type with fully qualified names, and Go's name for it.
fn shape_of(text: &str, names: &Names<'_>) -> Result<(Shape, String), Problem> {
    if let Some((_, shape, go)) = LEAVES.iter().find(|(name, ..)| *name == text) {
        return Ok((shape.clone(), (*go).to_owned()));
    }
    if let Some(element) = text.strip_prefix("[]") {
        let (shape, go) = shape_of(element, names)?;
        return Ok((Shape::List(Box::new(shape)), format!("[]{go}")));
    }
    if let Some((key, element)) = text.strip_prefix("map[").and_then(|rest| rest.split_once(']')) {
        let ((key, key_go), (shape, go)) = (shape_of(key, names)?, shape_of(element, names)?);
        if !matches!(key, Shape::Text(_)) {
            return Err("the key of a map must be a text");
        }
        return Ok((Shape::Map(Box::new(shape)), format!("map[{key_go}]{go}")));
    }
    if let Some((go, target)) = names.aliases.get(text) {
        return Ok((shape_of(target, names)?.0, go.clone()));
    }
    if let Some(id) = names.structs.get(text) {
        let (package, name) = text.split_once('.').ok_or("a name without package")?;
        let package = names.go.get(package).ok_or("unknown package")?;
        let shape = match names.eithers.contains(id) {
            true => Shape::Either(*id),
            false => Shape::Struct(*id),
        };
        return Ok((shape, format!("{package}.{name}")));
    }
    let go = match text {
        "string" | "types.UID" => text.to_owned(),
        _ => names.texts.get(text).ok_or("unknown type")?.clone(),
    };
    Ok((Shape::Text(go.as_str().into()), go))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_read_with_names_across_texts() {
        let schema = Schema::parse(&[
            "package a v1 io.a\ntype T atomic\n  list []b.U omitempty list=map keys=x,y patch=merge,retainKeys merge=x\n  when *meta.Time via=E\n  extra map[string]L default={\"a\":1}",
            "package b v2 io.b\ntext N\nalias L []N\ntype U\n  x N required\n",
            "package a2 v1 io.a2\nalias L []string",
        ]);
        assert_eq!(schema.expect_err("L is of b").problem, "unknown type");
        let schema = Schema::parse(&[
            "package a v1 io.a\ntype T atomic\n  list []b.U omitempty list=map keys=x,y patch=merge,retainKeys merge=x\n  when *meta.Time via=E\n  extra map[string]b.L default={\"a\":1}",
            "package b v2 io.b\ntext N\nalias L []N\ntype U\n  x N required\n",
        ])
        .expect("a good table");
        let of = schema.named("io.a.T").expect("declared");
        assert!(of.atomic);
        let list = of.field("list").expect("declared");
        assert_eq!((&*list.go, list.omit, list.list), ("[]v2.U", Omit::Empty, Some(ListType::Map)));
        assert_eq!((list.keys.len(), list.merge_key.as_deref()), (2, Some("x")));
        assert!(list.patch.merge && list.patch.retain_keys && !list.patch.replace);
        let when = of.field("when").expect("declared");
        assert_eq!((when.pointer, when.via.as_deref()), (true, Some("E")));
        let extra = of.field("extra").expect("declared");
        assert_eq!(&*extra.go, "map[string]v2.L");
        assert_eq!(schema.inner(schema.inner(&extra.go)), "v2.N");
    }

    #[test]
    fn fields_are_found_by_their_numbers_and_listed_in_their_order() {
        let text = "package a v1 io.a\ntype T\n  c bool #3\n  k string via=TypeMeta\n  f bool #2.9\n  \
            e bool #2.3\n  a bool #1";
        let schema = Schema::parse(&[text]).expect("a good table");
        let of = schema.named("io.a.T").expect("declared");
        let name = |within, number| of.numbered(within, number).map(|field| &*field.name);
        for (within, number, expected) in [
            (None, 1, Some("a")),
            (None, 2, None),
            (None, 3, Some("c")),
            (None, 9, None),
            (Some(2), 3, Some("e")),
            (Some(2), 9, Some("f")),
            (Some(3), 3, None),
        ] {
            assert_eq!(name(within, number), expected, "{within:?} {number}");
        }
        assert_eq!([1, 2, 3, 4].map(|number| of.embeds(number)), [false, true, false, false]);
        let order: Vec<usize> = of.by_number().map(|(_, at, _)| at).collect();
        assert_eq!(order, [4, 3, 2, 0]);
    }

    #[test]
    fn an_invalid_table_is_reported_with_its_line() {
        for (text, line, problem) in [
            ("", 1, "expected: package SHORT GO PREFIX"),
            ("package a v1 io.a\n  x string", 2, "a field before any type"),
            ("package a v1 io.a\ntype T\n  x strin", 3, "unknown type"),
            ("package a v1 io.a\ntype T\n  x string often", 3, "unknown flag of a field"),
            ("package a v1 io.a\ntype T\n  x string\n  x bool", 4, "declared twice"),
            ("package a v1 io.a\ntype T\n  x map[bool]bool", 3, "the key of a map must be a text"),
            ("package a v1 io.a\ntype T\n  x bool #0", 3, "no number of a field"),
            ("package a v1 io.a\ntype T\n  x bool #1.", 3, "no number of a field"),
            ("package a v1 io.a\ntype T\n  x bool #536870912", 3, "no number of a field"),
            ("package a v1 io.a\ntype T\n  x bool #1\n  y bool #1", 4, "a number of another field"),
            (
                "package a v1 io.a\ntype T\n  x bool #2.1\n  y bool #2.1",
                4,
                "a number of another field",
            ),
            (
                "package a v1 io.a\ntype T\n  x bool #2.1\n  y bool #2",
                4,
                "a number of another field",
            ),
            (
                "package a v1 io.a\ntype T\n  x bool #2\n  y bool #2.1",
                4,
                "a number of another field",
            ),
        ] {
            let error = Schema::parse(&[text]).expect_err(text);
            assert_eq!((error.line, error.problem), (line, problem), "{text}");
        }
    }
}
