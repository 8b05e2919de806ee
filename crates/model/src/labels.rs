//! Label selectors, of both forms: `app=web,tier in (a, b),!old,n>3` in a query, and `matchLabels`
//! with `matchExpressions` in an object. Both are compiled to the same requirements, which are
//! matched and printed in one way. Source: `k8s.io/apimachinery/pkg/labels`, and
//! `LabelSelectorAsSelector` beside it.

mod text;

use std::{collections::BTreeMap, fmt};

use serde_json::Value;

/// The requirements of a label selector, sorted by key. Without any it matches everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelSelector {
    /// `None`: matches nothing, as an absent selector of an object does.
    requirements: Option<Vec<Requirement>>,
}

/// Validation of keys and values: each returns an error message.
#[derive(Clone, Copy, Debug)]
pub struct Checks {
    pub key: fn(&str) -> Vec<String>,
    pub value: fn(&str) -> Vec<String>,
}

/// The labels of an object.
pub trait Labels {
    fn label(&self, key: &str) -> Option<&str>;
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: Box<str>,
    operator: Operator,
    /// Sorted, without duplicates.
    values: Vec<Box<str>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    Equals,
    NotEquals,
    In,
    NotIn,
    Exists,
    DoesNotExist,
    GreaterThan,
    LessThan,
}

// === impl Checks ===

impl Checks {
    /// For selectors that were checked before.
    pub const NONE: Checks = Checks { key: |_| Vec::new(), value: |_| Vec::new() };
}

// === impl LabelSelector ===

impl LabelSelector {
    /// Parses the text form.
    pub fn parse(text: &str, checks: Checks) -> Result<LabelSelector, String> {
        text::parse(text, checks).map(LabelSelector::of)
    }

    /// Compiles a `LabelSelector` of an object; `None` if it is invalid.
    pub fn compile(selector: &Value, checks: Checks) -> Option<LabelSelector> {
        let selector = selector.as_object()?;
        let mut requirements = Vec::new();
        if let Some(labels) = present(selector.get("matchLabels")) {
            for (key, value) in labels.as_object()? {
                let values = vec![value.as_str()?.to_owned()];
                requirements.push(Requirement::new(key, Operator::Equals, values));
            }
        }
        if let Some(expressions) = present(selector.get("matchExpressions")) {
            for expression in expressions.as_array()? {
                requirements.push(Requirement::compile(expression)?);
            }
        }
        let valid = requirements.iter().all(|requirement| requirement.is_valid(checks));
        valid.then(|| LabelSelector::of(requirements))
    }

    /// Matches nothing, not even an object without labels.
    pub fn nothing() -> LabelSelector {
        LabelSelector { requirements: None }
    }

    fn of(mut requirements: Vec<Requirement>) -> LabelSelector {
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        LabelSelector { requirements: Some(requirements) }
    }

    pub fn matches(&self, labels: &(impl Labels + ?Sized)) -> bool {
        let requirements = self.requirements.as_ref();
        requirements.is_some_and(|all| all.iter().all(|one| one.matches(labels)))
    }

    /// Whether it matches everything.
    pub fn is_empty(&self) -> bool {
        self.requirements.as_ref().is_some_and(Vec::is_empty)
    }
}

impl Default for LabelSelector {
    /// Everything.
    fn default() -> LabelSelector {
        LabelSelector::of(Vec::new())
    }
}

impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, requirement) in self.requirements.iter().flatten().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            write!(f, "{comma}{requirement}")?;
        }
        Ok(())
    }
}

// === impl Requirement ===

impl Requirement {
    fn new(key: &str, operator: Operator, mut values: Vec<String>) -> Requirement {
        values.sort_unstable();
        values.dedup();
        let values = values.into_iter().map(Into::into).collect();
        Requirement { key: key.into(), operator, values }
    }

    fn compile(expression: &Value) -> Option<Requirement> {
        let operator = Operator::named(expression.get("operator")?.as_str()?)?;
        let values = match present(expression.get("values")) {
            None => Vec::new(),
            Some(values) => {
                let texts = values.as_array()?.iter();
                texts.map(|text| text.as_str().map(str::to_owned)).collect::<Option<_>>()?
            }
        };
        let key = expression.get("key")?.as_str()?;
        (!operator.compares()).then(|| Requirement::new(key, operator, values))
    }

    fn is_valid(&self, checks: Checks) -> bool {
        self.operator.takes(self.values.len())
            && (checks.key)(&self.key).is_empty()
            && self.values.iter().all(|value| (checks.value)(value).is_empty())
    }

