//! Operators and calls.

use kube_cel::cel::{
    IdedExpr,
    common::ast::{CallExpr, Expr, operators},
};

use super::{Checked, Checker, Place, Result};
use crate::cel::{
    cost::{self, Cost, Extent, add, tenth},
    functions::{self, Overload, Run},
    program::{Call, Node, Operator},
    regex::Expression,
    time,
    types::{Bindings, Type},
};

impl Checker<'_> {
    pub(super) fn call(&mut self, expression: &IdedExpr, call: &CallExpr) -> Result<Checked> {
        let name = call.func_name.as_str();
        match (name, &call.args[..]) {
            (operators::INDEX | operators::OPT_INDEX, [operand, index]) => {
                let is_optional = name == operators::OPT_INDEX;
                return self.index(expression, operand, index, is_optional);
            }
            (operators::OPT_SELECT, [operand, field]) => {
                return self.optional_select(expression, operand, field);
            }
            ("optMap" | "optFlatMap", [variable, value]) if call.target.is_some() => {
                return self.within(expression, call, variable, value);
            }
            _ => {}
        }
        let (qualified, receiver) = match &call.target {
            Some(target) => match self.namespaced(target, name) {
                Some(qualified) => (qualified, None),
                None => (name.to_owned(), Some(&**target)),
            },
            None => (name.to_owned(), None),
        };
        let Some(overloads) = functions::overloads(&qualified) else {
            return Err(self.issue(expression, &undeclared(&qualified, call.args.len())));
        };
        let mut arguments = Vec::with_capacity(call.args.len() + 1);
        let around = std::mem::replace(&mut self.allows_mixed, qualified == "format");
        for argument in receiver.into_iter().chain(&call.args) {
            arguments.push(self.node(argument)?);
        }
        self.allows_mixed = around;
        self.resolve(expression, &qualified, overloads, receiver.is_some(), arguments)
    }

    /// The name of a function in a namespace, as `sets.contains`, unless it is a variable's.
    fn namespaced(&self, target: &IdedExpr, name: &str) -> Option<String> {
        let Expr::Ident(prefix) = &target.expr else { return None };
        let is_variable = prefix == "self"
            || prefix == "oldSelf"
            || self.locals.iter().any(|local| local.name == *prefix);
        let qualified = format!("{prefix}.{name}");
        (!is_variable && functions::overloads(&qualified).is_some()).then_some(qualified)
    }

    fn resolve(
        &mut self,
        expression: &IdedExpr,
        name: &str,
        overloads: &'static [Overload],
        is_member: bool,
        arguments: Vec<Checked>,
    ) -> Result<Checked> {
        let mut found: Option<(&Overload, Type)> = None;
        for overload in overloads {
            if overload.is_member != is_member || overload.parameters.len() != arguments.len() {
                continue;
            }
            let mut bindings = Bindings::default();
            let mut pairs = overload.parameters.iter().zip(&arguments);
            if pairs.all(|(parameter, argument)| bindings.fits(parameter, &argument.type_)) {
                let result = bindings.apply(&overload.result);
                found = match found {
                    // Which of them is called depends on the values.
                    Some((first, other)) if other.agrees(&result) => {
                        Some((first, other.joined(&result)))
                    }
                    Some((first, _)) => Some((first, Type::Dyn)),
                    None => Some((overload, result)),
                };
            }
        }
        let Some((overload, result)) = found else {
            return Err(self.issue(expression, &no_overload(name, is_member, &arguments)));
        };
        if let Some(checked) = operator(name, &result, &arguments) {
            return Ok(checked.with(arguments, result));
        }
        self.function(expression, name, overload, result, arguments)
    }

    fn function(
        &mut self,
        expression: &IdedExpr,
        name: &str,
        overload: &Overload,
        result: Type,
        arguments: Vec<Checked>,
    ) -> Result<Checked> {
        let extents: Vec<Extent> = arguments.iter().map(Checked::extent).collect();
        let (own, most) = cost::call(overload.cost, &extents);
        let cost = arguments.iter().fold(own, |sum, argument| add(sum, argument.cost));
        let arity = arguments.len();
        let mut nodes: Vec<Node> = arguments.into_iter().map(|argument| argument.node).collect();
        let literal = nodes.get(1).or(nodes.first()).and_then(text);
        let regex = match (overload.run, literal) {
            (Run::Matches | Run::Find | Run::FindAll, Some(text)) => match Expression::new(&text) {
                Some(regex) => Some(regex),
                None => return Err(self.issue(expression, &format!("invalid {name} argument"))),
            },
            (Run::Duration, Some(text)) if time::duration(&text).is_none() => {
                return Err(self.issue(expression, "invalid duration argument"));
            }
            (Run::Timestamp, Some(text)) if time::timestamp(&text).is_none() => {
                return Err(self.issue(expression, "invalid timestamp argument"));
            }
            _ => None,
        };
        let node = match (name, nodes.len()) {
            ("or" | "orValue", 2) => {
                let (last, first) = (nodes.pop(), nodes.pop());
                let (Some(first), Some(last)) = (first, last) else {
                    unreachable!("two arguments")
                };
                Node::Otherwise { operands: Box::new([first, last]), unwraps: name == "orValue" }
            }
            _ => {
                let expression = overload
                    .run
                    .calls_library()
                    .then(|| library_call(name, overload.is_member, arity));
                let is_free = overload.run.is_conversion() && nodes.iter().all(Node::is_constant);
                let cost = if is_free { Cost::Free } else { overload.cost };
                let run = overload.run;
                Node::Call(Box::new(Call { run, cost, arguments: nodes, expression, regex }))
            }
        };
        let mut checked = Checked::new(node, result, cost);
        checked.most = if checked.type_.is_scalar() { Some(1) } else { most };
        Ok(checked)
    }

    fn index(
        &mut self,
        expression: &IdedExpr,
        operand: &IdedExpr,
        index: &IdedExpr,
        is_optional: bool,
    ) -> Result<Checked> {
        let operand = self.node(operand)?;
        let index = self.node(index)?;
        let (type_, chained) = match &operand.type_ {
            Type::Optional(inner) => ((**inner).clone(), true),
            other => (other.clone(), false),
        };
        let element = match &type_ {
            Type::List(element) if Type::Int.agrees(&index.type_) => (**element).clone(),
            Type::Map(key, value) if key.agrees(&index.type_) => (**value).clone(),
            Type::Dyn => Type::Dyn,
            _ => {
                let name = if is_optional { "_[?_]" } else { "_[_]" };
                let words = no_overload(name, false, &[operand, index]);
                return Err(self.issue(expression, &words));
            }
        };
        let is_optional = is_optional || chained;
        let type_ = if is_optional { Type::optional(element) } else { element };
        let cost = add(add(operand.cost, index.cost), 1);
        let place = operand.place.element().map_or(Place::Computed, Place::Declared);
        let most = operand.entry.map(|(_, value)| value);
        let (operand, index) = (Box::new(operand.node), Box::new(index.node));
        let mut checked = Checked::new(Node::Index { operand, index, is_optional }, type_, cost);
        checked.place = place;
        checked.most = most;
        Ok(checked)
    }

    fn optional_select(
        &mut self,
        expression: &IdedExpr,
        operand: &IdedExpr,
        field: &IdedExpr,
    ) -> Result<Checked> {
        let operand = self.node(operand)?;
        let field = match super::literal_text(field) {
            Some(field) => field,
            None => return Err(self.issue(expression, "unsupported optional field selection")),
        };
        let (name, type_, place) = self.field(expression, &operand, field.trim_matches('`'))?;
        let cost = add(operand.cost, 1);
        let operand = Box::new(operand.node);
        let node = Node::Select { operand, name, is_optional: true };
        let mut checked = Checked::new(node, Type::optional(type_), cost);
        checked.place = place;
        Ok(checked)
    }
}

