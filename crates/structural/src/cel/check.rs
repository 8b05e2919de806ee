//! Types an expression against a schema, bounds its cost, and makes it ready to be evaluated, in one
//! walk of its tree.
//!
//! Sources: cel-go `checker/checker.go` for the types and the words of errors, `checker/cost.go` for
//! the cost. The `cel` crate has no types: every check below is made here, so that a rule that is
//! accepted can be evaluated.

mod call;
mod macros;

use std::sync::Arc;

use kube_cel::cel::{
    IdedExpr,
    common::ast::{EntryExpr, Expr, ListExpr, LiteralValue, MapExpr, SelectExpr},
};

pub(super) use self::macros::written_parts;
use super::{
    cost::{self, Extent, UNBOUNDED, add},
    declaration::{Declaration, RESERVED, Shape},
    program::{Node, Program},
    source::{self, Source},
    types::Type,
};

/// Checks an expression on values of a declared type. The error is the list of issues, of which
/// there is one: what follows it is seldom independent of it.
pub(super) fn check(
    text: &str,
    this: &Arc<Declaration>,
    old_self: OldSelf,
) -> Result<(Program, Type)> {
    let source = source::parse(text)?;
    let mut checker = Checker {
        source: &source,
        this,
        old_self,
        locals: Vec::new(),
        uses_old_self: false,
        allows_mixed: false,
    };
    let checked = checker.node(&source.tree)?;
    let program = Program {
        root: checked.node,
        uses_old_self: checker.uses_old_self,
        most_cost: checked.cost,
    };
    Ok((program, checked.type_))
}

/// How an expression sees the old value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OldSelf {
    Plain,
    Optional,
}

struct Checker<'a> {
    source: &'a Source<'a>,
    this: &'a Arc<Declaration>,
    old_self: OldSelf,
    locals: Vec<Local>,
    uses_old_self: bool,
    /// Whether the entries of a list may be of several types: those of `format` may.
    allows_mixed: bool,
}

/// A variable of a macro.
struct Local {
    name: String,
    type_: Type,
    place: Place,
    most: Option<u64>,
}

/// An expression with what is known of its values.
struct Checked {
    node: Node,
    type_: Type,
    /// The cost of evaluating it, at most.
    cost: u64,
    /// Where in the data its values are.
    place: Place,
    /// The size of its values, if it is known other than by type and place.
    most: Option<u64>,
    /// The sizes of the items or entries of its values: key and value.
    entry: Option<(u64, u64)>,
}

/// Where in the data a value is.
#[derive(Clone, Debug)]
enum Place {
    /// In the data of this declaration.
    Declared(Arc<Declaration>),
    /// Nowhere: it is computed.
    Computed,
}

type Result<T> = std::result::Result<T, String>;