    fn matches(&self, labels: &(impl Labels + ?Sized)) -> bool {
        let listed = |value: &str| self.values.binary_search_by(|one| (**one).cmp(value)).is_ok();
        self.operator.holds(labels.label(&self.key), listed, self.values.first().map(|one| &**one))
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Requirement { key, operator, values } = self;
        let values = values.join(",");
        match operator {
            Operator::Equals => write!(f, "{key}={values}"),
            Operator::NotEquals => write!(f, "{key}!={values}"),
            Operator::In => write!(f, "{key} in ({values})"),
            Operator::NotIn => write!(f, "{key} notin ({values})"),
            Operator::Exists => f.write_str(key),
            Operator::DoesNotExist => write!(f, "!{key}"),
            Operator::GreaterThan => write!(f, "{key}>{values}"),
            Operator::LessThan => write!(f, "{key}<{values}"),
        }
    }
}

// === impl Operator ===

impl Operator {
    /// By the name that objects give it. Label selectors have no `Gt` and `Lt`, node selectors do.
    pub fn named(name: &str) -> Option<Operator> {
        Some(match name {
            "In" => Operator::In,
            "NotIn" => Operator::NotIn,
            "Exists" => Operator::Exists,
            "DoesNotExist" => Operator::DoesNotExist,
            "Gt" => Operator::GreaterThan,
            "Lt" => Operator::LessThan,
            _ => return None,
        })
    }

    /// Whether a label with this value meets a requirement with these values.
    pub fn is_met(self, values: &[String], value: Option<&str>) -> bool {
        let listed = |value: &str| values.iter().any(|one| one == value);
        self.takes(values.len()) && self.holds(value, listed, values.first().map(String::as_str))
    }

    fn takes(self, values: usize) -> bool {
        match self {
            Operator::In | Operator::NotIn => values > 0,
            Operator::Exists | Operator::DoesNotExist => values == 0,
            _ => values == 1,
        }
    }

    fn compares(self) -> bool {
        matches!(self, Operator::GreaterThan | Operator::LessThan)
    }

    fn holds(
        self,
        value: Option<&str>,
        listed: impl Fn(&str) -> bool,
        bound: Option<&str>,
    ) -> bool {
        let both = || value.and_then(integer).zip(bound.and_then(integer));
        match self {
            Operator::Equals | Operator::In => value.is_some_and(listed),
            Operator::NotEquals | Operator::NotIn => !value.is_some_and(listed),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::GreaterThan => both().is_some_and(|(value, bound)| value > bound),
            Operator::LessThan => both().is_some_and(|(value, bound)| value < bound),
        }
    }
}

// === impl Labels ===

/// Sorted by key.
impl Labels for [(Box<str>, Box<str>)] {
    fn label(&self, key: &str) -> Option<&str> {
        let found = self.binary_search_by(|(other, _)| (**other).cmp(key));
        found.ok().map(|index| &*self[index].1)
    }
}

impl Labels for BTreeMap<String, String> {
    fn label(&self, key: &str) -> Option<&str> {
        self.get(key).map(String::as_str)
    }
}

/// As an object has them.
impl Labels for Value {
    fn label(&self, key: &str) -> Option<&str> {
        self.get(key).map(|label| label.as_str().unwrap_or_default())
    }
}

/// Null is absence.
fn present(value: Option<&Value>) -> Option<&Value> {
    value.filter(|value| !value.is_null())
}

