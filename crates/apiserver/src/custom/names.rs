//! The condition `NamesAccepted`: which definition of a group has which names.
//!
//! Whoever is first has a name; another definition that wants it waits until it is released. With
//! an index of names, a decision takes O(k log n) for k names of the definition and n in all;
//! Kubernetes lists all definitions instead. Names of built-in resources are in use forever, where
//! Kubernetes accepts a definition that is then never served.
//!
//! Source: `controller/status/naming_controller.go`.

mod index;

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Value, json};

use self::index::{Index, Name};
use super::conditions::{self, Condition, ESTABLISHED, NAMES_ACCEPTED};
use crate::{
    invalid::quoted,
    kinds::read::{at, entry, list, text},
};

/// The names of all definitions and of the built-in resources.
#[derive(Debug, Default)]
pub(crate) struct NamesInUse {
    index: Index,
    /// Group and plural.
    built_in: BTreeSet<(String, String)>,
}

/// The names of a built-in resource.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BuiltIn<'a> {
    pub(crate) group: &'a str,
    pub(crate) plural: &'a str,
    pub(crate) singular: &'a str,
    pub(crate) short_names: &'a [&'a str],
    pub(crate) kind: &'a str,
    pub(crate) list_kind: &'a str,
}

/// The names in a spec, or those accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Names {
    plural: String,
    singular: String,
    short_names: Vec<String>,
    kind: String,
    list_kind: String,
    categories: Vec<String>,
}

/// Characters of a message about several names.
const MOST_MESSAGE: usize = 4096;

// === impl NamesInUse ===

impl NamesInUse {
    pub(crate) fn new<'a>(built_in: impl IntoIterator<Item = BuiltIn<'a>>) -> NamesInUse {
        let mut all = NamesInUse::default();
        for one in built_in {
            let BuiltIn { group, plural, singular, short_names, kind, list_kind } = one;
            let resources = [plural, singular].into_iter().chain(short_names.iter().copied());
            let names =
                resources.map(|name| (false, name)).chain([(true, kind), (true, list_kind)]);
            for (is_kind, name) in names {
                let name = Name { group: group.to_owned(), is_kind, name: name.to_owned() };
                all.index.reserve(name);
            }
            all.built_in.insert((group.to_owned(), plural.to_owned()));
        }
        all
    }

    /// Whether a resource is built in.
    pub(crate) fn is_built_in(&self, group: &str, plural: &str) -> bool {
        self.built_in.contains(&(group.to_owned(), plural.to_owned()))
    }

    /// Takes note of a definition, new or changed. Returns the other definitions to be decided
    /// again, since they wait for a name that it had.
    pub(crate) fn apply(&mut self, definition: &Value) -> BTreeSet<String> {
        let name = text(definition, &["metadata", "name"]);
        let group = text(definition, &["spec", "group"]);
        let accepted = Names::of(at(definition, &["status", "acceptedNames"])).in_group(group);
        let wanted = Names::of(at(definition, &["spec", "names"])).in_group(group);
        self.index.replace(name, accepted, wanted)
    }

    /// Forgets a definition that was removed. Returns those to be decided again.
    pub(crate) fn remove(&mut self, name: &str) -> BTreeSet<String> {
        self.index.replace(name, BTreeSet::new(), BTreeSet::new())
    }

    /// Decides which of its names a definition has, and enters them in its status.
    pub(crate) fn decide(&self, definition: &mut Value, now: Timestamp) -> bool {
        let group = text(definition, &["spec", "group"]).to_owned();
        let wanted = Names::of(at(definition, &["spec", "names"]));
        let accepted = Names::of(at(definition, &["status", "acceptedNames"]));
        if self.is_built_in(&group, &wanted.plural) {
            return refuse(definition, &wanted.plural, &group, now);
        }
        if wanted == accepted {
            return false;
        }
        let (names, conflict) = self.accept(&group, &wanted, &accepted);
        let condition = match conflict {
            Some((reason, message)) => {
                Condition { type_: NAMES_ACCEPTED, status: "False", reason, message }
            }
            None => Condition {
                type_: NAMES_ACCEPTED,
                status: "True",
                reason: "NoConflicts",
                message: "no conflicts found".to_owned(),
            },
        };
        let is_accepted = condition.status == "True";
        let is_same = conditions::find(definition, NAMES_ACCEPTED)
            .is_some_and(|present| is_equivalent(present, &condition));
        if names == accepted && is_same {
            return false;
        }
        *entry(definition, &["status", "acceptedNames"]) = names.to_value();
        conditions::set(definition, &condition, now);
        set_established(definition, is_accepted, now);
        true
    }

    /// The names that a definition then has, and the last conflict: reason and message.
    fn accept(
        &self,
        group: &str,
        wanted: &Names,
        accepted: &Names,
    ) -> (Names, Option<(&'static str, String)>) {
        let mut names = accepted.clone();
        let mut conflict = None;
        let mut decide =
            |reason: &'static str, taken: Option<String>, accept: &mut dyn FnMut()| match taken {
                Some(message) => conflict = Some((reason, message)),
                None => accept(),
            };
        let taken = |is_kind: bool, wanted: &str, accepted: &str| {
            let is_taken = wanted != accepted && self.is_used(group, is_kind, wanted);
            is_taken.then(|| in_use(wanted))
        };
        decide("PluralConflict", taken(false, &wanted.plural, &accepted.plural), &mut || {
            names.plural.clone_from(&wanted.plural);
        });
        decide("SingularConflict", taken(false, &wanted.singular, &accepted.singular), &mut || {
            names.singular.clone_from(&wanted.singular);
        });
        decide("ShortNamesConflict", self.short_names_taken(group, wanted, accepted), &mut || {
            names.short_names.clone_from(&wanted.short_names);
        });
        decide("KindConflict", taken(true, &wanted.kind, &accepted.kind), &mut || {
            names.kind.clone_from(&wanted.kind);
        });
        decide(
            "ListKindConflict",
            taken(true, &wanted.list_kind, &accepted.list_kind),
            &mut || {
                names.list_kind.clone_from(&wanted.list_kind);
            },
        );
        names.categories.clone_from(&wanted.categories);
        (names, conflict)
    }

    fn short_names_taken(&self, group: &str, wanted: &Names, accepted: &Names) -> Option<String> {
        let own: BTreeSet<&String> = accepted.short_names.iter().collect();
        let mut seen = BTreeSet::new();
        let taken = wanted.short_names.iter().filter(|name| {
            !own.contains(name) && self.is_used(group, false, name) && seen.insert(*name)
        });
        let mut texts: Vec<String> = Vec::new();
        let mut size = 0;
        for name in taken {
            if size > MOST_MESSAGE {
                texts.push("...".to_owned());
                break;
            }
            texts.push(in_use(name));
            size += name.len();
        }
        match texts.as_slice() {
            [] => None,
            [one] => Some(one.clone()),
            many => Some(format!("[{}]", many.join(", "))),
        }
    }

    fn is_used(&self, group: &str, is_kind: bool, name: &str) -> bool {
        let name = Name { group: group.to_owned(), is_kind, name: name.to_owned() };
        self.index.is_used(&name)
    }
}

