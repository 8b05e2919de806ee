//! A unified diff of two texts, as `diff -u` prints it.
//!
//! Source: E. Myers, "An O(ND) Difference Algorithm and Its Variations" (1986). O((n + m) · d) for
//! n and m lines that differ in d of them, which here are a handful.

use std::fmt::Write;

/// Unchanged lines around each change.
const CONTEXT: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edit {
    Keep,
    Delete,
    Insert,
}

/// The hunks that turn `old` into `new`; empty if they are equal.
pub(super) fn hunks(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let edits = edits(&old, &new);
    let changed: Vec<usize> =
        (0..edits.len()).filter(|&index| edits[index] != Edit::Keep).collect();
    let mut text = String::new();
    let is_one_hunk = |a: &usize, b: &usize| b - a <= 2 * CONTEXT + 1;
    for group in changed.chunk_by(is_one_hunk) {
        let first = group[0].saturating_sub(CONTEXT);
        let last = (group[group.len() - 1] + CONTEXT).min(edits.len() - 1);
        hunk(&edits, first, last, &old, &new, &mut text);
    }
    text
}

fn hunk(edits: &[Edit], first: usize, last: usize, old: &[&str], new: &[&str], text: &mut String) {
    let lines_of = |edits: &[Edit], other: Edit| edits.iter().filter(|&&e| e != other).count();
    let (mut a, mut b) =
        (lines_of(&edits[..first], Edit::Insert), lines_of(&edits[..first], Edit::Delete));
    let part = &edits[first..=last];
    let range = |start: usize, count: usize| match count {
        0 => format!("{start},0"),
        1 => format!("{}", start + 1),
        _ => format!("{},{count}", start + 1),
    };
    let (from, to) =
        (range(a, lines_of(part, Edit::Insert)), range(b, lines_of(part, Edit::Delete)));
    let _ = writeln!(text, "@@ -{from} +{to} @@");
    for edit in part {
        let (sign, line) = match edit {
            Edit::Keep => (' ', old[a]),
            Edit::Delete => ('-', old[a]),
            Edit::Insert => ('+', new[b]),
        };
        a += usize::from(*edit != Edit::Insert);
        b += usize::from(*edit != Edit::Delete);
        let _ = writeln!(text, "{sign}{line}");
    }
}

/// The shortest edit script. `furthest[k + max]` is how far in `old` a path on diagonal k
/// (position in `old` less position in `new`) got; one copy is kept for each number of edits.
fn edits(old: &[&str], new: &[&str]) -> Vec<Edit> {
    let max = old.len() + new.len();
    let mut furthest = vec![0usize; 2 * max + 2];
    let mut trace = Vec::new();
    for d in 0..=max {
        trace.push(furthest[max - d.min(max)..=(max + d).min(2 * max + 1)].to_vec());
        for k in (0..=2 * d).step_by(2).map(|step| max + step - d) {
            let down = k == max - d || (k != max + d && furthest[k - 1] < furthest[k + 1]);
            let mut x = if down { furthest[k + 1] } else { furthest[k - 1] + 1 };
            while x < old.len() && x + max - k < new.len() && old[x] == new[x + max - k] {
                x += 1;
            }
            furthest[k] = x;
            if x >= old.len() && x + max - k >= new.len() {
                return walk_back(&trace, old.len(), new.len());
            }
        }
    }
    Vec::new()
}

/// From the end of both texts back to their start.
fn walk_back(trace: &[Vec<usize>], mut x: usize, mut y: usize) -> Vec<Edit> {
    let mut edits = Vec::new();
    for (d, furthest) in trace.iter().enumerate().skip(1).rev() {
        // The copy for d edits holds diagonals -d to d, of which the paths with d - 1 edits filled
        // the inner ones.
        let at = |k: isize| furthest[(k + d.cast_signed()).cast_unsigned()];
        let k = x.cast_signed() - y.cast_signed();
        let signed = d.cast_signed();
        let down = k == -signed || (k != signed && at(k - 1) < at(k + 1));
        let from = if down { k + 1 } else { k - 1 };
        let start = at(from);
        let start_y = (start.cast_signed() - from).cast_unsigned();
        let (mid_x, mid_y) = if down { (start, start_y + 1) } else { (start + 1, start_y) };
        edits.extend(std::iter::repeat_n(Edit::Keep, x - mid_x));
        debug_assert_eq!(x - mid_x, y - mid_y, "a path follows its diagonal");
        edits.push(if down { Edit::Insert } else { Edit::Delete });
        (x, y) = (start, start_y);
    }
    edits.extend(std::iter::repeat_n(Edit::Keep, x));
    edits.reverse();
    edits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_shown_with_three_lines_around() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let new = "1\n2\n3\n4\n5 a\n6\n7\n8\n9\n";
        assert_eq!(hunks(old, new), "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+5 a\n 6\n 7\n 8\n");
        assert_eq!(hunks(old, old), "");
    }

    #[test]
    fn changes_far_apart_are_hunks_of_their_own() {
        let old: String = (1..=20).map(|n| format!("{n}\n")).collect();
        let new = old.replacen("2\n", "", 1).replace("19\n", "19\nx\n");
        assert_eq!(
            hunks(&old, &new),
            "@@ -1,5 +1,4 @@\n 1\n-2\n 3\n 4\n 5\n@@ -17,4 +16,5 @@\n 17\n 18\n 19\n+x\n 20\n"
        );
    }

    #[test]
    fn empty_texts_are_compared() {
        assert_eq!(hunks("", ""), "");
        assert_eq!(hunks("", "a\n"), "@@ -0,0 +1 @@\n+a\n");
        assert_eq!(hunks("a\nb\n", ""), "@@ -1,2 +0,0 @@\n-a\n-b\n");
    }

    /// Every pair of texts of up to five lines of two kinds: the edits lead from one to the other,
    /// and no script is shorter than twice the lines that are not in common.
    #[test]
    fn edits_are_right_and_few() {
        let texts: Vec<Vec<&str>> = (0..63u32)
            .map(|code| {
                let length = (code + 1).ilog2();
                (0..length).map(|bit| if (code + 1) >> bit & 1 == 1 { "a" } else { "b" }).collect()
            })
            .collect();
        for (old, new) in texts.iter().flat_map(|old| texts.iter().map(move |new| (old, new))) {
            let edits = edits(old, new);
            let kept = edits.iter().filter(|&&edit| edit == Edit::Keep).count();
            assert_eq!(kept, common(old, new), "{old:?} {new:?}");
            let (mut a, mut built) = (0, Vec::new());
            for edit in edits {
                match edit {
                    Edit::Keep => built.push(old[a]),
                    Edit::Insert => built.push(new[built.len()]),
                    Edit::Delete => {}
                }
                a += usize::from(edit != Edit::Insert);
            }
            assert_eq!((&built, a), (new, old.len()), "{old:?}");
        }
    }

    /// The longest common subsequence, the slow way.
    fn common(a: &[&str], b: &[&str]) -> usize {
        let (Some((x, a_rest)), Some((y, b_rest))) = (a.split_first(), b.split_first()) else {
            return 0;
        };
        if x == y { 1 + common(a_rest, b_rest) } else { common(a_rest, b).max(common(a, b_rest)) }
    }
}
