//! The functions that rules may call: those of Kubernetes 1.36, which is what 1.37 accepts in new
//! definitions, less the gaps below.
//!
//! Sources: `k8s.io/apiserver/pkg/cel/environment/base.go` for which libraries there are, and the
//! libraries for their signatures. A signature is `receiver:name(parameters) result`, or without a
//! receiver for functions that are called plainly; `A` and `B` are any type.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock},
};

use super::{cost::Cost, types::Type};

/// One signature of a function.
#[derive(Debug)]
pub(super) struct Overload {
    /// Whether the first parameter is a receiver.
    pub(super) is_member: bool,
    pub(super) parameters: Vec<Type>,
    pub(super) result: Type,
    pub(super) cost: Cost,
    pub(super) run: Run,
}

/// What evaluates a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Run {
    /// The function of `kube-cel` of the same name.
    Library,
    Size,
    Contains,
    StartsWith,
    EndsWith,
    Matches,
    Find,
    FindAll,
    Replace,
    Join,
    Range,
    Bool,
    Bytes,
    Double,
    Int,
    String,
    Uint,
    Duration,
    Timestamp,
    Dyn,
    TypeOf,
    None,
    Of,
    OfNonZero,
    HasValue,
    Value,
    /// The sum of a list, which is this if it is empty.
    Sum(Zero),
    /// `quantity` of `kube-cel`, within the range that it calculates without overflow.
    Quantity,
    IsQuantity,
    /// `string.format`.
    Format,
    /// `format.named`, which is not optional in `kube-cel`.
    NamedFormat,
    Part(Part),
}

/// Nothing, of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Zero {
    Int,
    Uint,
    Double,
    Duration,
}

/// A part of a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    FullYear,
    Month,
    DayOfMonth,
    Date,
    DayOfYear,
    DayOfWeek,
    Hours,
    Minutes,
    Seconds,
    Milliseconds,
}

impl Run {
    /// Whether `kube-cel` is called, if not for every value.
    pub(super) fn calls_library(self) -> bool {
        matches!(
            self,
            Run::Library
                | Run::String
                | Run::NamedFormat
                | Run::Format
                | Run::Quantity
                | Run::IsQuantity
        )
    }

    /// Whether it converts to another type, and so does a constant when it is checked.
    pub(super) fn is_conversion(self) -> bool {
        matches!(
            self,
            Run::Bool
                | Run::Bytes
                | Run::Double
                | Run::Int
                | Run::String
                | Run::Uint
                | Run::Duration
                | Run::Timestamp
                | Run::Dyn
        )
    }
}

/// The overloads of a function; nothing if there is no such function.
pub(super) fn overloads(name: &str) -> Option<&'static [Overload]> {
    TABLE.get(name).map(Vec::as_slice)
}

/// What Kubernetes has and this server has not.
pub(super) fn is_gap(name: &str, arguments: usize) -> bool {
    match name {
        "sortBy" | "includes" | "transformList" | "transformMap" | "transformMapEntry" => true,
        // Comprehensions with two variables.
        "all" | "exists" | "existsOne" | "exists_one" => arguments == 3,
        // Parts of a time in a time zone.
        _ => arguments == 1 && PARTS.iter().any(|(part, _)| *part == name),
    }
}

const PARTS: [(&str, Part); 10] = [
    ("getFullYear", Part::FullYear),
    ("getMonth", Part::Month),
    ("getDayOfMonth", Part::DayOfMonth),
    ("getDate", Part::Date),
    ("getDayOfYear", Part::DayOfYear),
    ("getDayOfWeek", Part::DayOfWeek),
    ("getHours", Part::Hours),
    ("getMinutes", Part::Minutes),
    ("getSeconds", Part::Seconds),
    ("getMilliseconds", Part::Milliseconds),
];

