//! Bearer tokens from a file, in the format of Kubernetes' `--token-auth-file`.
//!
//! Each record is `token,user,uid` or `token,user,uid,"group1,group2"`. Only digests of the tokens
//! are kept, and a lookup compares with all of them in constant time.

use std::{fmt, fs, io, path::Path, sync::Arc};

use sha2::{Digest, Sha256};
use subtle::{ConditionallySelectable, ConstantTimeEq};
use thiserror::Error;

use super::User;

/// The known tokens.
#[derive(Clone, Default)]
pub(crate) struct Tokens {
    entries: Vec<([u8; 32], Arc<User>)>,
}

/// Why a token file can't be used. Never shows its content.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TokenFileError {
    #[error("can't be read: {0}")]
    Read(#[from] io::Error),
    #[error("line {line}: expected at least 3 columns (token, user, uid), found {columns}")]
    Columns { line: usize, columns: usize },
    #[error("line {line}: empty token")]
    EmptyToken { line: usize },
    #[error("line {line}: duplicate token")]
    Duplicate { line: usize },
    #[error("line {line}: unclosed quote")]
    Unclosed { line: usize },
    #[error("line {line}: quote inside a column; write the column as \"…\" and the quote twice")]
    StrayQuote { line: usize },
}

/// The token of an `Authorization` header, if it has one.
pub(super) fn bearer(header: &str) -> Option<&str> {
    let mut words = header.trim().splitn(3, ' ');
    let (scheme, token) = (words.next()?, words.next()?);
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

// === impl Tokens ===

impl Tokens {
    pub(crate) fn load(path: &Path) -> Result<Tokens, TokenFileError> {
        Tokens::read(&fs::read_to_string(path)?)
    }

    pub(crate) fn read(text: &str) -> Result<Tokens, TokenFileError> {
        let mut tokens = Tokens::default();
        for (line, columns) in records(text)? {
            let [token, name, uid, rest @ ..] = columns.as_slice() else {
                return Err(TokenFileError::Columns { line, columns: columns.len() });
            };
            if token.is_empty() {
                return Err(TokenFileError::EmptyToken { line });
            }
            if tokens.user(token).is_some() {
                return Err(TokenFileError::Duplicate { line });
            }
            let groups = rest.first().map(String::as_str).unwrap_or_default();
            let groups = groups.split(',').filter(|group| !group.is_empty()).map(str::to_owned);
            let user = User {
                name: name.clone(),
                uid: uid.clone(),
                groups: groups.collect(),
                ..User::default()
            };
            tokens.entries.push((digest(token), Arc::new(user.authenticated())));
        }
        Ok(tokens)
    }

    /// The user of a token. Takes as long for an invalid token as for a valid one.
    pub(crate) fn user(&self, token: &str) -> Option<Arc<User>> {
        let given = digest(token);
        let none = u64::MAX;
        let mut found = none;
        for (at, (known, _)) in (0_u64..).zip(&self.entries) {
            found.conditional_assign(&at, known.ct_eq(&given));
        }
        let (_, user) = self.entries.get(usize::try_from(found).ok()?)?;
        Some(Arc::clone(user))
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tokens({})", self.entries.len())
    }
}

fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

/// Records of comma-separated values (RFC 4180), each with the line it begins in. Empty lines are
/// skipped.
fn records(text: &str) -> Result<Vec<(usize, Vec<String>)>, TokenFileError> {
    let mut records = Vec::new();
    let mut rest = text;
    let mut line = 1;
    while !rest.is_empty() {
        let begin = line;
        let mut columns = Vec::new();
        loop {
            let (column, after) = match rest.strip_prefix('"') {
                Some(quoted) => quoted_column(quoted, begin)?,
                None => plain_column(rest, begin)?,
            };
            line += column.matches('\n').count();
            columns.push(column);
            match after.strip_prefix(',') {
                Some(next) => rest = next,
                None => {
                    rest = after.strip_prefix("\r\n").or(after.strip_prefix('\n')).unwrap_or(after);
                    break;
                }
            }
        }
        line += 1;
        if columns != [""] {
            records.push((begin, columns));
        }
    }
    Ok(records)
}

fn plain_column(rest: &str, line: usize) -> Result<(String, &str), TokenFileError> {
    let (column, after) = rest.split_at(rest.find([',', '\n']).unwrap_or(rest.len()));
    // A carriage return belongs to the line ending, or to the column if a comma follows.
    let column = match after.starts_with(',') {
        true => column,
        false => column.strip_suffix('\r').unwrap_or(column),
    };
    if column.contains('"') {
        return Err(TokenFileError::StrayQuote { line });
    }
    Ok((column.to_owned(), after))
}

/// The column whose opening quote has been read.
fn quoted_column(mut rest: &str, line: usize) -> Result<(String, &str), TokenFileError> {
    let mut column = String::new();
    loop {
        let (text, after) = rest.split_once('"').ok_or(TokenFileError::Unclosed { line })?;
        column.push_str(text);
        match after.strip_prefix('"') {
            Some(more) => {
                column.push('"');
                rest = more;
            }
            None => {
                let after = if after == "\r" { "" } else { after };
                let ends = after.is_empty() || after.starts_with([',', '\n']);
                let ends = ends || after.starts_with("\r\n");
                return ends.then_some((column, after)).ok_or(TokenFileError::StrayQuote { line });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn groups(tokens: &Tokens, token: &str) -> Vec<String> {
        tokens.user(token).unwrap().groups.clone()
    }

    #[test]
    fn a_file_gives_users_with_their_groups() {
        let text = "t1,alice,u1\r\n\nt2,bob,,\"devs,ops\"\n\"t\"\"3\",carol,u3,system:masters,more";
        let tokens = Tokens::read(text).unwrap();
        assert_eq!(groups(&tokens, "t1"), ["system:authenticated"]);
        assert_eq!(groups(&tokens, "t2"), ["devs", "ops", "system:authenticated"]);
        assert_eq!(groups(&tokens, "t\"3"), ["system:masters", "system:authenticated"]);
        assert_eq!(tokens.user("t1").unwrap().uid, "u1");
        for unknown in ["", "t", "t1 ", "t11", "alice", "devs"] {
            assert_eq!(tokens.user(unknown), None, "{unknown:?}");
        }
    }

    #[test]
    fn a_wrong_file_is_refused_without_showing_a_token() {
        let cases = [
            ("secret", "line 1: expected at least 3 columns (token, user, uid), found 1"),
            (
                "ok,a,b\nsecret,x\n",
                "line 2: expected at least 3 columns (token, user, uid), found 2",
            ),
            (",a,b\n", "line 1: empty token"),
            ("secret,a,1\n\nsecret,b,2\n", "line 3: duplicate token"),
            (
                "x,\"a\nb\",c\nsecret\n",
                "line 3: expected at least 3 columns (token, user, uid), found 1",
            ),
            ("secret,a,1,\"devs", "line 1: unclosed quote"),
            (
                "sec\"ret,a,1",
                "line 1: quote inside a column; write the column as \"…\" and the quote twice",
            ),
            (
                "\"secret\"x,a,1",
                "line 1: quote inside a column; write the column as \"…\" and the quote twice",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(Tokens::read(text).unwrap_err().to_string(), expected, "{text:?}");
        }
    }

    #[test]
    fn tokens_do_not_show_in_debug_output() {
        let tokens = Tokens::read("secret,alice,u1\n").unwrap();
        assert_eq!(format!("{tokens:?}"), "Tokens(1)");
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[a,\"\r\n ]{0,30}") {
            let _ = Tokens::read(&text);
        }

        #[test]
        fn what_is_quoted_is_read_back(columns in prop::collection::vec("[ -~\n]{1,8}", 3..6)) {
            let quoted: Vec<String> =
                columns.iter().map(|column| format!("\"{}\"", column.replace('"', "\"\""))).collect();
            let read = records(&quoted.join(",")).unwrap();
            prop_assert_eq!(read, vec![(1, columns)]);
        }
    }
}