/// What makes a node of checked operands.
struct Shape {
    make: fn(Vec<Node>) -> Option<Node>,
    cost: u64,
    most: Option<u64>,
    entry: Option<(u64, u64)>,
}

impl Shape {
    fn with(self, arguments: Vec<Checked>, type_: Type) -> Checked {
        let nodes = arguments.into_iter().map(|argument| argument.node).collect();
        let node = (self.make)(nodes).expect("an overload was found for this number of operands");
        let mut checked = Checked::new(node, type_, self.cost);
        checked.most = self.most;
        checked.entry = self.entry;
        checked
    }
}

/// An operator with its cost, of which each case is one of cel-go's `functionCost`.
fn operator(name: &str, result: &Type, arguments: &[Checked]) -> Option<Shape> {
    macro_rules! binary {
        ($operator:ident) => {
            |nodes: Vec<Node>| {
                Some(Node::Binary(Operator::$operator, Box::new(nodes.try_into().ok()?)))
            }
        };
    }
    let make: fn(Vec<Node>) -> Option<Node> = match name {
        operators::LOGICAL_AND => |nodes| Some(Node::And(Box::new(nodes.try_into().ok()?))),
        operators::LOGICAL_OR => |nodes| Some(Node::Or(Box::new(nodes.try_into().ok()?))),
        operators::CONDITIONAL => |nodes| Some(Node::If(Box::new(nodes.try_into().ok()?))),
        operators::LOGICAL_NOT => |mut nodes| Some(Node::Not(Box::new(nodes.pop()?))),
        operators::NEGATE => |mut nodes| Some(Node::Negate(Box::new(nodes.pop()?))),
        operators::ADD => binary!(Add),
        operators::SUBSTRACT => binary!(Subtract),
        operators::MULTIPLY => binary!(Multiply),
        operators::DIVIDE => binary!(Divide),
        operators::MODULO => binary!(Modulo),
        operators::EQUALS => binary!(Equal),
        operators::NOT_EQUALS => binary!(NotEqual),
        operators::LESS => binary!(Less),
        operators::LESS_EQUALS => binary!(LessEqual),
        operators::GREATER => binary!(Greater),
        operators::GREATER_EQUALS => binary!(GreaterEqual),
        operators::IN => binary!(In),
        _ => return None,
    };
    let sum = arguments.iter().fold(0, |sum, argument| add(sum, argument.cost));
    let most = |index: usize| arguments.get(index).map_or(1, Checked::most);
    let mut shape = Shape { make, cost: add(sum, 1), most: None, entry: None };
    let union =
        |a: Option<(u64, u64)>, b: Option<(u64, u64)>| Some((a?.0.max(b?.0), a?.1.max(b?.1)));
    match name {
        operators::LOGICAL_AND | operators::LOGICAL_OR => shape.cost = sum,
        operators::CONDITIONAL => {
            let [condition, yes, no] = arguments else { return None };
            shape.cost = add(condition.cost, yes.cost.max(no.cost));
            shape.most = Some(yes.most().max(no.most()));
            shape.entry = union(yes.entry, no.entry);
        }
        operators::ADD if !result.is_scalar() => {
            let size = add(most(0), most(1));
            let is_list = matches!(result, Type::List(_));
            shape.cost = add(sum, if is_list { 1 } else { tenth(size) });
            shape.most = Some(size);
            shape.entry = union(arguments.first()?.entry, arguments.get(1)?.entry);
        }
        operators::IN => {
            let is_map = matches!(arguments.get(1)?.type_, Type::Map(..));
            shape.cost = add(sum, if is_map { 1 } else { most(1) });
        }
        operators::EQUALS | operators::NOT_EQUALS => {
            shape.cost = add(sum, tenth(most(0).min(most(1))));
        }
        _ if is_comparison_of_texts(name, arguments) => {
            shape.cost = add(sum, tenth(most(0).min(most(1))).max(1));
        }
        _ => {}
    }
    Some(shape)
}

