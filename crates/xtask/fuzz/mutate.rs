//! Inputs generated from the corpus: a few objects combined, then mutated.
//!
//! Mutations apply to bytes, to lines and to values. Bytes test the YAML parser; lines and values
//! keep most of the shape, and so reach the code behind it.

use std::ops::Range;

use crate::random::Random;

/// Values that are edge cases for numbers, times, quantities, addresses and YAML itself.
const VALUES: &[&str] = &[
    "",
    "~",
    "null",
    "true",
    "0",
    "-1",
    "65535",
    "65536",
    "2147483648",
    "9223372036854775808",
    "-9223372036854775809",
    "1e999",
    "-0.5",
    ".nan",
    "0x10",
    "999999999999999999999m",
    "1Ei",
    "1e-9",
    "3920",
    "''",
    "\"\\u0000\"",
    "\"\\ud800\"",
    "{}",
    "[]",
    "[[[[]]]]",
    "{a: {b: [~, {}]}}",
    "&a [*a]",
    "&a x",
    "*a",
    "<<: *a",
    "!!binary AA==",
    "!t x",
    "|",
    ">-",
    "%YAML 1.2",
    "---",
    "...",
    "# x",
    "? x",
    "::1",
    "::ffff:10.0.0.1",
    "256.1.1.1",
    "10.0.0.01",
    "None",
    "IPv6",
    "FQDN",
    "UDP",
    "Local",
    "Auto",
    "auto",
    "PreferSameNode",
    "EndpointSlice",
    "List",
    "v1",
    "2026-02-30T25:61:61Z",
    "Ünïcödé\u{202e}",
    "\u{feff}",
    "zone-a",
    "a in (b,,c),!d",
    "a notin (",
    "x=\\,y",
    "a/b/c=d",
    "%2F%zz%C3",
    "/../watch//",
    "&limit=-1&",
    "?watch=1",
    "[{\"op\":\"test\",\"path\":\"/metadata/~1~0/-\"}]",
    "[{\"op\":\"copy\",\"from\":\"\",\"path\":\"/data\"}]",
    "{\"$patch\":\"delete\"}",
    "{\"$patch\":\"replace\"}",
    "\"$retainKeys\":[\"a\"],",
    "\"$setElementOrder/ports\":[{\"port\":80}],",
    "\"$deleteFromPrimitiveList/finalizers\":[\"a\"],",
    "\"metadata\":null,",
];

const DAMAGES: &[fn(&mut Draft)] = &[
    Draft::flip_byte,
    Draft::cut_bytes,
    Draft::double_bytes,
    Draft::truncate,
    Draft::insert_value,
    Draft::replace_value,
    Draft::replace_value,
    Draft::replace_value,
    Draft::cut_lines,
    Draft::cut_lines,
    Draft::double_lines,
    Draft::swap_lines,
    Draft::indent_line,
    Draft::splice_lines,
    Draft::lengthen,
    Draft::lengthen,
    Draft::nest,
];

/// One input: up to six objects of the corpus as a `List`, with up to five mutations.
pub(crate) fn input(corpus: &[String], mut random: Random) -> String {
    let mut draft = Draft {
        text: b"apiVersion: v1\nitems:\n".to_vec(),
        other: random.pick(corpus).clone().into(),
        random,
    };
    for _ in 0..=draft.random.below(6) {
        let object = draft.random.pick(corpus);
        draft.text.extend_from_slice(object.as_bytes());
    }
    draft.text.extend_from_slice(b"kind: List\n");
    for _ in 0..draft.random.below(6) {
        let damage = draft.random.pick(DAMAGES);
        damage(&mut draft);
    }
    String::from_utf8_lossy(&draft.text).into_owned()
}

struct Draft {
    text: Vec<u8>,
    /// The object that lines are taken from.
    other: Vec<u8>,
    random: Random,
}

impl Draft {
    fn flip_byte(&mut self) {
        let at = self.random.below(self.text.len());
        if let Some(byte) = self.text.get_mut(at) {
            *byte ^= 1 << self.random.below(8);
        }
    }

    fn cut_bytes(&mut self) {
        self.text.drain(self.random.range(self.text.len()));
    }

    fn double_bytes(&mut self) {
        let range = self.random.range(self.text.len());
        let copy = self.text[range.clone()].repeat(1 + self.random.below(4));
        self.text.splice(range.start..range.start, copy);
    }

    fn truncate(&mut self) {
        self.text.truncate(self.random.below(self.text.len() + 1));
    }

    fn insert_value(&mut self) {
        let at = self.random.below(self.text.len());
        let value = self.random.pick(VALUES).bytes();
        self.text.splice(at..at, value);
    }

    /// Replaces the value of one line, keeping the key.
    fn replace_value(&mut self) {
        let lines = lines(&self.text);
        let Some(line) = lines.get(self.random.below(lines.len())) else {
            return;
        };
        let text = &self.text[line.clone()];
        let colon = text.windows(2).position(|pair| pair == b": ");
        let kept = colon.map_or(text.len() - text.trim_ascii_start().len(), |at| at + 2);
        let value = self.random.pick(VALUES).bytes().chain([b'\n']);
        self.text.splice(line.start + kept..line.end, value);
    }