/// As Go's `ParseInt` reads it.
fn integer(text: &str) -> Option<i64> {
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn selectors_choose_by_label() {
        let objects = [("c0", "even=y,i=0"), ("c1", "i=1"), ("c2", "even=y,i=2"), ("c3", "i=3")];
        for (selector, chosen) in [
            ("", "c0 c1 c2 c3"),
            ("i==1", "c1"),
            ("even!=y", "c1 c3"),
            ("i notin (1,2)", "c0 c3"),
            ("even", "c0 c2"),
            ("!even", "c1 c3"),
            ("even=y,i in (2, 3)", "c2"),
            ("i=", ""),
            ("i>1", "c2 c3"),
            ("i<2", "c0 c1"),
            ("i in ()", ""),
            ("i in (,1)", "c1"),
            ("zz!=1", "c0 c1 c2 c3"),
            ("in=1", ""),
            (" i = 1 ", "c1"),
        ] {
            let selector = LabelSelector::parse(selector, Checks::NONE).unwrap();
            let matching = objects.iter().filter(|(_, labels)| {
                let labels: Vec<(Box<str>, Box<str>)> = labels
                    .split(',')
                    .filter_map(|pair| pair.split_once('='))
                    .map(|(key, value)| (key.into(), value.into()))
                    .collect();
                selector.matches(labels.as_slice())
            });
            let names: Vec<&str> = matching.map(|(name, _)| *name).collect();
            assert_eq!(names.join(" "), chosen, "{selector:?}");
        }
    }

    #[test]
    fn what_does_not_parse_says_so_as_kubernetes_does() {
        for (selector, error) in [
            ("i in 1", "unable to parse requirement: found '1' expected: '('"),
            ("=x", "found '=', expected: !, identifier, or 'end of string'"),
            ("i=a b", "found 'b', expected: ',' or 'end of string'"),
            (
                "a b",
                "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt",
            ),
            (
                "i>x",
                "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' \
                 operators, the value must be an integer",
            ),
            (",", "found ',', expected: !, identifier, or 'end of string'"),
            ("a,", "found '', expected: identifier after ','"),
            ("a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'"),
            ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
            ("!", "unable to parse requirement: found '', expected: identifier"),
        ] {
            assert_eq!(
                LabelSelector::parse(selector, Checks::NONE).unwrap_err(),
                error,
                "{selector:?}"
            );
        }
    }

    fn no_space(text: &str) -> Vec<String> {
        let wrong = text.is_empty() || text.contains(' ');
        wrong.then(|| "has a space".to_owned()).into_iter().collect()
    }

    #[test]
    fn the_selector_of_an_object_matches_and_reads_as_kubernetes_has_it() {
        let checks = Checks { key: no_space, value: no_space };
        let labels = json!({"app": "a", "tier": "web"});
        for (selector, shown, matches) in [
            (json!({}), "", true),
            (json!({"matchLabels": {"app": "a"}}), "app=a", true),
            (json!({"matchLabels": {"app": "b"}}), "app=b", false),
            (
                json!({"matchLabels": {"app": "a"}, "matchExpressions": [{"key": "app", "operator": "In", "values": ["b", "a"]}]}),
                "app=a,app in (a,b)",
                true,
            ),
            (
                json!({"matchExpressions": [{"key": "x", "operator": "NotIn", "values": ["1"]}]}),
                "x notin (1)",
                true,
            ),
            (json!({"matchExpressions": [{"key": "tier", "operator": "Exists"}]}), "tier", true),
            (
                json!({"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}),
                "!tier",
                false,
            ),
        ] {
            let parsed = LabelSelector::compile(&selector, checks).unwrap();
            let shown_and_matches = (parsed.to_string(), parsed.matches(&labels));
            assert_eq!(shown_and_matches, (shown.to_owned(), matches), "{selector}");
            assert_eq!(parsed.is_empty(), shown.is_empty());
            assert_eq!(LabelSelector::parse(shown, checks), Ok(parsed), "{selector}");
        }
        let nothing = LabelSelector::nothing();
        assert!(!nothing.matches(&labels) && !nothing.is_empty() && nothing.to_string().is_empty());
        let nulls = json!({"matchLabels": null, "matchExpressions": []});
        assert!(LabelSelector::compile(&nulls, checks).is_some_and(|all| all.is_empty()));
        for bad in [
            Value::Null,
            json!([]),
            json!({"matchLabels": {"a": 1}}),
            json!({"matchLabels": []}),
            json!({"matchExpressions": [{"key": "x", "operator": "In", "values": [1]}]}),
            json!({"matchExpressions": [{"key": "x", "operator": "Like", "values": ["1"]}]}),
            json!({"matchExpressions": [{"key": "x", "operator": "Gt", "values": ["1"]}]}),
            json!({"matchExpressions": [{"key": "x", "operator": "In"}]}),
            json!({"matchExpressions": [{"key": "x", "operator": "Exists", "values": ["1"]}]}),
            json!({"matchExpressions": [{"key": "x", "operator": "In", "values": ["1", "a b"]}]}),
            json!({"matchLabels": {"bad key": "a"}}),
        ] {
            assert_eq!(LabelSelector::compile(&bad, checks), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn a_selector_is_read_from_its_text_alike(
            text in "(a|b)(=|!=| in | notin |>|<)(1|2|\\(1,3\\))(,!?[a-d]){0,3}"
        ) {
            if let Ok(selector) = LabelSelector::parse(&text, Checks::NONE) {
                prop_assert_eq!(LabelSelector::parse(&selector.to_string(), Checks::NONE), Ok(selector));
            }
        }

        #[test]
        fn nothing_that_is_sent_panics(text in "[a-z0-9=!(),<> \t\u{e4}-]{0,40}") {
            let _ = LabelSelector::parse(&text, Checks::NONE);
        }
    }
}
