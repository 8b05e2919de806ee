//! Evaluates a checked expression, within a budget.
//!
//! # Why not the interpreter of the `cel` crate
//! It has no limit and copies what it selects, so a loop takes the product of its steps and the size
//! of the data; it panics on some expressions. Here values borrow from the object, and every step is
//! charged before it is taken.
//!
//! # Bound
//! Two meters. **Cost** is Kubernetes' (cel-go `interpreter/runtimecost.go`): 1,000,000 for one
//! expression and 10,000,000 for the rules of one object, at some tens of nanoseconds a unit.
//! **Work** counts what that leaves out, such as the bytes of values that are compared or handed to
//! a function: [`MOST_WORK`] for one object, at about a nanosecond a unit. Recursion follows the
//! expression, whose depth is bounded when it is parsed.

mod call;
mod operator;

use std::{collections::BTreeMap, rc::Rc};

use super::{
    cost,
    program::{Fold, FoldKind, IsOptional, Node, Operator, Program},
    value::{Map, Text, Value},
};

/// Kubernetes' `PerCallLimit`.
pub(super) const MOST_COST: u64 = 1_000_000;
/// Kubernetes' `RuntimeCELCostBudget`, for all rules of one object.
pub(super) const MOST_OBJECT_COST: u64 = 10_000_000;
/// Bytes that the rules of one object may touch.
pub(super) const MOST_WORK: u64 = 200_000_000;
/// The work of a value, however small.
pub(super) const VALUE: u64 = 64;

/// Why there is no value.
#[derive(Clone, Debug)]
pub(super) enum Failure {
    /// An error of the expression: `no such key: a`.
    Error(Rc<str>),
    /// The budget is used up.
    Cancelled,
}

/// What an evaluation has used.
#[derive(Debug)]
pub(super) struct Meter {
    cost: u64,
    work: u64,
}

/// The variables of an expression.
pub(super) struct Variables<'a> {
    pub(super) this: Value<'a>,
    pub(super) old_this: Option<Value<'a>>,
}

pub(super) type Result<T> = std::result::Result<T, Failure>;

/// Evaluates a program. The cost of it is `meter.cost()` afterwards.
pub(super) fn evaluate<'a>(
    program: &'a Program,
    variables: &Variables<'a>,
    meter: &mut Meter,
) -> Result<Value<'a>> {
    meter.cost = 0;
    Evaluation { variables, locals: Vec::new(), meter }.node(&program.root)
}

struct Evaluation<'e, 'a> {
    variables: &'e Variables<'a>,
    /// The variables of the macros around the expression, the outermost first.
    locals: Vec<Value<'a>>,
    meter: &'e mut Meter,
}