// === impl Names ===

impl Names {
    fn of(names: &Value) -> Names {
        let text = |name: &str| text(names, &[name]).to_owned();
        let texts = |name: &str| {
            let names = list(names, &[name]).iter().filter_map(Value::as_str);
            names.map(str::to_owned).collect()
        };
        Names {
            plural: text("plural"),
            singular: text("singular"),
            short_names: texts("shortNames"),
            kind: text("kind"),
            list_kind: text("listKind"),
            categories: texts("categories"),
        }
    }

    fn to_value(&self) -> Value {
        let Names { plural, singular, short_names, kind, list_kind, categories } = self;
        json!({
            "plural": plural,
            "singular": singular,
            "shortNames": short_names,
            "kind": kind,
            "listKind": list_kind,
            "categories": categories,
        })
    }

    /// Categories may be shared.
    fn in_group(self, group: &str) -> BTreeSet<Name> {
        let Names { plural, singular, short_names, kind, list_kind, categories: _ } = self;
        let resources = [plural, singular].into_iter().chain(short_names);
        let names = resources.map(|name| (false, name)).chain([(true, kind), (true, list_kind)]);
        let names = names.filter(|(_, name)| !name.is_empty());
        names.map(|(is_kind, name)| Name { group: group.to_owned(), is_kind, name }).collect()
    }
}

fn in_use(name: &str) -> String {
    format!("{} is already in use", quoted(name))
}

fn is_equivalent(present: &Value, condition: &Condition) -> bool {
    text(present, &["status"]) == condition.status
        && text(present, &["reason"]) == condition.reason
        && text(present, &["message"]) == condition.message
}

/// A definition of a built-in resource gets no names and is never served, whatever its status says.
fn refuse(definition: &mut Value, plural: &str, group: &str, now: Timestamp) -> bool {
    let message = format!(
        "{}: the resource is built into this server in group {}",
        in_use(plural),
        quoted(group)
    );
    let conflict =
        Condition { type_: NAMES_ACCEPTED, status: "False", reason: "PluralConflict", message };
    let nothing = Names::of(&Value::Null);
    let mut changed = Names::of(at(definition, &["status", "acceptedNames"])) != nothing;
    if changed {
        *entry(definition, &["status", "acceptedNames"]) = nothing.to_value();
    }
    changed |= conditions::set(definition, &conflict, now);
    changed | conditions::set(definition, &not_accepted(), now)
}

/// A definition that is established remains so.
fn set_established(definition: &mut Value, is_accepted: bool, now: Timestamp) {
    let present = conditions::find(definition, ESTABLISHED).is_some();
    let condition = match is_accepted {
        _ if conditions::is_true(definition, ESTABLISHED) => return,
        true => Condition {
            type_: ESTABLISHED,
            status: "False",
            reason: "Installing",
            message: "the initial names have been accepted".to_owned(),
        },
        false if present => return,
        false => not_accepted(),
    };
    conditions::set(definition, &condition, now);
}

fn not_accepted() -> Condition {
    Condition {
        type_: ESTABLISHED,
        status: "False",
        reason: "NotAccepted",
        message: "not all names are accepted".to_owned(),
    }
}

#[cfg(test)]
mod tests;
