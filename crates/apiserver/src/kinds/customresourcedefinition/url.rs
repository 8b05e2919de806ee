//! The parts of a URL, as Go's `net/url` sees them.

/// An absolute URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Url<'a> {
    pub(super) scheme: &'a str,
    pub(super) user: Option<&'a str>,
    pub(super) host: &'a str,
    pub(super) query: &'a str,
    pub(super) fragment: &'a str,
}

/// `None` if it is none. A scheme or a host may be missing.
pub(super) fn parse(text: &str) -> Option<Url<'_>> {
    if text.is_empty() || text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
        return None;
    }
    let (text, fragment) = text.split_once('#').unwrap_or((text, ""));
    let (scheme, rest) = scheme(text)?;
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, path) = match rest.strip_prefix("//") {
        Some(rest) => rest.find('/').map_or((rest, ""), |at| rest.split_at(at)),
        None => ("", rest),
    };
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    };
    let is_good = is_host(host) && is_escaped(path) && is_escaped(fragment);
    is_good.then_some(Url { scheme, user, host, query, fragment })
}

/// The scheme and what follows; a colon before any slash must end a scheme.
fn scheme(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || "+-.".contains(c)));
    match end {
        Some(0) if text.starts_with(':') => None,
        Some(at) if text[at..].starts_with(':') => {
            let starts = text.starts_with(|c: char| c.is_ascii_alphabetic());
            starts.then(|| (&text[..at], &text[at + 1..]))
        }
        _ => Some(("", text)),
    }
}

fn is_host(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']').map(|(_, port)| port),
        None => host.find(':').map_or(Some(""), |at| host.get(at..)),
    };
    let Some(port) = name else { return false };
    let digits = port.strip_prefix(':').unwrap_or(port);
    let is_port = digits.bytes().all(|byte| byte.is_ascii_digit());
    is_port
        && !host.contains([' ', '"', '<', '>', '\\', '^', '`', '{', '|', '}'])
        && is_escaped(host)
}

/// Whether each percent sign precedes two digits.
fn is_escaped(text: &str) -> bool {
    text.split('%').skip(1).all(|after| {
        let digits = after.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    })
}
