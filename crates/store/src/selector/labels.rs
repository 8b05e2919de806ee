//! Label selectors: `app=web,tier in (a, b),!old,n>3`.
//!
//! Grammar, leniencies and error texts are those of `k8s.io/apimachinery/pkg/labels`: a parser with
//! one token of look-ahead, without quoting. One pass, no recursion.

/// The requirements of a label selector. Empty: matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector(Vec<Requirement>);

/// Validation of keys and values: each returns an error message.
#[derive(Clone, Copy, Debug)]
pub struct Checks {
    pub key: fn(&str) -> Vec<String>,
    pub value: fn(&str) -> Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: Box<str>,
    operator: Operator,
    /// Sorted, without duplicates.
    values: Vec<Box<str>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
    GreaterThan,
    LessThan,
}

impl LabelSelector {
    pub fn parse(text: &str, checks: Checks) -> Result<LabelSelector, String> {
        Parser { tokens: tokens(text), at: 0, checks }.selector().map(LabelSelector)
    }

    /// `labels` is sorted by key.
    pub fn matches(&self, labels: &[(Box<str>, Box<str>)]) -> bool {
        self.0.iter().all(|requirement| requirement.matches(labels))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

// === impl Requirement ===

impl Requirement {
    fn matches(&self, labels: &[(Box<str>, Box<str>)]) -> bool {
        let found = labels.binary_search_by(|(key, _)| (**key).cmp(&*self.key));
        let value = found.ok().map(|index| &*labels[index].1);
        let listed = |value: &str| self.values.binary_search_by(|one| (**one).cmp(value)).is_ok();
        match self.operator {
            Operator::In => value.is_some_and(listed),
            Operator::NotIn => !value.is_some_and(listed),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::GreaterThan => self.compares(value, |there, asked| there > asked),
            Operator::LessThan => self.compares(value, |there, asked| there < asked),
        }
    }

    fn compares(&self, value: Option<&str>, holds: fn(i64, i64) -> bool) -> bool {
        let there = value.and_then(integer);
        let asked = self.values.first().and_then(|value| integer(value));
        there.zip(asked).is_some_and(|(there, asked)| holds(there, asked))
    }
}

/// As Go's `ParseInt` reads it.
fn integer(text: &str) -> Option<i64> {
    text.parse().ok()
}

// === Tokens ===

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    End,
    Word(String),
    /// One of `) ( , ! = == != > <`, or an invalid combination of their characters.
    Sign(String),
}

const SIGNS: &[&str] = &[")", "(", ",", "!", "==", "=", ">", "<", "!="];

fn tokens(text: &str) -> Vec<Token> {
    let mut rest = text.trim_start_matches(is_space);
    let mut tokens = Vec::new();
    while let Some(first) = rest.chars().next() {
        let length = if is_special(first) {
            sign_length(rest)
        } else {
            rest.find(|c| is_special(c) || is_space(c)).unwrap_or(rest.len())
        };
        let (token, after) = rest.split_at(length);
        tokens.push(match is_special(first) {
            true => Token::Sign(token.to_owned()),
            false => Token::Word(token.to_owned()),
        });
        rest = after.trim_start_matches(is_space);
    }
    tokens
}

/// The length of the longest sign at the start of a text. Each special character alone is one.
fn sign_length(text: &str) -> usize {
    let is_sign = |length: &usize| text.get(..*length).is_some_and(|sign| SIGNS.contains(&sign));
    (1..=2).rev().find(is_sign).unwrap_or(1)
}

fn is_special(c: char) -> bool {
    matches!(c, '=' | '!' | '(' | ')' | ',' | '>' | '<')
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

// === impl Parser ===

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    checks: Checks,
}

impl Parser {
    fn selector(&mut self) -> Result<Vec<Requirement>, String> {
        let mut requirements = Vec::new();
        loop {
            match self.peek() {
                Token::End => break,
                token if starts_requirement(token) => {}
                other => {
                    let found = literal(other);
                    return Err(format!(
                        "found '{found}', expected: !, identifier, or 'end of string'"
                    ));
                }
            }
            let requirement = self.requirement();
            requirements
                .push(requirement.map_err(|e| format!("unable to parse requirement: {e}"))?);
            match self.next() {
                Token::End => break,
                Token::Sign(sign) if sign == "," => {}
                other => {
                    let found = literal(&other);
                    return Err(format!("found '{found}', expected: ',' or 'end of string'"));
                }
            }
            if !starts_requirement(self.peek()) {
                let found = literal(self.peek());
                return Err(format!("found '{found}', expected: identifier after ','"));
            }
        }
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(requirements)
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let negated = is_sign(self.peek(), "!");
        if negated {
            self.next();
        }
        let key = match self.next() {
            Token::Word(key) => key,
            other => return Err(format!("found '{}', expected: identifier", literal(&other))),
        };
        checked(&(self.checks.key)(&key), "<nil>", &key)?;
        let alone = *self.peek() == Token::End || is_sign(self.peek(), ",");
        let (operator, values) = match (negated, alone) {
            (true, _) => (Operator::DoesNotExist, Vec::new()),
            (false, true) => (Operator::Exists, Vec::new()),
            (false, false) => self.comparison()?,
        };
        self.check_values(&key, operator, &values)?;
        let key = key.into_boxed_str();
        Ok(Requirement { key, operator, values: values.into_iter().map(Into::into).collect() })
    }

