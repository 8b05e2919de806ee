//! The known word that a misspelt one most likely means. O(known words · their length²): words that
//! are too long or too short to be meant are not compared.

/// The nearest of `known`, if it is near enough to be meant. Of equals the first in the alphabet.
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = given.chars().count();
    let enough = (length / 3).max(1);
    let given = given.to_lowercase();
    let may_be_meant = |word: &&str| word.chars().count().abs_diff(length) <= enough;
    let rate = |word: &'a str| (distance(&given, &word.to_lowercase()), word);
    let (far, word) = known.into_iter().filter(may_be_meant).map(rate).min()?;
    (far <= enough).then_some(word)
}

/// How many characters to insert, delete or replace, or to swap with their neighbour.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = replaced.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(before[j - 2] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_that_is_meant_is_found() {
        let known = ["PreferSameZone", "PreferSameNode", "PreferClose"];
        for (given, meant) in [
            ("PreferSameZones", Some("PreferSameZone")),
            ("prefersamenode", Some("PreferSameNode")),
            ("PreferClosest", Some("PreferClose")),
            ("Random", None),
            ("", None),
        ] {
            assert_eq!(nearest(given, known), meant, "{given:?}");
        }
        assert_eq!(nearest("wbe", ["web", "db"]), Some("web"));
    }

    /// Compared character by character, this would take minutes.
    #[test]
    fn a_very_long_word_is_not_compared_with_short_ones() {
        let known: Vec<String> = (0..10_000).map(|n| format!("service-of-the-shop-{n}")).collect();
        let given = "x".repeat(1_000_000);
        assert_eq!(nearest(&given, known.iter().map(String::as_str)), None);
    }
}
