//! URIs as Go's `url.ParseRequestURI` accepts them: absolute, or an absolute path.

pub(crate) fn is_request_uri(text: &str) -> bool {
    if text.is_empty() || text.bytes().any(|c| c < b' ' || c == 0x7f) {
        return false;
    }
    if text == "*" {
        return true;
    }
    let Some((scheme, rest)) = scheme(text) else { return false };
    let rest = rest.split('?').next().unwrap_or_default();
    if !rest.starts_with('/') {
        return scheme;
    }
    let path = match rest.strip_prefix("//") {
        Some(authority) if scheme => {
            let end = authority.find('/').unwrap_or(authority.len());
            if !is_authority(&authority[..end]) {
                return false;
            }
            &authority[end..]
        }
        _ => rest,
    };
    is_escaped(path)
}

/// Whether there is a scheme, and what follows it; nothing if the text starts with a colon.
fn scheme(text: &str) -> Option<(bool, &str)> {
    for (index, c) in text.bytes().enumerate() {
        match c {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if index > 0 => {}
            b':' if index == 0 => return None,
            b':' => return Some((true, &text[index + 1..])),
            _ => break,
        }
    }
    Some((false, text))
}

fn is_authority(authority: &str) -> bool {
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (user, host),
        None => ("", authority),
    };
    let in_user = |c: u8| c.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&c);
    user.bytes().all(in_user) && is_escaped(user) && is_host(host)
}

fn is_host(host: &str) -> bool {
    let port = match host.rfind(']') {
        Some(end) if host.starts_with('[') => &host[end + 1..],
        None if host.starts_with('[') => return false,
        _ => host.rfind(':').map_or("", |colon| &host[colon..]),
    };
    let is_port = match port.strip_prefix(':') {
        Some(digits) => digits.bytes().all(|c| c.is_ascii_digit()),
        None => port.is_empty(),
    };
    let allowed =
        |c: u8| c >= 0x80 || c.is_ascii_alphanumeric() || b"!$&'()*+,;=:[]<>\"-_.~%".contains(&c);
    // In a host, only bytes from 0x80 on and the percent sign itself may be escaped.
    let escapes = host.split('%').skip(1).all(|rest| {
        matches!(rest.as_bytes(), [high, low, ..] if high.is_ascii_hexdigit()
            && low.is_ascii_hexdigit() && (!(b'0'..=b'7').contains(high) || rest.starts_with("25")))
    });
    is_port && host.bytes().all(allowed) && escapes
}

/// Whether every percent sign is followed by two hexadecimal digits.
fn is_escaped(text: &str) -> bool {
    text.split('%').skip(1).all(|rest| {
        matches!(rest.as_bytes(), [high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit())
    })
}
