//! Numbers with a check digit, and social security numbers, as `govalidator` checks them.

use std::sync::LazyLock;

use regex::Regex;

static CREDIT_CARD: LazyLock<Regex> = LazyLock::new(|| {
    super::regex(
        "^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11})$",
    )
});

pub(crate) fn is_credit_card(text: &str) -> bool {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let doubled = |(index, digit): (usize, u8)| {
        let value = u32::from(digit - b'0');
        if index % 2 == 1 { value * 2 / 10 + value * 2 % 10 } else { value }
    };
    CREDIT_CARD.is_match(&digits)
        && digits.bytes().rev().enumerate().map(doubled).sum::<u32>().is_multiple_of(10)
}

pub(crate) fn is_isbn10(text: &str) -> bool {
    let text = without_separators(text);
    let [digits @ .., last] = text.as_bytes() else { return false };
    let check = if *last == b'X' { Some(10) } else { value(*last) };
    let Some(check) = check else { return false };
    if digits.len() != 9 {
        return false;
    }
    let mut sum = 10 * check;
    for (weight, digit) in (1..).zip(digits) {
        let Some(digit) = value(*digit) else { return false };
        sum += weight * digit;
    }
    sum % 11 == 0
}

pub(crate) fn is_isbn13(text: &str) -> bool {
    let text = without_separators(text);
    if text.len() != 13 {
        return false;
    }
    let mut sum = 0;
    for (index, digit) in text.bytes().enumerate() {
        let Some(digit) = value(digit) else { return false };
        sum += if index % 2 == 1 { 3 * digit } else { digit };
    }
    sum % 10 == 0
}

/// `123-45-6789`, or with spaces.
pub(crate) fn is_ssn(text: &str) -> bool {
    let bytes = text.as_bytes();
    let fits = |(index, c): (usize, &u8)| match index {
        3 | 6 => matches!(c, b'-' | b' '),
        _ => c.is_ascii_digit(),
    };
    bytes.len() == 11 && bytes.iter().enumerate().all(fits)
}

fn without_separators(text: &str) -> String {
    text.chars().filter(|c| !matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{c}' | '-')).collect()
}

fn value(digit: u8) -> Option<u32> {
    digit.is_ascii_digit().then(|| u32::from(digit - b'0'))
}