impl<'a> Evaluation<'_, 'a> {
    fn node(&mut self, node: &'a Node) -> Result<Value<'a>> {
        Ok(match node {
            Node::Null => Value::Null,
            Node::Bool(value) => Value::Bool(*value),
            Node::Int(number) => Value::Int(*number),
            Node::Uint(number) => Value::Uint(*number),
            Node::Double(number) => Value::Double(*number),
            Node::String(text) => Value::String(Text::Borrowed(text)),
            Node::Bytes(bytes) => Value::Bytes(bytes.to_vec().into()),
            Node::Type(name) => Value::Type(name),
            Node::This => self.variable(Some(&self.variables.this))?,
            Node::OldThis => self.variable(self.variables.old_this.as_ref())?,
            Node::Local(index) => {
                self.meter.charge(1)?;
                self.local(*index)?
            }
            Node::Select { operand, name, is_optional } => {
                let selected = select(self.node(operand)?, name, *is_optional);
                // An optional field that is absent costs nothing.
                self.meter.charge(u64::from(!matches!(selected, Ok(Value::Optional(None)))))?;
                selected?
            }
            Node::Has { operand, name } => {
                let operand = self.node(operand)?;
                Value::Bool(has(&operand, name)?)
            }
            Node::Index { operand, index, is_optional } => {
                let operand = self.node(operand)?;
                // A variable as an index costs nothing besides the index.
                let index = match &**index {
                    Node::Local(index) => self.local(*index)?,
                    index => self.node(index)?,
                };
                self.meter.charge(1)?;
                operator::index(operand, &index, *is_optional)?
            }
            Node::Not(operand) => {
                let operand = self.node(operand);
                self.meter.charge(1)?;
                Value::Bool(!truth(&operand?)?)
            }
            Node::Negate(operand) => {
                let operand = self.node(operand)?;
                self.meter.charge(1)?;
                operator::negate(&operand)?
            }
            Node::And(operands) => self.logic(operands, false)?,
            Node::Or(operands) => self.logic(operands, true)?,
            Node::If(operands) => {
                let [condition, yes, no] = &**operands;
                let condition = self.node(condition)?;
                if truth(&condition)? { self.node(yes)? } else { self.node(no)? }
            }
            Node::Binary(operator, operands) => {
                let [left, right] = &**operands;
                // A constant list is searched at no cost, as it is a set in cel-go.
                let is_free = *operator == Operator::In && right.is_constant();
                let operands = self.node(left).and_then(|left| Ok((left, self.node(right)?)));
                let (left, right) = match operands {
                    Ok(operands) => operands,
                    Err(failure) => {
                        self.meter.charge(1)?;
                        return Err(failure);
                    }
                };
                operator::binary(*operator, &left, &right, is_free, self.meter)?
            }
            Node::List { items, is_constant } => self.list(items, *is_constant)?,
            Node::Map { entries, is_constant } => self.map(entries, *is_constant)?,
            Node::Call(call) => self.call(call)?,
            Node::Fold(fold) => self.fold(fold)?,
            Node::Otherwise { operands, unwraps } => self.otherwise(operands, *unwraps)?,
            Node::Within { operands, wraps } => self.within(operands, *wraps)?,
        })
    }

    fn local(&self, index: usize) -> Result<Value<'a>> {
        self.locals.get(index).cloned().ok_or_else(|| error("no such attribute"))
    }

    fn variable(&mut self, value: Option<&Value<'a>>) -> Result<Value<'a>> {
        self.meter.charge(1)?;
        value.cloned().ok_or_else(|| error("no such attribute(s): oldSelf"))
    }

    /// `&&` and `||`: an operand that decides does so even if the other is an error.
    fn logic(&mut self, operands: &'a [Node; 2], decides: bool) -> Result<Value<'a>> {
        let mut failure = None;
        for operand in operands {
            match self.node(operand).and_then(|value| truth(&value)) {
                Ok(value) if value == decides => return Ok(Value::Bool(decides)),
                Ok(_) => {}
                Err(Failure::Cancelled) => return Err(Failure::Cancelled),
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        failure.map_or(Ok(Value::Bool(!decides)), Err)
    }

    fn list(&mut self, nodes: &'a [(Node, IsOptional)], is_constant: bool) -> Result<Value<'a>> {
        let mut items = Vec::with_capacity(nodes.len());
        for (node, is_optional) in nodes {
            items.extend(present(self.node(node)?, *is_optional)?);
        }
        self.meter.work(VALUE * nodes.len() as u64)?;
        self.meter.charge(if is_constant { 0 } else { cost::LIST })?;
        Ok(Value::list(items))
    }

    fn map(
        &mut self,
        nodes: &'a [(Node, Node, IsOptional)],
        is_constant: bool,
    ) -> Result<Value<'a>> {
        let mut entries = BTreeMap::new();
        for (key, value, is_optional) in nodes {
            let key = self.node(key)?.key().ok_or_else(|| error("unsupported key type"))?;
            if let Some(value) = present(self.node(value)?, *is_optional)?
                && entries.insert(key, value).is_some()
            {
                return Err(error("duplicate key in map"));
            }
        }
        self.meter.work(VALUE * nodes.len() as u64)?;
        self.meter.charge(if is_constant { 0 } else { cost::MAP })?;
        Ok(Value::Map(Map::Computed(Rc::new(entries))))
    }

    fn otherwise(&mut self, operands: &'a [Node; 2], unwraps: bool) -> Result<Value<'a>> {
        let [optional, alternative] = operands;
        let optional = self.node(optional)?;
        match optional {
            Value::Optional(Some(value)) if unwraps => Ok((*value).clone()),
            Value::Optional(Some(_)) => Ok(optional),
            Value::Optional(None) => self.node(alternative),
            _ => Err(no_overload()),
        }
    }

    fn within(&mut self, operands: &'a [Node; 2], wraps: bool) -> Result<Value<'a>> {
        let [optional, value] = operands;
        let optional = self.node(optional)?;
        self.meter.charge(4)?;
        let Value::Optional(inner) = optional else { return Err(no_overload()) };
        let Some(inner) = inner else { return Ok(Value::Optional(None)) };
        self.locals.push((*inner).clone());
        let value = self.node(value);
        self.locals.pop();
        Ok(if wraps { Value::some(value?) } else { value? })
    }

    fn fold(&mut self, fold: &'a Fold) -> Result<Value<'a>> {
        let range = self.node(&fold.range)?;
        let keys;
        let items: &mut dyn Iterator<Item = Result<Value<'a>>> = match &range {
            Value::List(list) => &mut list.iter(),
            Value::Map(map) => {
                self.meter.work(VALUE * map.len() as u64)?;
                keys = map.keys();
                &mut keys.into_iter().map(Ok)
            }
            _ => return Err(no_overload()),
        };
        match fold.kind {
            FoldKind::All => self.decide(fold, items, false),
            FoldKind::Exists => self.decide(fold, items, true),
            FoldKind::ExistsOne => self.count(fold, items),
            FoldKind::Map => self.collect(fold, items),
        }
    }

    /// `all` and `exists`: the first item that decides ends the loop; errors do not.
    fn decide(
        &mut self,
        fold: &'a Fold,
        items: &mut dyn Iterator<Item = Result<Value<'a>>>,
        decides: bool,
    ) -> Result<Value<'a>> {
        let mut failure = None;
        while let Some(item) = items.next() {
            self.meter.charge(fold.kind.step_cost())?;
            let value = item.and_then(|item| self.step(fold.condition.as_ref(), item));
            match value.and_then(|value| truth(&value)) {
                Ok(value) if value == decides => {
                    // The loop condition is evaluated once more, unless the range has ended.
                    let again = items.next().map_or(0, |_| fold.kind.step_cost() - 1);
                    self.meter.charge(1 + again)?;
                    return Ok(Value::Bool(decides));
                }
                Ok(_) => {}
                Err(Failure::Cancelled) => return Err(Failure::Cancelled),
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        self.meter.charge(1)?;
        failure.map_or(Ok(Value::Bool(!decides)), Err)
    }

    /// `exists_one`.
    fn count(
        &mut self,
        fold: &'a Fold,
        items: &mut dyn Iterator<Item = Result<Value<'a>>>,
    ) -> Result<Value<'a>> {
        let mut count = 0;
        for item in items {
            self.meter.work(VALUE)?;
            let found = truth(&self.step(fold.condition.as_ref(), item?)?)?;
            self.meter.charge(2 * u64::from(found))?;
            count += u64::from(found);
        }
        self.meter.charge(2)?;
        Ok(Value::Bool(count == 1))
    }

    /// `map` and `filter`.
    fn collect(
        &mut self,
        fold: &'a Fold,
        items: &mut dyn Iterator<Item = Result<Value<'a>>>,
    ) -> Result<Value<'a>> {
        let mut values = Vec::new();
        for item in items {
            let item = item?;
            let selected = match &fold.condition {
                Some(condition) => truth(&self.step(Some(condition), item.clone())?)?,
                None => true,
            };
            // The cost of an item that is not selected can be 0.
            self.meter.work(VALUE)?;
            self.meter.charge(if selected { fold.kind.step_cost() } else { 0 })?;
            if selected {
                values.push(self.step(fold.value.as_ref(), item)?);
            }
        }
        self.meter.charge(1)?;
        Ok(Value::list(values))
    }

    fn step(&mut self, node: Option<&'a Node>, item: Value<'a>) -> Result<Value<'a>> {
        let Some(node) = node else { return Ok(item) };
        self.locals.push(item);
        let value = self.node(node);
        self.locals.pop();
        value
    }
}

/// A field or entry by name. An optional one is absent where the data is.
fn select<'a>(operand: Value<'a>, name: &str, is_optional: bool) -> Result<Value<'a>> {
    let operand = match operand {
        Value::Optional(None) => return Ok(Value::Optional(None)),
        Value::Optional(Some(inner)) => (*inner).clone(),
        other => other,
    };
    let Value::Map(map) = operand else { return Err(no_overload()) };
    match (map.named(name), is_optional) {
        (Some(value), true) => Ok(Value::some(value?)),
        (Some(value), false) => value,
        (None, true) => Ok(Value::Optional(None)),
        (None, false) => Err(error(&format!("no such key: {name}"))),
    }
}

fn has(operand: &Value<'_>, name: &str) -> Result<bool> {
    match operand {
        Value::Map(map) => Ok(map.contains(name)),
        Value::Optional(None) => Ok(false),
        Value::Optional(Some(inner)) => has(inner, name),
        _ => Err(no_overload()),
    }
}

/// An entry of a list or map; an optional one may be absent.
fn present(value: Value<'_>, is_optional: bool) -> Result<Option<Value<'_>>> {
    match (value, is_optional) {
        (value, false) => Ok(Some(value)),
        (Value::Optional(inner), true) => Ok(inner.map(|inner| (*inner).clone())),
        (_, true) => Err(no_overload()),
    }
}

fn truth(value: &Value<'_>) -> Result<bool> {
    match value {
        Value::Bool(value) => Ok(*value),
        _ => Err(no_overload()),
    }
}

fn error(words: &str) -> Failure {
    Failure::Error(words.into())
}

fn no_overload() -> Failure {
    error("no such overload")
}

// === impl Meter ===

impl Meter {
    /// A meter for the rules of one object.
    pub(super) fn new() -> Meter {
        Meter { cost: 0, work: 0 }
    }

    /// The cost of the last evaluation.
    pub(super) fn cost(&self) -> u64 {
        self.cost
    }

    pub(super) fn charge(&mut self, cost: u64) -> Result<()> {
        self.cost = self.cost.saturating_add(cost);
        if self.cost > MOST_COST { Err(Failure::Cancelled) } else { Ok(()) }
    }

    pub(super) fn work(&mut self, work: u64) -> Result<()> {
        self.work = self.work.saturating_add(work);
        if self.work > MOST_WORK { Err(Failure::Cancelled) } else { Ok(()) }
    }
}
