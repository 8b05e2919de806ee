//! The cost of a call, before it is made and for the largest values that a schema allows.
//!
//! One formula serves both: at definition time with the largest sizes, at run time with those of the
//! values. Sources: cel-go `checker/cost.go` and `interpreter/runtimecost.go`, Kubernetes
//! `pkg/cel/library/cost.go`, and cel-go `ext/lists.go`, `ext/sets.go`. A unit is about 50 ns there.

/// A cost or size that has no bound.
pub(super) const UNBOUNDED: u64 = u64::MAX;

pub(super) const LIST: u64 = 10;
pub(super) const MAP: u64 = 30;

/// How the cost of a call follows from its arguments; the receiver is argument 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cost {
    /// A conversion of a constant.
    Free,
    One,
    /// A pass over this argument, so many times. The result is as large as the argument.
    Pass(usize, u64),
    /// A regular expression (argument 1) over a text (argument 0).
    Regex,
    /// A text (argument 1) in a text (argument 0).
    Contains,
    /// A pass over a list and the texts in it, or over a text.
    Elements,
    Replace,
    Split,
    Join,
    /// Every item of one list with every item of the other, so many times.
    Product(u64),
    /// Every item of a list with every other.
    Square,
    Slice,
    Range,
    Flatten,
    /// A comparison of addresses, and a pass over argument 1 if it is a text.
    Address(u64),
    /// A named format.
    Validate,
}

/// What is known of an argument.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    /// Its characters, bytes, items or entries, at most; 1 for a scalar.
    pub(super) most: u64,
    /// Those of its items, and whether they are texts, if it is a list.
    pub(super) element: Option<(u64, bool)>,
    /// Whether it is a text.
    pub(super) is_text: bool,
    /// Its value if it is a whole number.
    pub(super) number: Option<u64>,
}

/// The cost of a call, and the size of its result if it follows from the arguments.
pub(super) fn call(cost: Cost, arguments: &[Extent]) -> (u64, Option<u64>) {
    let most = |index: usize| arguments.get(index).map_or(1, |argument| argument.most);
    let number = |index: usize| arguments.get(index).and_then(|argument| argument.number);
    let list = |size: u64, factor| add(times(size, factor), 1 + LIST);
    match cost {
        Cost::Free => (0, None),
        Cost::One => (1, None),
        Cost::Pass(index, passes) => (tenth(times(most(index), passes)), Some(most(index))),
        Cost::Regex => (regex(most(0), most(1)), Some(most(0))),
        Cost::Contains => (times(tenth(most(0)), tenth(most(1))), None),
        Cost::Elements => (elements(arguments), None),
        Cost::Replace => (tenth(times(most(0), 2)), Some(replaced(arguments))),
        Cost::Split => (tenth(times(most(0), 2)), Some(number(2).unwrap_or(most(0)))),
        Cost::Join => {
            let element =
                arguments.first().and_then(|list| list.element).map_or(0, |(most, _)| most);
            let separators = times(most(0).saturating_sub(1), separator(arguments));
            let size = add(times(most(0), element), separators);
            (tenth(size), Some(size))
        }
        Cost::Product(factor) => (add(times(times(most(0), most(1)), factor), 1), None),
        Cost::Square => {
            let square = times(most(0), most(0));
            let texts =
                arguments.first().and_then(|list| list.element).is_some_and(|(_, text)| text);
            let compared = if texts { square / 10 } else { 0 };
            (add(list(square, 2), compared), Some(most(0)))
        }
        Cost::Slice => {
            let size = number(2).unwrap_or(most(0)).saturating_sub(number(1).unwrap_or(0));
            (list(size, 1), Some(size))
        }
        Cost::Range => (list(number(0).unwrap_or(UNBOUNDED), 1), number(0)),
        Cost::Flatten => {
            let depth = if arguments.len() > 1 { number(1).unwrap_or(UNBOUNDED) } else { 1 };
            (list(most(0), depth), Some(most(0)))
        }
        Cost::Address(fixed) => {
            let text = arguments.get(1).filter(|argument| argument.is_text);
            (add(fixed, text.map_or(0, |text| tenth(text.most))), None)
        }
        Cost::Validate => (times(tenth(most(1)), 32), None),
    }
}

/// Each step of a text takes each part of the expression, which is some 4 characters long.
pub(super) fn regex(text: u64, expression: u64) -> u64 {
    times(tenth(add(text, 1)), expression.div_ceil(4))
}

fn elements(arguments: &[Extent]) -> u64 {
    match arguments.first() {
        Some(Extent { most, element: Some((_, false)), .. }) => *most,
        Some(Extent { most, element: Some((element, true)), .. }) => {
            times(*most, add(1, tenth(*element)))
        }
        Some(Extent { most, .. }) => tenth(*most),
        None => 1,
    }
}

fn separator(arguments: &[Extent]) -> u64 {
    arguments.get(1).map_or(0, |separator| separator.most)
}

/// The longest text after each character was replaced: what is replaced can be empty.
fn replaced(arguments: &[Extent]) -> u64 {
    let most = |index: usize| arguments.get(index).map_or(0, |argument| argument.most);
    add(times(add(most(0), 1), most(2)), most(0))
}

/// Texts are passed over ten characters in a unit.
pub(super) fn tenth(size: u64) -> u64 {
    if size == UNBOUNDED { UNBOUNDED } else { size.div_ceil(10) }
}

pub(super) fn times(a: u64, b: u64) -> u64 {
    a.saturating_mul(b)
}

pub(super) fn add(a: u64, b: u64) -> u64 {
    a.saturating_add(b)
}
