//! The evaluation of a path.

use std::{borrow::Cow, cmp::Ordering};

use serde_json::Value;

use super::{Filter, JsonPath, Operator, Slice, Step};

/// The values that an evaluation may visit.
const MOST_VISITS: usize = 1_000_000;

type Found<'a> = Vec<Cow<'a, Value>>;

impl JsonPath {
    /// The values at the path; fields that are missing give none. The error says why there are none.
    pub fn find<'a>(&self, object: &'a Value) -> Result<Vec<Cow<'a, Value>>, String> {
        Search { visits: 0 }.steps(&self.steps, vec![Cow::Borrowed(object)])
    }
}

struct Search {
    visits: usize,
}

impl Search {
    fn steps<'a>(&mut self, steps: &[Step], input: Found<'a>) -> Result<Found<'a>, String> {
        steps.iter().try_fold(input, |values, step| self.step(step, values))
    }

    fn visit(&mut self, values: usize) -> Result<(), String> {
        self.visits = self.visits.saturating_add(values);
        if self.visits > MOST_VISITS {
            return Err(format!("path visits more than {MOST_VISITS} values"));
        }
        Ok(())
    }

    fn step<'a>(&mut self, step: &Step, input: Found<'a>) -> Result<Found<'a>, String> {
        self.visit(1 + input.len())?;
        let constant = |value: Value| -> Found<'a> {
            input.iter().map(|_| Cow::Owned(value.clone())).collect()
        };
        Ok(match step {
            Step::Text(text) => vec![Cow::Owned(Value::from(text.as_str()))],
            Step::Int(number) => constant(Value::from(*number)),
            Step::Float(number) => constant(Value::from(*number)),
            Step::Bool(value) => constant(Value::from(*value)),
            Step::Identifier(name) => return Err(format!("unrecognized identifier {name}")),
            Step::Field(name) => {
                let values = input.into_iter().filter_map(of_object);
                values.filter_map(|value| value.as_object()?.get(name).map(Cow::Borrowed)).collect()
            }
            Step::Wildcard => {
                let mut found = Vec::new();
                for value in input.into_iter().filter_map(of_object) {
                    self.children(value, &mut found)?;
                }
                found
            }
            Step::Recursive => self.recursive(input)?,
            Step::Slice(slice) => self.slice(slice, input)?,
            Step::Union(parts) => {
                let mut found = Vec::new();
                for part in parts {
                    found.extend(self.steps(part, input.clone())?);
                }
                found
            }
            Step::Filter(filter) => self.filter(filter, input)?,
        })
    }

    fn children<'a>(&mut self, value: &'a Value, found: &mut Found<'a>) -> Result<(), String> {
        match value {
            Value::Array(items) => {
                self.visit(items.len())?;
                found.extend(items.iter().map(Cow::Borrowed));
            }
            Value::Object(map) => {
                self.visit(map.len())?;
                found.extend(map.values().map(Cow::Borrowed));
            }
            _ => {}
        }
        Ok(())
    }

    /// All lists and maps that have something in them, each before what it contains.
    fn recursive<'a>(&mut self, input: Found<'a>) -> Result<Found<'a>, String> {
        let mut found = Vec::new();
        let mut stack: Found<'a> = input.into_iter().rev().collect();
        while let Some(value) = stack.pop() {
            let Some(value) = of_object(value) else { continue };
            let start = stack.len();
            self.children(value, &mut stack)?;
            if stack.len() > start {
                stack[start..].reverse();
                found.push(Cow::Borrowed(value));
            }
        }
        Ok(found)
    }

    fn slice<'a>(&mut self, slice: &Slice, input: Found<'a>) -> Result<Found<'a>, String> {
        let mut found = Vec::new();
        for value in input {
            let items = match value {
                Cow::Borrowed(Value::Array(items)) => items,
                Cow::Borrowed(Value::Null) => continue,
                other => return Err(format!("{} is not array or slice", type_name(&other))),
            };
            let Some((start, end, step)) = range(slice, items.len())? else { return Ok(found) };
            self.visit((end - start) / step + 1)?;
            found.extend(items[start..end].iter().step_by(step).map(Cow::Borrowed));
        }
        Ok(found)
    }

    fn filter<'a>(&mut self, filter: &Filter, input: Found<'a>) -> Result<Found<'a>, String> {
        let mut found = Vec::new();
        for value in input {
            let Cow::Borrowed(Value::Array(items)) = value else {
                let type_ = type_name(&value);
                return Err(format!("{type_} is not array or slice and cannot be filtered"));
            };
            for item in items {
                if self.passes(filter, item)? {
                    found.push(Cow::Borrowed(item));
                }
            }
        }
        Ok(found)
    }

    fn passes(&mut self, filter: &Filter, item: &Value) -> Result<bool, String> {
        let left = self.steps(&filter.left, vec![Cow::Borrowed(item)]);
        if filter.operator == Operator::Exists {
            // An error is the same as nothing, except that of the budget.
            self.visit(0)?;
            return Ok(left.is_ok_and(|left| !left.is_empty()));
        }
        let Some(left) = one(left?)? else { return Ok(false) };
        let Some(right) = one(self.steps(&filter.right, vec![Cow::Borrowed(item)])?)? else {
            return Ok(false);
        };
        compare(&left, &filter.operator, &right)
    }
}

