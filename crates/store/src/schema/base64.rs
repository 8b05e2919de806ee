//! Base64 as Go's `base64.StdEncoding` reads it: line breaks are ignored, padding is required, and
//! leftover bits at the end are not checked.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The text in canonical encoding, or the position of the first invalid byte.
pub(super) fn canonical(text: &str) -> Result<String, usize> {
    let mut out = String::with_capacity(text.len());
    let input = text.as_bytes();
    let mut group = [0_u8; 4];
    let (mut filled, mut at) = (0, 0);
    while let Some(&byte) = input.get(at) {
        match byte {
            b'\n' | b'\r' => at += 1,
            b'=' => {
                let end = padding(input, at, filled)?;
                return if end < input.len() { Err(end) } else { Ok(finished(out, group, filled)) };
            }
            byte => {
                group[filled] = digit(byte).ok_or(at)?;
                filled += 1;
                at += 1;
                if filled == 4 {
                    out.extend(group.map(letter));
                    filled = 0;
                }
            }
        }
    }
    if filled == 0 { Ok(out) } else { Err(input.len() - filled) }
}

/// The position after the padding at `at`, ignoring line breaks.
fn padding(input: &[u8], at: usize, filled: usize) -> Result<usize, usize> {
    let past_breaks = |from: usize| {
        let breaks = input[from..].iter().take_while(|byte| matches!(byte, b'\n' | b'\r'));
        from + breaks.count()
    };
    match filled {
        0 | 1 => Err(at),
        2 => {
            let second = past_breaks(at + 1);
            match input.get(second) {
                None => Err(input.len()),
                Some(b'=') => Ok(past_breaks(second + 1)),
                Some(_) => Err(second - 1),
            }
        }
        _ => Ok(past_breaks(at + 1)),
    }
}

/// Appends the last, padded group.
fn finished(mut out: String, group: [u8; 4], filled: usize) -> String {
    let kept = match filled {
        2 => [Some(group[0]), Some(group[1] & 0x30), None, None],
        _ => [Some(group[0]), Some(group[1]), Some(group[2] & 0x3c), None],
    };
    out.extend(kept.map(|digit| digit.map_or('=', letter)));
    out
}

fn letter(digit: u8) -> char {
    char::from(ALPHABET[usize::from(digit & 63)])
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_decoded_like_go() {
        for (text, expected) in [
            ("", Ok("")),
            ("aGk=", Ok("aGk=")),
            ("aGl=", Ok("aGk=")),
            ("aG\nk=\n", Ok("aGk=")),
            ("aA==", Ok("aA==")),
            ("aP==", Ok("aA==")),
            ("***", Err(0)),
            ("a", Err(0)),
            ("aGk", Err(0)),
            ("aGkh=", Err(4)),
            ("aA=", Err(3)),
            ("aA=b", Err(2)),
            ("aGk=x", Err(4)),
            ("aGkhaG?", Err(6)),
        ] {
            assert_eq!(canonical(text), expected.map(str::to_owned), "{text:?}");
        }
    }
}