const FUNCTIONS: &[(Cost, Run, &str)] = &[
    // Operators on values of any size are costed where they are checked.
    (Cost::One, Run::Library, "!_(bool) bool"),
    (Cost::One, Run::Library, "-_(int) int"),
    (Cost::One, Run::Library, "-_(double) double"),
    (Cost::One, Run::Library, "_+_(int, int) int"),
    (Cost::One, Run::Library, "_+_(uint, uint) uint"),
    (Cost::One, Run::Library, "_+_(double, double) double"),
    (Cost::One, Run::Library, "_+_(string, string) string"),
    (Cost::One, Run::Library, "_+_(bytes, bytes) bytes"),
    (Cost::One, Run::Library, "_+_(list(A), list(A)) list(A)"),
    (Cost::One, Run::Library, "_+_(timestamp, duration) timestamp"),
    (Cost::One, Run::Library, "_+_(duration, timestamp) timestamp"),
    (Cost::One, Run::Library, "_+_(duration, duration) duration"),
    (Cost::One, Run::Library, "_-_(int, int) int"),
    (Cost::One, Run::Library, "_-_(uint, uint) uint"),
    (Cost::One, Run::Library, "_-_(double, double) double"),
    (Cost::One, Run::Library, "_-_(timestamp, timestamp) duration"),
    (Cost::One, Run::Library, "_-_(timestamp, duration) timestamp"),
    (Cost::One, Run::Library, "_-_(duration, duration) duration"),
    (Cost::One, Run::Library, "_*_(int, int) int"),
    (Cost::One, Run::Library, "_*_(uint, uint) uint"),
    (Cost::One, Run::Library, "_*_(double, double) double"),
    (Cost::One, Run::Library, "_/_(int, int) int"),
    (Cost::One, Run::Library, "_/_(uint, uint) uint"),
    (Cost::One, Run::Library, "_/_(double, double) double"),
    (Cost::One, Run::Library, "_%_(int, int) int"),
    (Cost::One, Run::Library, "_%_(uint, uint) uint"),
    (Cost::One, Run::Library, "_==_(A, A) bool"),
    (Cost::One, Run::Library, "_!=_(A, A) bool"),
    (Cost::One, Run::Library, "@in(A, list(A)) bool"),
    (Cost::One, Run::Library, "@in(A, map(A, B)) bool"),
    (Cost::One, Run::Library, "_?_:_(bool, A, A) A"),
    (Cost::One, Run::Library, "_&&_(bool, bool) bool"),
    (Cost::One, Run::Library, "_||_(bool, bool) bool"),
    // The standard library.
    (Cost::One, Run::Size, "size(string) int"),
    (Cost::One, Run::Size, "size(bytes) int"),
    (Cost::One, Run::Size, "size(list(A)) int"),
    (Cost::One, Run::Size, "size(map(A, B)) int"),
    (Cost::One, Run::Size, "string:size() int"),
    (Cost::One, Run::Size, "bytes:size() int"),
    (Cost::One, Run::Size, "list(A):size() int"),
    (Cost::One, Run::Size, "map(A, B):size() int"),
    (Cost::Contains, Run::Contains, "string:contains(string) bool"),
    (Cost::Pass(1, 1), Run::StartsWith, "string:startsWith(string) bool"),
    (Cost::Pass(1, 1), Run::EndsWith, "string:endsWith(string) bool"),
    (Cost::Regex, Run::Matches, "string:matches(string) bool"),
    (Cost::Regex, Run::Matches, "matches(string, string) bool"),
    (Cost::One, Run::Bool, "bool(bool) bool"),
    (Cost::One, Run::Bool, "bool(string) bool"),
    (Cost::One, Run::Bytes, "bytes(bytes) bytes"),
    (Cost::Pass(0, 1), Run::Bytes, "bytes(string) bytes"),
    (Cost::One, Run::Double, "double(double) double"),
    (Cost::One, Run::Double, "double(int) double"),
    (Cost::One, Run::Double, "double(string) double"),
    (Cost::One, Run::Double, "double(uint) double"),
    (Cost::One, Run::Int, "int(int) int"),
    (Cost::One, Run::Int, "int(uint) int"),
    (Cost::One, Run::Int, "int(double) int"),
    (Cost::One, Run::Int, "int(string) int"),
    (Cost::One, Run::Int, "int(timestamp) int"),
    (Cost::One, Run::Uint, "uint(uint) uint"),
    (Cost::One, Run::Uint, "uint(int) uint"),
    (Cost::One, Run::Uint, "uint(double) uint"),
    (Cost::One, Run::Uint, "uint(string) uint"),
    (Cost::One, Run::String, "string(string) string"),
    (Cost::One, Run::String, "string(bool) string"),
    (Cost::Pass(0, 1), Run::String, "string(bytes) string"),
    (Cost::One, Run::String, "string(double) string"),
    (Cost::One, Run::String, "string(duration) string"),
    (Cost::One, Run::String, "string(int) string"),
    (Cost::One, Run::String, "string(timestamp) string"),
    (Cost::One, Run::String, "string(uint) string"),
    (Cost::One, Run::String, "string(net.IP) string"),
    (Cost::One, Run::String, "string(net.CIDR) string"),
    (Cost::One, Run::Duration, "duration(duration) duration"),
    (Cost::One, Run::Duration, "duration(string) duration"),
    (Cost::One, Run::Timestamp, "timestamp(timestamp) timestamp"),
    (Cost::One, Run::Timestamp, "timestamp(int) timestamp"),
    (Cost::One, Run::Timestamp, "timestamp(string) timestamp"),
    (Cost::One, Run::Dyn, "dyn(A) dyn"),
    (Cost::One, Run::TypeOf, "type(A) type"),
    // Optional values.
    (Cost::One, Run::None, "optional.none() optional(A)"),
    (Cost::One, Run::Of, "optional.of(A) optional(A)"),
    (Cost::One, Run::OfNonZero, "optional.ofNonZeroValue(A) optional(A)"),
    (Cost::One, Run::HasValue, "optional(A):hasValue() bool"),
    (Cost::One, Run::Value, "optional(A):value() A"),
    (Cost::One, Run::Library, "optional(A):or(optional(A)) optional(A)"),
    (Cost::One, Run::Library, "optional(A):orValue(A) A"),
    // cel-go's strings, version 2.
    (Cost::One, Run::Library, "string:charAt(int) string"),
    (Cost::Elements, Run::Library, "string:indexOf(string) int"),
    (Cost::Elements, Run::Library, "string:indexOf(string, int) int"),
    (Cost::Elements, Run::Library, "string:lastIndexOf(string) int"),
    (Cost::Elements, Run::Library, "string:lastIndexOf(string, int) int"),
    (Cost::Join, Run::Join, "list(string):join() string"),
    (Cost::Join, Run::Join, "list(string):join(string) string"),
    (Cost::Pass(0, 1), Run::Library, "string:lowerAscii() string"),
    (Cost::Pass(0, 1), Run::Library, "string:upperAscii() string"),
    (Cost::Pass(0, 1), Run::Library, "string:trim() string"),
    (Cost::Pass(0, 1), Run::Library, "string:substring(int) string"),
    (Cost::Pass(0, 1), Run::Library, "string:substring(int, int) string"),
    (Cost::Replace, Run::Replace, "string:replace(string, string) string"),
    (Cost::Replace, Run::Replace, "string:replace(string, string, int) string"),
    (Cost::Split, Run::Library, "string:split(string) list(string)"),
    (Cost::Split, Run::Library, "string:split(string, int) list(string)"),
    (Cost::Pass(0, 1), Run::Library, "strings.quote(string) string"),
    (Cost::Pass(0, 1), Run::Format, "string:format(list(dyn)) string"),
    // cel-go's lists, version 3.
    (Cost::Slice, Run::Library, "list(A):slice(int, int) list(A)"),
    (Cost::Flatten, Run::Library, "list(list(A)):flatten() list(A)"),
    (Cost::Flatten, Run::Library, "list(dyn):flatten(int) list(dyn)"),
    (Cost::Square, Run::Library, "list(int):sort() list(int)"),
    (Cost::Square, Run::Library, "list(uint):sort() list(uint)"),
    (Cost::Square, Run::Library, "list(double):sort() list(double)"),
    (Cost::Square, Run::Library, "list(bool):sort() list(bool)"),
    (Cost::Square, Run::Library, "list(string):sort() list(string)"),
    (Cost::Square, Run::Library, "list(duration):sort() list(duration)"),
    (Cost::Square, Run::Library, "list(timestamp):sort() list(timestamp)"),
    (Cost::Square, Run::Library, "list(A):distinct() list(A)"),
    (Cost::Slice, Run::Library, "list(A):reverse() list(A)"),
    (Cost::One, Run::Library, "list(A):first() optional(A)"),
    (Cost::One, Run::Library, "list(A):last() optional(A)"),
    (Cost::Range, Run::Range, "lists.range(int) list(int)"),
    // Kubernetes' lists.
    (Cost::Elements, Run::Library, "list(int):isSorted() bool"),
    (Cost::Elements, Run::Library, "list(uint):isSorted() bool"),
    (Cost::Elements, Run::Library, "list(double):isSorted() bool"),
    (Cost::Elements, Run::Library, "list(bool):isSorted() bool"),
    (Cost::Elements, Run::Library, "list(string):isSorted() bool"),
    (Cost::Elements, Run::Library, "list(duration):isSorted() bool"),
    (Cost::Elements, Run::Library, "list(timestamp):isSorted() bool"),
    (Cost::Elements, Run::Sum(Zero::Int), "list(int):sum() int"),
    (Cost::Elements, Run::Sum(Zero::Uint), "list(uint):sum() uint"),
    (Cost::Elements, Run::Sum(Zero::Double), "list(double):sum() double"),
    (Cost::Elements, Run::Sum(Zero::Duration), "list(duration):sum() duration"),
    (Cost::Elements, Run::Library, "list(int):max() int"),
    (Cost::Elements, Run::Library, "list(uint):max() uint"),
    (Cost::Elements, Run::Library, "list(double):max() double"),
    (Cost::Elements, Run::Library, "list(string):max() string"),
    (Cost::Elements, Run::Library, "list(duration):max() duration"),
    (Cost::Elements, Run::Library, "list(timestamp):max() timestamp"),
    (Cost::Elements, Run::Library, "list(int):min() int"),
    (Cost::Elements, Run::Library, "list(uint):min() uint"),
    (Cost::Elements, Run::Library, "list(double):min() double"),
    (Cost::Elements, Run::Library, "list(string):min() string"),
    (Cost::Elements, Run::Library, "list(duration):min() duration"),
    (Cost::Elements, Run::Library, "list(timestamp):min() timestamp"),
    (Cost::Elements, Run::Library, "list(A):indexOf(A) int"),
    (Cost::Elements, Run::Library, "list(A):lastIndexOf(A) int"),
    // Sets.
    (Cost::Product(1), Run::Library, "sets.contains(list(A), list(A)) bool"),
    (Cost::Product(2), Run::Library, "sets.equivalent(list(A), list(A)) bool"),
    (Cost::Product(1), Run::Library, "sets.intersects(list(A), list(A)) bool"),
    // Regular expressions.
    (Cost::Regex, Run::Find, "string:find(string) string"),
    (Cost::Regex, Run::FindAll, "string:findAll(string) list(string)"),
    (Cost::Regex, Run::FindAll, "string:findAll(string, int) list(string)"),
    // URLs.
    (Cost::Pass(0, 1), Run::Library, "url(string) kubernetes.URL"),
    (Cost::One, Run::Library, "isURL(string) bool"),
    (Cost::One, Run::Library, "kubernetes.URL:getScheme() string"),
    (Cost::One, Run::Library, "kubernetes.URL:getHost() string"),
    (Cost::One, Run::Library, "kubernetes.URL:getHostname() string"),
    (Cost::One, Run::Library, "kubernetes.URL:getPort() string"),
    (Cost::One, Run::Library, "kubernetes.URL:getEscapedPath() string"),
    (Cost::One, Run::Library, "kubernetes.URL:getQuery() map(string, list(string))"),
    // Addresses.
    (Cost::Pass(0, 1), Run::Library, "ip(string) net.IP"),
    (Cost::Pass(0, 1), Run::Library, "isIP(string) bool"),
    (Cost::Pass(0, 2), Run::Library, "ip.isCanonical(string) bool"),
    (Cost::One, Run::Library, "net.IP:family() int"),
    (Cost::One, Run::Library, "net.IP:isUnspecified() bool"),
    (Cost::One, Run::Library, "net.IP:isLoopback() bool"),
    (Cost::One, Run::Library, "net.IP:isLinkLocalMulticast() bool"),
    (Cost::One, Run::Library, "net.IP:isLinkLocalUnicast() bool"),
    (Cost::One, Run::Library, "net.IP:isGlobalUnicast() bool"),
    (Cost::Pass(0, 1), Run::Library, "cidr(string) net.CIDR"),
    (Cost::Pass(0, 1), Run::Library, "isCIDR(string) bool"),
    (Cost::Address(4), Run::Library, "net.CIDR:containsIP(string) bool"),
    (Cost::Address(4), Run::Library, "net.CIDR:containsIP(net.IP) bool"),
    (Cost::Address(7), Run::Library, "net.CIDR:containsCIDR(string) bool"),
    (Cost::Address(7), Run::Library, "net.CIDR:containsCIDR(net.CIDR) bool"),
    (Cost::One, Run::Library, "net.CIDR:ip() net.IP"),
    (Cost::One, Run::Library, "net.CIDR:prefixLength() int"),
    (Cost::One, Run::Library, "net.CIDR:masked() net.CIDR"),
    // Quantities.
    (Cost::Pass(0, 1), Run::Quantity, "quantity(string) kubernetes.Quantity"),
    (Cost::Pass(0, 1), Run::IsQuantity, "isQuantity(string) bool"),
    (Cost::One, Run::Library, "sign(kubernetes.Quantity) int"),
    (Cost::One, Run::Library, "kubernetes.Quantity:isGreaterThan(kubernetes.Quantity) bool"),
    (Cost::One, Run::Library, "kubernetes.Quantity:isLessThan(kubernetes.Quantity) bool"),
    (Cost::One, Run::Library, "kubernetes.Quantity:compareTo(kubernetes.Quantity) int"),
    (Cost::One, Run::Library, "kubernetes.Quantity:asApproximateFloat() double"),
    (Cost::One, Run::Library, "kubernetes.Quantity:asInteger() int"),
    (Cost::One, Run::Library, "kubernetes.Quantity:isInteger() bool"),
    (Cost::One, Run::Library, "kubernetes.Quantity:add(kubernetes.Quantity) kubernetes.Quantity"),
    (Cost::One, Run::Library, "kubernetes.Quantity:add(int) kubernetes.Quantity"),
    (Cost::One, Run::Library, "kubernetes.Quantity:sub(kubernetes.Quantity) kubernetes.Quantity"),
    (Cost::One, Run::Library, "kubernetes.Quantity:sub(int) kubernetes.Quantity"),
    // Semantic versions.
    (Cost::Pass(0, 1), Run::Library, "semver(string) kubernetes.Semver"),
    (Cost::Pass(0, 1), Run::Library, "semver(string, bool) kubernetes.Semver"),
    (Cost::Pass(0, 1), Run::Library, "isSemver(string) bool"),
    (Cost::Pass(0, 1), Run::Library, "isSemver(string, bool) bool"),
    (Cost::One, Run::Library, "kubernetes.Semver:isGreaterThan(kubernetes.Semver) bool"),
    (Cost::One, Run::Library, "kubernetes.Semver:isLessThan(kubernetes.Semver) bool"),
    (Cost::One, Run::Library, "kubernetes.Semver:compareTo(kubernetes.Semver) int"),
    (Cost::One, Run::Library, "kubernetes.Semver:major() int"),
    (Cost::One, Run::Library, "kubernetes.Semver:minor() int"),
    (Cost::One, Run::Library, "kubernetes.Semver:patch() int"),
    // Named formats.
    (Cost::One, Run::NamedFormat, "format.named(string) optional(kubernetes.NamedFormat)"),
    (Cost::One, Run::Library, "format.dns1123Label() kubernetes.NamedFormat"),
    (Cost::One, Run::Library, "format.dns1123Subdomain() kubernetes.NamedFormat"),
    (Cost::One, Run::Library, "format.dns1035Label() kubernetes.NamedFormat"),
    (Cost::One, Run::Library, "format.dns1123LabelPrefix() kubernetes.NamedFormat"),
    (Cost::One, Run::Library, "format.dns1123SubdomainPrefix() kubernetes.NamedFormat"),
    (Cost::One, Run::Library, "format.dns1035LabelPrefix() kubernetes.NamedFormat"),
    (Cost::One, Run::Library, "format.qualifiedName() kubernetes.NamedFormat"),
    (Cost::One, Run::Library, "format.labelValue() kubernetes.NamedFormat"),
    (Cost::One, Run::Library, "format.uri() kubernetes.NamedFormat"),
    (Cost::One, Run::Library, "format.uuid() kubernetes.NamedFormat"),
    (Cost::One, Run::Library, "format.byte() kubernetes.NamedFormat"),
    (Cost::One, Run::Library, "format.date() kubernetes.NamedFormat"),
    (Cost::One, Run::Library, "format.datetime() kubernetes.NamedFormat"),
    (
        Cost::Validate,
        Run::Library,
        "kubernetes.NamedFormat:validate(string) optional(list(string))",
    ),
];