/// A value of the object. Those that are not, are scalars of the path.
#[expect(clippy::needless_pass_by_value, reason = "the lifetime is that of the object")]
fn of_object(value: Cow<'_, Value>) -> Option<&Value> {
    match value {
        Cow::Borrowed(value) => Some(value),
        Cow::Owned(_) => None,
    }
}

fn one(values: Found<'_>) -> Result<Option<Cow<'_, Value>>, String> {
    if values.len() > 1 {
        return Err("can only compare one element at a time".into());
    }
    Ok(values.into_iter().next())
}

/// Start, end and step within a list; nothing if no item is asked for.
fn range(slice: &Slice, length: usize) -> Result<Option<(usize, usize, usize)>, String> {
    let length = i64::try_from(length).map_err(|_| "list is too long".to_owned())?;
    let given = slice.start.unwrap_or(0);
    let start = if given < 0 { given + length } else { given };
    let end = if slice.is_index { given + 1 } else { slice.end.unwrap_or(length) };
    let end = if end < 0 || end == 0 && slice.is_index { end + length } else { end };
    if start == end {
        return Ok(None);
    }
    let out_of_bounds =
        |index: i64| Err(format!("array index out of bounds: index {index}, length {length}"));
    if start >= length || start < 0 {
        return out_of_bounds(start);
    }
    if end > length || end < 0 {
        return out_of_bounds(end - 1);
    }
    if start > end {
        return Err(format!("starting index {start} is greater than ending index {end}"));
    }
    let step = slice.step.unwrap_or(1);
    if step <= 0 {
        return Err("step must be > 0".into());
    }
    let within = |number: i64| usize::try_from(number).unwrap_or(0);
    Ok(Some((within(start), within(end), within(step))))
}

/// Compares as Go's templates do: only values of one kind, and whole numbers are not of the kind of
/// those with a fraction.
fn compare(left: &Value, operator: &Operator, right: &Value) -> Result<bool, String> {
    let order = match (left, right) {
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Bool(left), Value::Bool(right)) => match operator {
            Operator::Equal | Operator::NotEqual => left.cmp(right),
            _ => return Err("invalid type for comparison".into()),
        },
        (Value::Number(left), Value::Number(right)) => match (left.as_i64(), right.as_i64()) {
            (Some(left), Some(right)) => left.cmp(&right),
            (None, None) => {
                let (left, right) = (left.as_f64(), right.as_f64());
                left.partial_cmp(&right).unwrap_or(Ordering::Less)
            }
            _ => return Err("incompatible types for comparison".into()),
        },
        (Value::Array(_) | Value::Object(_) | Value::Null, _)
        | (_, Value::Array(_) | Value::Object(_) | Value::Null) => {
            return Err("invalid type for comparison".into());
        }
        _ => return Err("incompatible types for comparison".into()),
    };
    Ok(match operator {
        Operator::Less => order.is_lt(),
        Operator::LessEqual => order.is_le(),
        Operator::Greater => order.is_gt(),
        Operator::GreaterEqual => order.is_ge(),
        Operator::Equal => order.is_eq(),
        Operator::NotEqual => order.is_ne(),
        Operator::Exists => true,
        Operator::Unknown(text) => return Err(format!("unrecognized filter operator {text}")),
    })
}

/// The type of a value in Go.
fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}