impl Checker<'_> {
    fn node(&mut self, expression: &IdedExpr) -> Result<Checked> {
        match &expression.expr {
            Expr::Literal(literal) => Ok(self::literal(literal)),
            Expr::Ident(name) => self.identifier(expression, name),
            Expr::Select(select) => self.select(expression, select),
            Expr::List(list) => self.list(list),
            Expr::Map(map) => self.map(map),
            Expr::Call(call) => self.call(expression, call),
            Expr::Comprehension(fold) => self.fold(expression, fold),
            Expr::Struct(message) => {
                let words =
                    format!("undeclared reference to '{}' (in container '')", message.type_name);
                Err(self.issue(expression, &words))
            }
            Expr::Unspecified => Err(self.issue(expression, "unexpected expression")),
        }
    }

    fn issue(&self, expression: &IdedExpr, words: &str) -> String {
        self.source.issue(expression, words)
    }

    fn identifier(&mut self, expression: &IdedExpr, name: &str) -> Result<Checked> {
        self.is_free(expression, name)?;
        if let Some(index) = self.locals.iter().rposition(|local| local.name == name) {
            let local = &self.locals[index];
            let mut checked = Checked::new(Node::Local(index), local.type_.clone(), 1);
            checked.place = local.place.clone();
            checked.most = local.most;
            return Ok(checked);
        }
        let type_ = self.this.type_();
        let (node, type_) = match name {
            "self" => (Node::This, type_),
            "oldSelf" => {
                self.uses_old_self = true;
                match self.old_self {
                    OldSelf::Plain => (Node::OldThis, type_),
                    OldSelf::Optional => (Node::OldThis, Type::optional(type_)),
                }
            }
            _ => return self.type_name(expression, name),
        };
        let mut checked = Checked::new(node, type_, 1);
        checked.place = Place::Declared(Arc::clone(self.this));
        Ok(checked)
    }

    /// Checks that an identifier is not reserved.
    fn is_free(&self, expression: &IdedExpr, name: &str) -> Result<()> {
        if RESERVED.contains(&name) {
            return Err(self.issue(expression, &format!("reserved identifier: {name}")));
        }
        Ok(())
    }

    fn type_name(&self, expression: &IdedExpr, name: &str) -> Result<Checked> {
        match TYPE_NAMES.iter().find(|type_| **type_ == name) {
            Some(name) => {
                let mut checked = Checked::new(Node::Type(name), Type::Meta, 1);
                // Kubernetes takes every name that is not a variable of a macro for `self`.
                checked.most = Some(self.this.most_elements);
                Ok(checked)
            }
            None => {
                let words = format!("undeclared reference to '{name}' (in container '')");
                Err(self.issue(expression, &words))
            }
        }
    }

    fn select(&mut self, expression: &IdedExpr, select: &SelectExpr) -> Result<Checked> {
        if let Some(name) = qualified(expression)
            && TYPE_NAMES.contains(&name.as_str())
        {
            return self.type_name(expression, &name);
        }
        let operand = self.node(&select.operand)?;
        let field = select.field.trim_matches('`');
        let (name, type_, place) = self.field(expression, &operand, field)?;
        let is_optional = matches!(operand.type_, Type::Optional(_));
        let step = matches!(operand.type_, Type::Map(..) | Type::Object(_)).into();
        let operand_cost = operand.cost;
        let operand = Box::new(operand.node);
        if select.test {
            return Ok(Checked::new(Node::Has { operand, name }, Type::Bool, operand_cost));
        }
        let node = Node::Select { operand, name, is_optional };
        let type_ = if is_optional { Type::optional(type_) } else { type_ };
        let mut checked = Checked::new(node, type_, add(operand_cost, step));
        checked.place = place;
        Ok(checked)
    }

    /// The name in the data, the type and the place of a field.
    fn field(
        &self,
        expression: &IdedExpr,
        operand: &Checked,
        field: &str,
    ) -> Result<(Arc<str>, Type, Place)> {
        let type_ = match &operand.type_ {
            Type::Optional(inner) => inner,
            other => other,
        };
        let (declared, type_) = match type_ {
            Type::Object(declaration) => {
                let Some(field) = declaration.field(field) else {
                    return Err(self.issue(expression, &format!("undefined field '{field}'")));
                };
                let place = Place::Declared(Arc::clone(&field.declaration));
                return Ok((Arc::clone(&field.name), field.declaration.type_(), place));
            }
            Type::Map(_, value) => (operand.place.element(), (**value).clone()),
            Type::Dyn => (None, Type::Dyn),
            other => {
                let words = format!("type '{other}' does not support field selection");
                return Err(self.issue(expression, &words));
            }
        };
        let place = declared.map_or(Place::Computed, Place::Declared);
        Ok((field.into(), type_, place))
    }

    fn list(&mut self, list: &ListExpr) -> Result<Checked> {
        let (mut type_, mut cost, mut most) = (None, cost::LIST, 0);
        let mut nodes = Vec::with_capacity(list.elements.len());
        let mut optionals = list.optional_indices.iter().copied().peekable();
        for (index, element) in list.elements.iter().enumerate() {
            let checked = self.node(element)?;
            let is_optional = optionals.next_if_eq(&index).is_some();
            type_ = Some(self.same_type(element, type_, checked.entry_type(is_optional))?);
            cost = add(cost, checked.cost);
            most = most.max(checked.most());
            nodes.push((checked.node, is_optional));
        }
        let size = nodes.len() as u64;
        let element = type_.unwrap_or(Type::Dyn);
        let is_constant = nodes.iter().all(|(node, optional)| !optional && node.is_constant());
        let node = Node::List { items: nodes, is_constant };
        let mut checked = Checked::new(node, Type::list(element), cost);
        checked.most = Some(size);
        checked.entry = Some((1, most));
        Ok(checked)
    }

    fn map(&mut self, map: &MapExpr) -> Result<Checked> {
        let (mut keys, mut values) = (None, None);
        let (mut cost, mut most) = (cost::MAP, (0, 0));
        let mut nodes = Vec::with_capacity(map.entries.len());
        for entry in &map.entries {
            let EntryExpr::MapEntry(entry) = &entry.expr else { continue };
            let key = self.node(&entry.key)?;
            let value = self.node(&entry.value)?;
            if !matches!(key.type_, Type::Dyn | Type::Bool | Type::Int | Type::Uint | Type::String)
            {
                let words = format!("unsupported key type: {}", key.type_);
                return Err(self.issue(&entry.key, &words));
            }
            keys = Some(self.same_type(&entry.key, keys, key.type_.clone())?);
            values =
                Some(self.same_type(&entry.value, values, value.entry_type(entry.optional))?);
            cost = add(cost, add(key.cost, value.cost));
            most = (most.0.max(key.most()), most.1.max(value.most()));
            nodes.push((key.node, value.node, entry.optional));
        }
        let size = nodes.len() as u64;
        let any = |type_: Option<Type>| Arc::new(type_.unwrap_or(Type::Dyn));
        let constant = |(key, value, optional): &(Node, Node, bool)| {
            !optional && key.is_constant() && value.is_constant()
        };
        let is_constant = nodes.iter().all(constant);
        let node = Node::Map { entries: nodes, is_constant };
        let mut checked = Checked::new(node, Type::Map(any(keys), any(values)), cost);
        checked.most = Some(size);
        checked.entry = Some(most);
        Ok(checked)
    }

    /// Lists and maps are of one type: `cel.HomogeneousAggregateLiterals`.
    fn same_type(&self, entry: &IdedExpr, type_: Option<Type>, other: Type) -> Result<Type> {
        match type_ {
            None => Ok(other),
            Some(type_) if type_.agrees(&other) => Ok(type_.joined(&other)),
            Some(_) if self.allows_mixed => Ok(Type::Dyn),
            Some(type_) => {
                let words = format!("expected type '{type_}' but found '{other}'");
                Err(self.issue(entry, &words))
            }
        }
    }
}

