//! The known name that a misspelt one most likely means.

/// The nearest of `known`, if it is near enough to be meant. Of equals the first by name. A name
/// without namespace means the Service of that name in any.
pub(crate) fn nearest<'a>(given: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let enough = (given.chars().count() / 3).max(1);
    let rate = |name: &'a str| {
        let bare = name.split_once('/').filter(|_| !given.contains('/')).map_or(name, |(_, n)| n);
        (distance(given, bare), name)
    };
    let (far, name) = known.map(rate).min()?;
    (far <= enough).then_some(name)
}

/// How many characters to insert, delete, replace or swap with their neighbour.
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
    fn the_name_that_is_meant_is_found() {
        let known = ["shop/payments", "shop/search", "shop/web", "infra/web"];
        let cases = [
            ("shop/paymets", Some("shop/payments")),
            ("shop/serach", Some("shop/search")),
            ("payments", Some("shop/payments")),
            ("wbe", Some("infra/web")),
            ("shop/orders-database", None),
            ("", None),
        ];
        for (given, wanted) in cases {
            assert_eq!(nearest(given, known.into_iter()), wanted, "{given:?}");
        }
    }

    #[test]
    fn distances_count_single_edits() {
        for (a, b, wanted) in
            [("", "", 0), ("a", "", 1), ("zone-a", "zone-b", 1), ("ab", "ba", 1), ("abc", "cba", 2)]
        {
            assert_eq!(distance(a, b), wanted, "{a:?} {b:?}");
            assert_eq!(distance(b, a), wanted, "{b:?} {a:?}");
        }
    }
}