    fn cut_lines(&mut self) {
        let range = self.line_range();
        self.text.drain(range);
    }

    fn double_lines(&mut self) {
        let range = self.line_range();
        let copy = self.text[range.clone()].to_vec();
        self.text.splice(range.start..range.start, copy);
    }

    fn swap_lines(&mut self) {
        let lines = lines(&self.text);
        let one = self.random.below(lines.len());
        let other = one + self.random.below(lines.len() - one.min(lines.len()));
        if one == other {
            return;
        }
        let (one, other) = (lines[one].clone(), lines[other].clone());
        let copy = self.text[one.clone()].to_vec();
        let moved: Vec<u8> = self.text.splice(other.clone(), copy).collect();
        self.text.splice(one, moved);
    }

    fn indent_line(&mut self) {
        let at = self.line_range().start;
        let indent = self.random.pick(&[" ", "  ", "- ", "\t"]).bytes();
        self.text.splice(at..at, indent);
    }

    /// Replaces some of our lines by lines of another object.
    fn splice_lines(&mut self) {
        let lines = lines(&self.other);
        let theirs = bytes(&lines, self.random.range(lines.len()));
        let ours = self.line_range();
        self.text.splice(ours, self.other[theirs].iter().copied());
    }

    /// Repeats an object in braces many times, as the elements of a list.
    fn lengthen(&mut self) {
        let Some(range) = self.braced() else { return };
        let mut copy = self.text[range.clone()].to_vec();
        copy.push(b',');
        let copies = 1 << self.random.below(10);
        self.text.splice(range.start..range.start, copy.repeat(copies));
    }

    /// Puts something deep where an object in braces is.
    fn nest(&mut self) {
        let Some(range) = self.braced() else { return };
        let depth = 1 << self.random.below(12);
        let (open, close) =
            *self.random.pick(&[("{\"a\":", "}"), ("[", "]"), ("{\"f:a\":[", "]}")]);
        let inside = std::str::from_utf8(&self.text[range.clone()]).unwrap_or("1").to_owned();
        let deep = format!("{}{inside}{}", open.repeat(depth), close.repeat(depth));
        self.text.splice(range, deep.into_bytes());
    }

    /// An object in braces, most of the time.
    fn braced(&mut self) -> Option<Range<usize>> {
        let from = self.random.below(self.text.len());
        let start = from + self.text.get(from..)?.iter().position(|byte| *byte == b'{')?;
        let mut depth = 0_usize;
        for (at, byte) in self.text.iter().enumerate().skip(start) {
            match byte {
                b'{' => depth += 1,
                b'}' if depth == 1 => return Some(start..at + 1),
                b'}' => depth -= 1,
                b'\n' => return None,
                _ => {}
            }
        }
        None
    }

    /// The bytes of some whole lines.
    fn line_range(&mut self) -> Range<usize> {
        let lines = lines(&self.text);
        bytes(&lines, self.random.range(lines.len()))
    }
}

/// The bytes of each line, its end included.
fn lines(text: &[u8]) -> Vec<Range<usize>> {
    let mut start = 0;
    let lines = text.split_inclusive(|&byte| byte == b'\n');
    let ranges = lines.map(|line| {
        let range = start..start + line.len();
        start = range.end;
        range
    });
    ranges.collect()
}

fn bytes(lines: &[Range<usize>], range: Range<usize>) -> Range<usize> {
    match lines[range.clone()] {
        [] => lines.get(range.start).map_or(0..0, |line| line.start..line.start),
        [ref first, .., ref last] => first.start..last.end,
        [ref only] => only.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corpus() -> Vec<String> {
        vec!["- kind: A\n  name: x\n".into(), "- kind: B\n".into()]
    }

    fn damaged(text: &str, damage: fn(&mut Draft), n: u64) -> String {
        let mut draft = Draft {
            text: text.into(),
            other: b"- kind: A\n  name: x\n".to_vec(),
            random: Random::new(1, n),
        };
        damage(&mut draft);
        String::from_utf8_lossy(&draft.text).into_owned()
    }

    #[test]
    fn the_same_seed_makes_the_same_input() {
        let make = |seed, n| input(&corpus(), Random::new(seed, n));
        assert_eq!(make(7, 3), make(7, 3));
        assert_ne!(make(7, 3), make(7, 4));
        assert_ne!(make(7, 3), make(8, 3));
    }

    #[test]
    fn every_damage_bears_any_text_and_does_something() {
        for &damage in DAMAGES {
            for text in ["", "\n", "x", "a: b\n", "a: b\n  c: d\nend", "a: [{}]\nb: c\n"] {
                let changed = (0..200).filter(|&n| damaged(text, damage, n) != text).count();
                assert!(changed > 0 || !text.contains('{'), "{text:?}");
            }
        }
    }

    #[test]
    fn a_value_is_replaced_behind_its_key() {
        for n in 0..100 {
            let text = damaged("port: 80\n", Draft::replace_value, n);
            assert!(text.starts_with("port: ") && text != "port: 80\n");
        }
    }

    #[test]
    fn swapped_lines_stay_whole() {
        let swapped = damaged("a\nbcd\n", Draft::swap_lines, 3);
        assert!(["a\nbcd\n", "bcd\na\n"].contains(&&*swapped));
    }
}