// === impl Checked ===

impl Checked {
    fn new(node: Node, type_: Type, cost: u64) -> Checked {
        Checked { node, type_, cost, place: Place::Computed, most: None, entry: None }
    }

    /// The size of its values, at most.
    fn most(&self) -> u64 {
        match (&self.most, &self.place) {
            (Some(most), _) => *most,
            (None, Place::Declared(declaration)) => declaration.most_elements,
            (None, Place::Computed) if self.type_.is_scalar() => 1,
            (None, Place::Computed) => UNBOUNDED,
        }
    }

    /// The sizes of its items or entries, at most.
    fn element(&self) -> u64 {
        match (&self.entry, self.place.element()) {
            (Some((_, value)), _) => *value,
            (None, Some(element)) => element.most_elements,
            (None, None) => UNBOUNDED,
        }
    }

    /// Its type as an entry of a list or map.
    fn entry_type(&self, is_optional: bool) -> Type {
        match &self.type_ {
            Type::Optional(inner) if is_optional => (**inner).clone(),
            other => other.clone(),
        }
    }

    fn extent(&self) -> Extent {
        let is_text = |type_: &Type| matches!(type_, Type::String | Type::Bytes);
        let element = match &self.type_ {
            Type::List(element) => Some((self.element(), is_text(element))),
            _ => None,
        };
        let number = match self.node {
            Node::Int(number) => Some(u64::try_from(number).unwrap_or(0)),
            _ => None,
        };
        let is_text = matches!(self.type_, Type::String | Type::Bytes | Type::Dyn);
        Extent { most: self.most(), element, is_text, number }
    }
}

impl Place {
    /// The items of a list, or the values of a map.
    fn element(&self) -> Option<Arc<Declaration>> {
        match self {
            Place::Declared(declaration) => declaration.element().cloned(),
            Place::Computed => None,
        }
    }

    /// The keys of a map, whose lengths no schema bounds.
    fn is_map(&self) -> bool {
        matches!(self, Place::Declared(declaration) if matches!(declaration.shape, Shape::Map(_)))
    }
}

fn literal(literal: &LiteralValue) -> Checked {
    let (node, type_, most) = match literal {
        LiteralValue::Boolean(value) => (Node::Bool(*value.inner()), Type::Bool, 1),
        LiteralValue::Int(value) => (Node::Int(*value.inner()), Type::Int, 1),
        LiteralValue::UInt(value) => (Node::Uint(*value.inner()), Type::Uint, 1),
        LiteralValue::Double(value) => (Node::Double(*value.inner()), Type::Double, 1),
        LiteralValue::Null => (Node::Null, Type::Null, 1),
        LiteralValue::String(value) => {
            let text = value.inner();
            (Node::String(text.into()), Type::String, text.chars().count() as u64)
        }
        LiteralValue::Bytes(value) => {
            let bytes = value.inner();
            (Node::Bytes(bytes.into()), Type::Bytes, bytes.len() as u64)
        }
    };
    let mut checked = Checked::new(node, type_, 0);
    checked.most = Some(most);
    checked
}

fn literal_text(expression: &IdedExpr) -> Option<&str> {
    match &expression.expr {
        Expr::Literal(LiteralValue::String(text)) => Some(text.inner()),
        _ => None,
    }
}

/// `a.b.c` as a text.
fn qualified(expression: &IdedExpr) -> Option<String> {
    match &expression.expr {
        Expr::Ident(name) => Some(name.clone()),
        Expr::Select(select) if !select.test => {
            Some(format!("{}.{}", qualified(&select.operand)?, select.field))
        }
        _ => None,
    }
}

/// The names of types, as `type()` returns them.
const TYPE_NAMES: [&str; 13] = [
    "bool",
    "bytes",
    "double",
    "google.protobuf.Duration",
    "google.protobuf.Timestamp",
    "int",
    "list",
    "map",
    "null_type",
    "optional_type",
    "string",
    "type",
    "uint",
];