/// Whether an operator orders its operands, and they can be texts.
fn is_comparison_of_texts(name: &str, operands: &[Checked]) -> bool {
    let is_text =
        |operand: &Checked| matches!(operand.type_, Type::String | Type::Bytes | Type::Dyn);
    matches!(
        name,
        operators::LESS | operators::LESS_EQUALS | operators::GREATER | operators::GREATER_EQUALS
    ) && operands.iter().all(is_text)
}

/// A call of a function with the variables `a0`, `a1` and so on.
fn library_call(name: &str, is_member: bool, arity: usize) -> IdedExpr {
    let ident = |name: String| IdedExpr { id: 0, expr: Expr::Ident(name) };
    let mut arguments: Vec<IdedExpr> = (0..arity).map(|index| ident(format!("a{index}"))).collect();
    let (target, func_name) = match name.split_once('.') {
        Some((namespace, name)) => (Some(Box::new(ident(namespace.to_owned()))), name),
        None if is_member => (Some(Box::new(arguments.remove(0))), name),
        None => (None, name),
    };
    let call = CallExpr { func_name: func_name.to_owned(), target, args: arguments };
    IdedExpr { id: 0, expr: Expr::Call(call) }
}

fn text(node: &Node) -> Option<String> {
    match node {
        Node::String(text) => Some(text.to_string()),
        _ => None,
    }
}

fn undeclared(name: &str, arguments: usize) -> String {
    if functions::is_gap(name, arguments) {
        format!("'{name}' with {arguments} arguments is not supported by this server")
    } else {
        format!("undeclared reference to '{name}' (in container '')")
    }
}

fn no_overload(name: &str, is_member: bool, arguments: &[Checked]) -> String {
    if functions::is_gap(name, arguments.len().saturating_sub(is_member.into())) {
        return undeclared(name, arguments.len() - usize::from(is_member));
    }
    let mut types: Vec<String> =
        arguments.iter().map(|argument| argument.type_.to_string()).collect();
    let receiver = if is_member { format!("{}.", types.remove(0)) } else { String::new() };
    let types = types.join(", ");
    format!("found no matching overload for '{name}' applied to '{receiver}({types})'")
}
