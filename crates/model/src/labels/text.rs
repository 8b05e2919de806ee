//! The text form of label selectors: a parser with one token of look-ahead, without quoting. One
//! pass, no recursion. Grammar, leniencies and error texts are those of
//! `k8s.io/apimachinery/pkg/labels`.

use super::{Checks, Operator, Requirement, integer};

pub(super) fn parse(text: &str, checks: Checks) -> Result<Vec<Requirement>, String> {
    Parser { tokens: tokens(text), at: 0, checks }.selector()
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
            "=" | "==" => (Operator::Equals, false),
            "!=" => (Operator::NotEquals, false),
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