/// Comparable types; numbers compare with one another.
const COMPARABLE: [&str; 12] = [
    "bool, bool",
    "int, int",
    "int, uint",
    "int, double",
    "uint, uint",
    "uint, int",
    "uint, double",
    "double, double",
    "double, int",
    "double, uint",
    "string, string",
    "bytes, bytes",
];

static TABLE: LazyLock<HashMap<String, Vec<Overload>>> = LazyLock::new(|| {
    let mut table: HashMap<String, Vec<Overload>> = HashMap::new();
    let mut add = |cost, run, signature: &str| {
        let (name, overload) = overload(cost, run, signature);
        table.entry(name.to_owned()).or_default().push(overload);
    };
    for (cost, run, signature) in FUNCTIONS {
        add(*cost, *run, signature);
    }
    for operator in ["_<_", "_<=_", "_>_", "_>=_"] {
        for types in COMPARABLE.iter().chain(&["timestamp, timestamp", "duration, duration"]) {
            add(Cost::One, Run::Library, &format!("{operator}({types}) bool"));
        }
    }
    for (name, part) in PARTS {
        add(Cost::One, Run::Part(part), &format!("timestamp:{name}() int"));
        if matches!(part, Part::Hours | Part::Minutes | Part::Seconds | Part::Milliseconds) {
            add(Cost::One, Run::Part(part), &format!("duration:{name}() int"));
        }
    }
    table
});

