//! Words in the names and descriptions of operations.

/// The article between a verb and a kind. Source: `endpoints/installer.go`, `GetArticleForNoun`.
pub(super) fn article(noun: &str) -> &'static str {
    let is_plural = noun.ends_with('s') && !noun.ends_with("ss");
    match noun.chars().next() {
        _ if is_plural => " ",
        Some('a' | 'e' | 'i' | 'o' | 'u' | 'A' | 'E' | 'I' | 'O' | 'U') => " an ",
        _ => " a ",
    }
}

/// In camel case, without punctuation. Source: `endpoints/openapi`, `ToValidOperationID`.
pub(super) fn identifier(text: &str, mut capital: bool) -> String {
    let mut name = String::with_capacity(text.len());
    for (index, letter) in text.chars().enumerate() {
        if letter.is_alphabetic() || letter == '_' || index > 0 && letter.is_numeric() {
            name.push(if capital { letter.to_ascii_uppercase() } else { letter });
            capital = false;
        } else {
            capital = true;
        }
    }
    name
}
