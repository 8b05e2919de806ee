//! Mail addresses as Go's `mail.ParseAddress` accepts them: `a@b`, or `Name <a@b>`. Comments and
//! groups, which Go accepts too, are not supported.

use core::net::IpAddr;

pub(crate) fn is_email(text: &str) -> bool {
    let text = text.trim_matches([' ', '\t']);
    if is_address(text) {
        return true;
    }
    let Some((name, address)) = text.strip_suffix('>').and_then(|text| text.rsplit_once('<'))
    else {
        return false;
    };
    is_phrase(name) && is_address(address.trim_matches([' ', '\t']))
}

fn is_address(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else { return false };
    let local_fits = match local.strip_prefix('"') {
        Some(quoted) => end_of_quoted(quoted) == Some(""),
        None => is_dot_atom(local),
    };
    local_fits && is_domain(domain)
}

fn is_domain(domain: &str) -> bool {
    match domain.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        Some(literal) => literal.strip_prefix("IPv6:").unwrap_or(literal).parse::<IpAddr>().is_ok(),
        None => is_dot_atom(domain),
    }
}

fn is_dot_atom(text: &str) -> bool {
    !text.is_empty() && text.split('.').all(|atom| !atom.is_empty() && atom.chars().all(in_atom))
}

/// Words of a display name: atoms, which may have dots, and quoted strings. None at all is allowed.
fn is_phrase(mut text: &str) -> bool {
    loop {
        text = text.trim_start_matches([' ', '\t']);
        if text.is_empty() {
            return true;
        }
        if let Some(quoted) = text.strip_prefix('"') {
            let Some(rest) = end_of_quoted(quoted) else { return false };
            text = rest;
            continue;
        }
        let end = text.find(|c| !in_atom(c) && c != '.').unwrap_or(text.len());
        if end == 0 {
            return false;
        }
        text = &text[end..];
    }
}

/// What follows the closing quote.
fn end_of_quoted(text: &str) -> Option<&str> {
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some(&text[at + 1..]),
            '\\' => drop(chars.next()?),
            c if c.is_control() && c != '\t' => return None,
            _ => {}
        }
    }
    None
}

fn in_atom(c: char) -> bool {
    c.is_ascii_alphanumeric() || !c.is_ascii() || "!#$%&'*+-/=?^_`{|}~".contains(c)
}