fn overload(cost: Cost, run: Run, signature: &str) -> (&str, Overload) {
    let (head, result) = signature.rsplit_once(") ").expect("a signature has a result");
    let (receiver, call) = match head.split_once(':') {
        Some((receiver, call)) if !head.starts_with("_?_:_") => (Some(receiver), call),
        _ => (None, head),
    };
    let (name, parameters) = call.split_once('(').expect("a signature has parameters");
    let types = receiver.into_iter().chain(split(parameters)).map(parse).collect();
    (
        name,
        Overload {
            is_member: receiver.is_some(),
            parameters: types,
            result: parse(result),
            cost,
            run,
        },
    )
}

/// The types of a list of types, of which some have parameters.
fn split(types: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut depth) = (0, 0);
    for (at, c) in types.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(types[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(types[start..].trim());
    parts.retain(|part| !part.is_empty());
    parts
}

fn parse(text: &str) -> Type {
    match text {
        "A" => Type::A,
        "B" => Type::B,
        "bool" => Type::Bool,
        "bytes" => Type::Bytes,
        "double" => Type::Double,
        "duration" => Type::Duration,
        "dyn" => Type::Dyn,
        "int" => Type::Int,
        "string" => Type::String,
        "timestamp" => Type::Timestamp,
        "type" => Type::Meta,
        "uint" => Type::Uint,
        "kubernetes.NamedFormat" => Type::Opaque("kubernetes.NamedFormat"),
        "kubernetes.Quantity" => Type::Opaque("kubernetes.Quantity"),
        "kubernetes.Semver" => Type::Opaque("kubernetes.Semver"),
        "kubernetes.URL" => Type::Opaque("kubernetes.URL"),
        "net.CIDR" => Type::Opaque("net.CIDR"),
        "net.IP" => Type::Opaque("net.IP"),
        _ => parametrized(text),
    }
}

fn parametrized(text: &str) -> Type {
    let inner = |prefix: &str| text.strip_prefix(prefix).map(|rest| &rest[..rest.len() - 1]);
    if let Some(element) = inner("list(") {
        return Type::list(parse(element));
    }
    if let Some(value) = inner("optional(") {
        return Type::optional(parse(value));
    }
    match split(inner("map(").unwrap_or_default())[..] {
        [key, value] => Type::Map(Arc::new(parse(key)), Arc::new(parse(value))),
        _ => unreachable!("the table names only types of this list: {text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_signature_is_read_as_it_is_written() {
        assert!(TABLE.len() > 100);
        let overload = &overloads("getQuery").unwrap()[0];
        assert!(overload.is_member);
        assert_eq!(overload.result.to_string(), "map(string, list(string))");
        let overload = &overloads("_?_:_").unwrap()[0];
        assert_eq!(overload.parameters.len(), 3);
        assert!(overloads("math.greatest").is_none());
    }
}
