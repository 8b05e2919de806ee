//! The table of field numbers, parsed once from `numbers.txt`.

use std::sync::OnceLock;

use rustc_hash::FxHashMap;

/// The type of a field's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Text,
    Bytes,
    Bool,
    Int,
    Time,
    MicroTime,
    Quantity,
    IntOrString,
    /// Bytes that are JSON: `FieldsV1`, `RawExtension`.
    Json,
    Message(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Its zero value is equivalent to absence.
    Plain,
    /// Its zero value differs from absence.
    Pointer,
    List,
    Map,
}

/// Where in the object a field goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JsonTarget {
    Key(&'static str),
    /// The message's fields are fields of the enclosing object.
    Inline,
    /// The message consists only of this list.
    Whole,
}

#[derive(Debug)]
pub(super) struct Slot {
    pub(super) number: u32,
    pub(super) target: JsonTarget,
    pub(super) shape: Shape,
    pub(super) type_: Type,
}

#[derive(Debug)]
pub(super) struct Message {
    /// `core.Pod`.
    pub(super) name: String,
    pub(super) slots: Vec<Slot>,
}

#[derive(Debug, Default)]
pub(super) struct Table {
    messages: Vec<Message>,
    by_name: FxHashMap<String, usize>,
    aliases: FxHashMap<&'static str, &'static str>,
}

// === impl Table ===

impl Table {
    pub(super) fn kubernetes() -> &'static Table {
        static TABLE: OnceLock<Table> = OnceLock::new();
        TABLE.get_or_init(|| Table::read(include_str!("numbers.txt")))
    }

    /// The message of a kind. Delete options are a kind of every group.
    pub(super) fn kind(&self, version: &str, kind: &str) -> Option<usize> {
        if kind == "DeleteOptions" {
            return self.by_name.get("meta.DeleteOptions").copied();
        }
        let alias = self.aliases.get(version)?;
        self.by_name.get(&format!("{alias}.{kind}")).copied()
    }

    pub(super) fn message(&self, index: usize) -> &Message {
        &self.messages[index]
    }

    /// Two passes: messages are known by name before fields refer to them.
    fn read(text: &'static str) -> Table {
        let mut table = Table::default();
        let lines = || text.lines().filter(|line| !line.starts_with('#'));
        let mut alias = "";
        for line in lines() {
            if let Some(package) = line.strip_prefix("@ ") {
                let (name, version) = package.split_once(' ').unwrap_or((package, "-"));
                alias = name;
                if version != "-" {
                    table.aliases.insert(version, name);
                }
            } else if !line.starts_with(' ') {
                let name = format!("{alias}.{line}");
                table.by_name.insert(name.clone(), table.messages.len());
                table.messages.push(Message { name, slots: Vec::new() });
            }
        }
        let mut at = 0;
        for line in lines().filter(|line| !line.starts_with('@')) {
            if !line.starts_with(' ') {
                at += 1;
                continue;
            }
            let alias = table.messages[at - 1].name.split('.').next().unwrap_or("").to_owned();
            let slot = table.slot(&alias, line);
            table.messages[at - 1].slots.push(slot);
        }
        table
    }

    fn slot(&self, alias: &str, line: &'static str) -> Slot {
        let mut words = line.split_whitespace();
        let mut word = || words.next().expect("a field has a number, a name and a type");
        let number = word().parse().expect("a field number");
        let target = match word() {
            "." => JsonTarget::Inline,
            "=" => JsonTarget::Whole,
            name => JsonTarget::Key(name),
        };
        let (shape, name) = shape(word());
        Slot { number, target, shape, type_: self.type_(alias, name) }
    }

    fn type_(&self, alias: &str, name: &str) -> Type {
        match name {
            "string" => Type::Text,
            "bytes" => Type::Bytes,
            "bool" => Type::Bool,
            "int" => Type::Int,
            "meta.Time" => Type::Time,
            "meta.MicroTime" => Type::MicroTime,
            "resource.Quantity" => Type::Quantity,
            "intstr.IntOrString" => Type::IntOrString,
            "runtime.RawExtension" | "meta.FieldsV1" => Type::Json,
            "Time" if alias == "meta" => Type::Time,
            "FieldsV1" if alias == "meta" => Type::Json,
            name => {
                let name =
                    if name.contains('.') { name.to_owned() } else { format!("{alias}.{name}") };
                Type::Message(
                    *self.by_name.get(&name).expect("every message named is in the table"),
                )
            }
        }
    }
}

fn shape(text: &str) -> (Shape, &str) {
    for (mark, shape) in [("*", Shape::Pointer), ("[]", Shape::List), ("{}", Shape::Map)] {
        if let Some(name) = text.strip_prefix(mark) {
            return (shape, name);
        }
    }
    (Shape::Plain, text)
}
