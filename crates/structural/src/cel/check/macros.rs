//! Macros: the parser expands them to loops, which are recognized here by their shape.

use kube_cel::cel::{
    IdedExpr,
    common::ast::{CallExpr, ComprehensionExpr, Expr, LiteralValue, operators},
};
use std::sync::Arc;

use super::{Checked, Checker, Local, Place, Result};
use crate::cel::{
    cost::{self, add, times},
    program::{Fold, FoldKind, Node},
    types::Type,
};

/// A loop as the macro that it was.
struct Macro<'a> {
    kind: FoldKind,
    condition: Option<&'a IdedExpr>,
    value: Option<&'a IdedExpr>,
}

/// The macro that was expanded to a loop; nothing if it is not one of cel-go's with one variable.
fn macro_of(fold: &ComprehensionExpr) -> Option<Macro<'_>> {
    if fold.iter_var2.is_some() {
        return None;
    }
    let step = call(&fold.loop_step)?;
    match &fold.accu_init.expr {
        Expr::Literal(LiteralValue::Boolean(initial)) => {
            let kind = if *initial.inner() { FoldKind::All } else { FoldKind::Exists };
            Some(Macro { kind, condition: step.args.get(1), value: None })
        }
        Expr::Literal(LiteralValue::Int(_)) => {
            Some(Macro { kind: FoldKind::ExistsOne, condition: step.args.first(), value: None })
        }
        Expr::List(_) if step.func_name == operators::CONDITIONAL => {
            let value = appended(call(step.args.get(1)?)?);
            Some(Macro { kind: FoldKind::Map, condition: step.args.first(), value })
        }
        Expr::List(_) => {
            Some(Macro { kind: FoldKind::Map, condition: None, value: appended(step) })
        }
        _ => None,
    }
}

fn call(expression: &IdedExpr) -> Option<&CallExpr> {
    match &expression.expr {
        Expr::Call(call) => Some(call),
        _ => None,
    }
}

/// The element of `accumulator + [element]`.
fn appended(call: &CallExpr) -> Option<&IdedExpr> {
    match &call.args.get(1)?.expr {
        Expr::List(list) => list.elements.first(),
        _ => None,
    }
}

/// The parts of a macro that are in the text, in its order; the range is before them.
pub(in crate::cel) fn written_parts(fold: &ComprehensionExpr) -> impl Iterator<Item = &IdedExpr> {
    let parts = macro_of(fold);
    parts.into_iter().flat_map(|parts| parts.condition.into_iter().chain(parts.value))
}

impl Checker<'_> {
    pub(super) fn fold(
        &mut self,
        expression: &IdedExpr,
        fold: &ComprehensionExpr,
    ) -> Result<Checked> {
        let Some(Macro { kind, condition, value }) = macro_of(fold) else {
            return Err(self.issue(expression, "this macro is not supported by this server"));
        };
        let range = self.node(&fold.iter_range)?;
        let local = self.iterated(expression, &range, &fold.iter_var)?;
        self.locals.push(local);
        let condition = condition.map(|condition| self.condition(expression, condition));
        let value = value.map(|value| self.node(value));
        self.locals.pop();
        let (condition, value) = (condition.transpose()?, value.transpose()?);

        let parts = [&condition, &value].into_iter().flatten();
        let step = parts.fold(kind.step_cost(), |sum, part| add(sum, part.cost));
        let base = match kind {
            FoldKind::All | FoldKind::Exists => 1,
            FoldKind::ExistsOne => 2,
            FoldKind::Map => cost::LIST + 1,
        };
        let cost = add(add(range.cost, base), times(range.most(), step));
        let most = range.most();
        let (type_, entry) = match (&value, kind) {
            (Some(value), FoldKind::Map) => {
                (Type::list(value.type_.clone()), Some((1, value.most())))
            }
            _ => (Type::Bool, None),
        };
        let node = |checked: Option<Checked>| checked.map(|checked| checked.node);
        let range = range.node;
        let fold = Fold { kind, range, condition: node(condition), value: node(value) };
        let mut checked = Checked::new(Node::Fold(Box::new(fold)), type_, cost);
        checked.most = Some(if kind == FoldKind::Map { most } else { 1 });
        checked.entry = entry;
        Ok(checked)
    }

    /// The variable of a macro over a range.
    fn iterated(&self, expression: &IdedExpr, range: &Checked, name: &str) -> Result<Local> {
        self.is_free(expression, name)?;
        let (type_, place) = match &range.type_ {
            Type::List(element) => ((**element).clone(), range.place.element()),
            Type::Map(key, _) => ((**key).clone(), None),
            Type::Dyn => (Type::Dyn, None),
            other => {
                let words = format!(
                    "expression of type '{other}' cannot be range of a comprehension (must be list, map, or dynamic)"
                );
                return Err(self.issue(expression, &words));
            }
        };
        // Kubernetes takes the size of keys for 0, and that of the items of computed lists for the
        // size of `self`: what it accepts is accepted here, and the cost at run time is bounded.
        let most = match (&place, range.entry) {
            _ if range.place.is_map() => Some(0),
            (None, Some((_, value))) => Some(value.min(self.this.most_elements)),
            _ => None,
        };
        let place = place.unwrap_or_else(|| Arc::clone(self.this));
        Ok(Local { name: name.to_owned(), type_, place: Place::Declared(place), most })
    }

    fn condition(&mut self, fold: &IdedExpr, condition: &IdedExpr) -> Result<Checked> {
        let checked = self.node(condition)?;
        if Type::Bool.agrees(&checked.type_) {
            return Ok(checked);
        }
        let words = format!("expected type 'bool' but found '{}'", checked.type_);
        Err(self.issue(fold, &words))
    }

    /// `optional.optMap(variable, value)`.
    pub(super) fn within(
        &mut self,
        expression: &IdedExpr,
        call: &CallExpr,
        variable: &IdedExpr,
        value: &IdedExpr,
    ) -> Result<Checked> {
        let Some(target) = &call.target else { unreachable!("the caller has seen a target") };
        let target = self.node(target)?;
        let (Expr::Ident(name), Type::Optional(inner)) = (&variable.expr, &target.type_) else {
            let words = match &target.type_ {
                Type::Optional(_) => {
                    format!("{}() variable name must be a simple identifier", call.func_name)
                }
                other => {
                    format!("found no matching overload for 'hasValue' applied to '{other}.()'")
                }
            };
            return Err(self.issue(expression, &words));
        };
        let (type_, place) = ((**inner).clone(), target.place.clone());
        self.locals.push(Local { name: name.clone(), type_, place, most: target.most });
        let value = self.node(value);
        self.locals.pop();
        let value = value?;
        let wraps = call.func_name == "optMap";
        let type_ = match (&value.type_, wraps) {
            (type_, true) => Type::optional(type_.clone()),
            (Type::Optional(_), false) => value.type_.clone(),
            (other, false) => {
                let words = format!("expected type 'optional_type(A)' but found '{other}'");
                return Err(self.issue(expression, &words));
            }
        };
        // The macro asks whether there is a value, and then takes it within a loop over no items.
        let around = cost::LIST + 2 + u64::from(wraps);
        let cost = add(add(times(target.cost, 2), value.cost), around);
        let (place, most) = (value.place, value.most);
        let node = Node::Within { operands: Box::new([target.node, value.node]), wraps };
        let mut checked = Checked::new(node, type_, cost);
        checked.place = place;
        checked.most = most;
        Ok(checked)
    }
}