    fn comparison(&mut self) -> Result<(Operator, Vec<String>), String> {
        let operator = self.next();
        let (operator, many) = match literal(&operator) {
            "in" => (Operator::In, true),
            "notin" => (Operator::NotIn, true),
            "=" | "==" => (Operator::In, false),
            "!=" => (Operator::NotIn, false),
            ">" => (Operator::GreaterThan, false),
            "<" => (Operator::LessThan, false),
            found => {
                return Err(format!("found '{found}', expected: in, notin, =, ==, !=, gt, lt"));
            }
        };
        let mut values = if many { self.values()? } else { vec![self.exact_value()?] };
        values.sort_unstable();
        values.dedup();
        Ok((operator, values))
    }

    fn exact_value(&mut self) -> Result<String, String> {
        if *self.peek() == Token::End || is_sign(self.peek(), ",") {
            return Ok(String::new());
        }
        match self.next() {
            Token::Word(value) => Ok(value),
            other => Err(format!("found '{}', expected: identifier", literal(&other))),
        }
    }

    /// `(a, b)`; a missing value is the empty one.
    fn values(&mut self) -> Result<Vec<String>, String> {
        let open = self.next();
        if !is_sign(&open, "(") {
            return Err(format!("found '{}' expected: '('", literal(&open)));
        }
        let mut values = Vec::new();
        let mut after_value = false;
        loop {
            match self.next() {
                Token::Word(_) if after_value => {
                    let found = literal(&self.tokens[self.at - 1]);
                    return Err(format!("found '{found}', expected: ',' or ')'"));
                }
                Token::Word(value) => {
                    values.push(value);
                    after_value = true;
                }
                Token::Sign(sign) if sign == "," => {
                    if !after_value {
                        values.push(String::new());
                    }
                    after_value = false;
                }
                Token::Sign(sign) if sign == ")" => {
                    if !after_value {
                        values.push(String::new());
                    }
                    return Ok(values);
                }
                other if after_value => {
                    return Err(format!("found '{}', expected: ',' or ')'", literal(&other)));
                }
                other if values.is_empty() => {
                    let found = literal(&other);
                    return Err(format!("found '{found}', expected: ',', ')' or identifier"));
                }
                other => {
                    return Err(format!(
                        "found '{}', expected: ',', or identifier",
                        literal(&other)
                    ));
                }
            }
        }
    }

    fn check_values(&self, key: &str, operator: Operator, values: &[String]) -> Result<(), String> {
        let compares = matches!(operator, Operator::GreaterThan | Operator::LessThan);
        for (index, value) in values.iter().enumerate() {
            if compares && integer(value).is_none() {
                let wrong = "for 'Gt', 'Lt' operators, the value must be an integer";
                return Err(format!("values[{index}]: Invalid value: \"{value}\": {wrong}"));
            }
            checked(&(self.checks.value)(value), &format!("values[{index}][{key}]"), value)?;
        }
        Ok(())
    }

    fn peek(&self) -> &Token {
        self.tokens.get(self.at).unwrap_or(&Token::End)
    }

    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.at += 1;
        token
    }
}

fn checked(wrong: &[String], path: &str, value: &str) -> Result<(), String> {
    if wrong.is_empty() {
        return Ok(());
    }
    Err(format!("{path}: Invalid value: {value:?}: {}", wrong.join("; ")))
}

fn starts_requirement(token: &Token) -> bool {
    matches!(token, Token::Word(_)) || is_sign(token, "!")
}

fn is_sign(token: &Token, sign: &str) -> bool {
    matches!(token, Token::Sign(found) if found == sign)
}

fn literal(token: &Token) -> &str {
    match token {
        Token::End => "",
        Token::Word(text) | Token::Sign(text) => text,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ANY: Checks = Checks { key: |_| Vec::new(), value: |_| Vec::new() };

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
            let selector = LabelSelector::parse(selector, ANY).unwrap();
            let matching = objects.iter().filter(|(_, labels)| {
                let labels: Vec<(Box<str>, Box<str>)> = labels
                    .split(',')
                    .filter_map(|pair| pair.split_once('='))
                    .map(|(key, value)| (key.into(), value.into()))
                    .collect();
                selector.matches(&labels)
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
            assert_eq!(LabelSelector::parse(selector, ANY).unwrap_err(), error, "{selector:?}");
        }
    }

    proptest! {
        #[test]
        fn nothing_that_is_sent_panics(text in "[a-z0-9=!(),<> \t\u{e4}-]{0,40}") {
            let _ = LabelSelector::parse(&text, ANY);
        }
    }
}
