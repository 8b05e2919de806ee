//! The text of an expression: its tokens, the bounds that hold before it is parsed, and the parse.
//!
//! The grammar is that of the `cel` crate, generated from cel-go's, so that syntax errors read the
//! same. Its parser recurses without a limit on chains such as `a.b.c` and `1+1+1`, and so does
//! everything that later walks the tree. Therefore the tokens are counted first: what passes is at
//! most [`MOST_NESTING`] brackets deep, and its tree at most a few times [`MOST_DEPTH`].

use std::{collections::HashMap, panic};

use kube_cel::cel::{
    IdedExpr, ParseErrors,
    common::ast::{EntryExpr, Expr},
    parser::Parser,
};

/// cel-go's limit on the size of an expression, in characters.
const MOST_CHARACTERS: usize = 100_000;
/// cel-go's limit on recursion. Operators and selections count here, so it is met later there.
const MOST_DEPTH: usize = 250;
/// Brackets within brackets: a level takes some 10 KB of stack in the parser.
const MOST_NESTING: usize = 48;
/// The errors of a text that are reported. cel-go reports 100 and recovers from 30.
const MOST_ERRORS: usize = 10;
/// The characters of a line that an error shows.
const MOST_SNIPPET: usize = 1024;

/// A parsed expression.
#[derive(Debug)]
pub(super) struct Source<'a> {
    text: &'a str,
    /// The tree.
    pub(super) tree: IdedExpr,
    /// Offsets in characters, by the id of the node.
    offsets: HashMap<u64, usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Name,
    Literal,
    Symbol,
}

#[derive(Clone, Copy, Debug)]
struct Token<'a> {
    kind: Kind,
    text: &'a str,
    /// In characters, from the start.
    offset: usize,
    /// In bytes.
    start: usize,
}

/// Parses an expression. The error is cel-go's list of issues.
pub(super) fn parse(text: &str) -> Result<Source<'_>, String> {
    let characters = text.chars().count();
    if characters > MOST_CHARACTERS {
        return Err(issue(
            text,
            None,
            &format!(
                "expression code point size exceeds limit: size: {characters}, limit {MOST_CHARACTERS}"
            ),
        ));
    }
    let tokens = tokens(text);
    if let Some(offset) = too_deep(&tokens) {
        let words = format!("expression recursion limit exceeded: {MOST_DEPTH}");
        return Err(issue(text, Some(offset), &words));
    }
    if let Some(token) = tokens.iter().find(|token| is_misread(token)) {
        let words =
            "literals of bytes that are raw or in triple quotes are not supported by this server";
        return Err(issue(text, Some(token.offset), words));
    }
    let tree = parse_tree(text, &tokens)?;
    let offsets = Offsets::of(&tokens, &tree);
    Ok(Source { text, tree, offsets })
}

/// Parses what the parser reads right.
///
/// It takes `!!a` for `!a`, and walks `a` twice for it, so that nested ones take exponential time:
/// pairs of them, and of signs, are left out before.
fn parse_tree(text: &str, tokens: &[Token<'_>]) -> Result<IdedExpr, String> {
    let mut written = text.as_bytes().to_vec();
    for token in pairs(tokens) {
        written[token.start] = b' ';
    }
    let written = String::from_utf8(written).map_err(|_| issue(text, None, "invalid UTF-8"))?;
    // The parser is not ours: what it does with the text of a client may not end the server.
    let parse = || Parser::new().enable_optional_syntax(true).parse(&written);
    match panic::catch_unwind(parse) {
        Ok(parsed) => parsed.map_err(|errors| syntax_errors(text, &errors)),
        Err(_) => Err(issue(text, None, "internal error in the parser")),
    }
}

/// The tokens of `!` and of the sign `-` that cancel each other out.
fn pairs<'t, 'a>(tokens: &'t [Token<'a>]) -> Vec<&'t Token<'a>> {
    let mut found = Vec::new();
    let mut open: Option<&Token<'_>> = None;
    let mut after_operand = false;
    for token in tokens {
        let is_unary = token.text == "!" || token.text == "-" && !after_operand;
        open = match open {
            Some(first) if is_unary && first.text == token.text => {
                found.extend([first, token]);
                None
            }
            _ => is_unary.then_some(token),
        };
        after_operand = match token.kind {
            Kind::Literal => true,
            Kind::Name => token.text != "in",
            Kind::Symbol => matches!(token.text, ")" | "]" | "}"),
        };
    }
    found
}

/// Whether it is a literal of bytes whose quotes the parser takes for a part of it.
fn is_misread(token: &Token<'_>) -> bool {
    let prefix = token.text.trim_start_matches(['b', 'B', 'r', 'R']);
    let length = token.text.len() - prefix.len();
    let is_bytes = token.kind == Kind::Literal && token.text[..length].contains(['b', 'B']);
    is_bytes
        && (length > 1
            || prefix.len() > 5 && (prefix.starts_with("'''") || prefix.starts_with("\"\"\"")))
}

impl Source<'_> {
    /// An issue at a node, as cel-go prints it.
    pub(super) fn issue(&self, node: &IdedExpr, words: &str) -> String {
        issue(self.text, self.offsets.get(&node.id).copied().or(Some(0)), words)
    }
}

/// `ERROR: <input>:1:5: words`, the line, and a mark below it.
fn issue(text: &str, offset: Option<usize>, words: &str) -> String {
    let Some(offset) = offset else { return format!("ERROR: <input>:-1:0: {words}") };
    let before: String = text.chars().take(offset).collect();
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|&c| c != '\n').count();
    located(text, line, column, words)
}

fn located(text: &str, line: usize, column: usize, words: &str) -> String {
    let mut issue = format!("ERROR: <input>:{line}:{}: {words}", column + 1);
    let snippet = text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
    if column < MOST_SNIPPET && snippet.chars().nth(MOST_SNIPPET).is_none() {
        issue.push_str("\n | ");
        issue.push_str(snippet);
        issue.push_str("\n | ");
        issue.push_str(&".".repeat(column));
        issue.push('^');
    }
    issue
}

fn syntax_errors(text: &str, errors: &ParseErrors) -> String {
    let position = |position: isize| usize::try_from(position).unwrap_or_default();
    let issues: Vec<String> = errors
        .errors
        .iter()
        .take(MOST_ERRORS)
        .map(|error| {
            let column = position(error.pos.1).saturating_sub(1);
            let words: String = error.msg.chars().take(MOST_SNIPPET).collect();
            located(text, position(error.pos.0), column, &words)
        })
        .collect();
    issues.join("\n")
}

/// The offset from which on the tree could be too deep.
///
/// The depth of an expression within brackets is at most the number of its binary operators plus
/// its longest chain of selections, indexes, calls and unary operators; `&&` and `||` are balanced
/// by the parser. Brackets add the depth around them.
fn too_deep(tokens: &[Token<'_>]) -> Option<usize> {
    #[derive(Clone, Copy, Default)]
    struct Level {
        operators: usize,
        chain: usize,
        longest: usize,
    }
    let mut levels = vec![Level::default()];
    let mut around = 0;
    for token in tokens {
        let level = levels.last_mut().expect("the outermost level is never removed");
        match token.text {
            _ if token.kind == Kind::Literal => {}
            "(" | "[" | "{" => {
                level.chain += 1;
                level.longest = level.longest.max(level.chain);
                around += level.operators + level.longest;
                levels.push(Level::default());
            }
            ")" | "]" | "}" => {
                levels.pop();
                match levels.last() {
                    Some(level) => around -= level.operators + level.longest,
                    None => levels.push(Level::default()),
                }
            }
            "." | "!" | "-" => {
                level.chain += 1;
                level.longest = level.longest.max(level.chain);
            }
            "," | "&&" | "||" => *level = Level::default(),
            "+" | "*" | "/" | "%" | "==" | "!=" | "<" | "<=" | ">" | ">=" | "in" | "?" | ":" => {
                level.operators += 1;
                level.chain = 0;
            }
            _ => {}
        }
        let level = levels.last().expect("the outermost level is never removed");
        if levels.len() > MOST_NESTING || around + level.operators + level.longest > MOST_DEPTH {
            return Some(token.offset);
        }
    }
    None
}

/// The tokens of a text. What is no token is skipped: the parser reports it.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let (mut rest, mut offset) = (text, 0);
    while let Some(first) = rest.chars().next() {
        let (kind, length) = token(rest, first);
        let (token, after) = rest.split_at(length);
        if let Some(kind) = kind {
            tokens.push(Token { kind, text: token, offset, start: text.len() - rest.len() });
        }
        offset += token.chars().count();
        rest = after;
    }
    tokens
}

/// The kind and length in bytes of the token at the start of a text that begins with `first`.
fn token(text: &str, first: char) -> (Option<Kind>, usize) {
    let bytes = text.as_bytes();
    let name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    match first {
        c if c.is_whitespace() => (None, c.len_utf8()),
        '/' if bytes.get(1) == Some(&b'/') => (None, text.find('\n').unwrap_or(text.len())),
        '"' | '\'' => (Some(Kind::Literal), quoted(text, 0)),
        '`' => (Some(Kind::Name), text[1..].find('`').map_or(text.len(), |end| end + 2)),
        '0'..='9' => {
            let number = |c: char| c.is_ascii_alphanumeric() || c == '.';
            (Some(Kind::Literal), text.find(|c| !number(c)).unwrap_or(text.len()))
        }
        c if name(c) => {
            let end = text.find(|c| !name(c)).unwrap_or(text.len());
            let prefix = matches!(&text[..end].to_ascii_lowercase()[..], "r" | "b" | "br" | "rb");
            match bytes.get(end) {
                Some(b'"' | b'\'') if prefix => (Some(Kind::Literal), quoted(text, end)),
                _ if matches!(&text[..end], "true" | "false" | "null") => {
                    (Some(Kind::Literal), end)
                }
                _ => (Some(Kind::Name), end),
            }
        }
        '&' | '|' | '=' | '!' | '<' | '>' => {
            let two =
                text.get(..2).filter(|two| matches!(*two, "&&" | "||" | "==" | "!=" | "<=" | ">="));
            (Some(Kind::Symbol), two.map_or(1, str::len))
        }
        c => (Some(Kind::Symbol), c.len_utf8()),
    }
}

/// The length of a string literal with a prefix of so many bytes; to the end if it is not closed.
fn quoted(text: &str, prefix: usize) -> usize {
    let raw = text[..prefix].contains(['r', 'R']);
    let body = &text[prefix..];
    let quote = &body[..1];
    let quote = if body.len() >= 3 && body.as_bytes()[..3].iter().all(|b| *b == quote.as_bytes()[0])
    {
        &body[..3]
    } else {
        quote
    };
    let mut at = quote.len();
    let bytes = body.as_bytes();
    while at < bytes.len() {
        if bytes[at..].starts_with(quote.as_bytes()) {
            return prefix + at + quote.len();
        }
        at += if bytes[at] == b'\\' && !raw { 2 } else { 1 };
    }
    text.len()
}

/// Finds the offsets of the nodes: their tokens come in the order of a walk of the tree, so each is
/// the next that fits. Tokens of macros have no node and are passed over.
struct Offsets<'t, 'a> {
    tokens: &'t [Token<'a>],
    next: usize,
    found: HashMap<u64, usize>,
}

impl Offsets<'_, '_> {
    fn of(tokens: &[Token<'_>], tree: &IdedExpr) -> HashMap<u64, usize> {
        let mut offsets = Offsets { tokens, next: 0, found: HashMap::new() };
        offsets.walk(tree);
        offsets.found
    }

    fn pass(&mut self, fits: impl Fn(&Token<'_>) -> bool) -> Option<usize> {
        let ahead = self.tokens[self.next..].iter().position(fits)?;
        let offset = self.tokens[self.next + ahead].offset;
        self.next += ahead + 1;
        Some(offset)
    }

    fn mark(&mut self, node: &IdedExpr, text: &str) {
        if let Some(offset) = self.pass(|token| token.text == text) {
            self.found.insert(node.id, offset);
        }
    }

    fn walk(&mut self, node: &IdedExpr) {
        match &node.expr {
            Expr::Literal(_) => {
                if let Some(offset) = self.pass(|token| token.kind == Kind::Literal) {
                    self.found.insert(node.id, offset);
                }
            }
            Expr::Ident(name) => self.mark(node, name),
            Expr::Select(select) => {
                self.walk(&select.operand);
                self.mark(node, ".");
            }
            Expr::Call(call) => {
                if let Some(target) = &call.target {
                    self.walk(target);
                    self.mark(node, "(");
                    call.args.iter().for_each(|arg| self.walk(arg));
                } else {
                    self.operator(node, &call.func_name, &call.args);
                }
            }
            Expr::List(list) => {
                self.mark(node, "[");
                list.elements.iter().for_each(|element| self.walk(element));
            }
            Expr::Map(map) => {
                self.mark(node, "{");
                for entry in &map.entries {
                    if let EntryExpr::MapEntry(entry) = &entry.expr {
                        self.walk(&entry.key);
                        self.walk(&entry.value);
                    }
                }
            }
            Expr::Comprehension(fold) => {
                self.walk(&fold.iter_range);
                self.mark(node, "(");
                self.pass(|token| token.text == ",");
                // The parts of the loop that the macro made match no tokens of their own kind
                // wrongly: they are walked only for the nodes that were written.
                for part in super::check::written_parts(fold) {
                    self.walk(part);
                }
            }
            Expr::Struct(_) | Expr::Unspecified => {}
        }
    }

    fn operator(&mut self, node: &IdedExpr, function: &str, args: &[IdedExpr]) {
        let symbol = function.trim_matches(|c| c == '_' || c == '@');
        match (symbol, args) {
            ("?_:", [condition, yes, no]) => {
                self.walk(condition);
                self.mark(node, "?");
                self.walk(yes);
                self.walk(no);
            }
            ("[_]" | "[?_]", [operand, index]) => {
                self.walk(operand);
                self.mark(node, "[");
                self.walk(index);
            }
            ("?.", [operand, _]) => {
                self.walk(operand);
                self.mark(node, ".");
            }
            (_, [left, right]) if function.starts_with(['_', '@']) => {
                self.walk(left);
                self.mark(node, symbol);
                self.walk(right);
            }
            _ if function == "!_" || function == "-_" => {
                self.mark(node, symbol);
                args.iter().for_each(|arg| self.walk(arg));
            }
            _ => {
                self.mark(node, "(");
                args.iter().for_each(|arg| self.walk(arg));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syntax_errors_read_as_cel_go_writes_them() {
        let expected = "ERROR: <input>:1:9: Syntax error: mismatched input '<EOF>' expecting \
            {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, \
            STRING, BYTES, IDENTIFIER}\n | self.x >\n | ........^";
        assert_eq!(parse("self.x >").unwrap_err(), expected);
    }

    #[test]
    fn deep_and_long_texts_are_refused_before_they_are_parsed() {
        let n = 15_000;
        for text in [
            format!("{}1{}", "(".repeat(n), ")".repeat(n)),
            format!("{}1{}", "f(".repeat(n), ")".repeat(n)),
            format!("self{}", ".a".repeat(n)),
            format!("self{}", ".f()".repeat(n)),
            format!("self{}", "[0]".repeat(n)),
            format!("1{}", "+1".repeat(n)),
            format!("1{}", " in 1".repeat(n)),
            format!("a{}", "?a:a".repeat(n)),
            format!("{}a", "!".repeat(n)),
            format!("{}a", "- ".repeat(n)),
            "(".repeat(n),
        ] {
            let error = parse(&text).map(|_| ()).unwrap_err();
            assert!(error.contains("recursion limit exceeded"), "{}", &text[..20]);
        }
        assert!(parse(&"a".repeat(200_000)).unwrap_err().contains("code point size"));
        assert!(parse(&"@#".repeat(n)).unwrap_err().len() < 1 << 20);
        assert!(parse(&format!("a{}", "&&a".repeat(n))).is_ok());
    }

    #[test]
    fn strings_and_comments_hide_their_brackets() {
        let brackets = "(".repeat(1000);
        for text in [
            format!("'{brackets}'"),
            format!("r\"{brackets}\""),
            format!("'''{brackets}'''"),
            format!("'\\'{brackets}'"),
            format!("1 // {brackets}"),
        ] {
            assert_eq!(parse(&text).map(|_| ()), Ok(()), "{}", &text[..20]);
        }
    }

    #[test]
    fn pairs_of_signs_are_left_out() {
        for (text, expected) in [
            ("!!a", "a"),
            ("!!!a", "!a"),
            ("! ! a", "a"),
            ("--a", "a"),
            ("1 --a", "1 - -a"),
            ("1 - - -a", "1 - a"),
            ("!(!!a)", "!(a)"),
            ("a != !b", "a != !b"),
            ("x in --a", "x in a"),
        ] {
            let tree = |text: &str| format!("{:?}", Unlocated(&parse(text).unwrap().tree));
            assert_eq!(tree(text), tree(expected), "{text}");
        }
        let nested = format!("{}a{}", "!!(".repeat(40), ")".repeat(40));
        assert!(parse(&nested).is_ok());
    }

    /// A tree without its ids.
    struct Unlocated<'t>(&'t IdedExpr);

    impl std::fmt::Debug for Unlocated<'_> {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            match &self.0.expr {
                Expr::Call(call) => {
                    write!(f, "{}", call.func_name)?;
                    f.debug_list().entries(call.args.iter().map(Unlocated)).finish()
                }
                other => write!(f, "{other:?}"),
            }
        }
    }

    #[test]
    fn literals_that_the_parser_misreads_are_refused() {
        for text in ["br'a'", "b'''a'''", "b\"\"\"a\"\"\"", "rb'a'"] {
            let error = parse(text).map(|_| ()).unwrap_err();
            assert!(error.contains("not supported") || error.contains("Syntax error"), "{error}");
        }
        assert!(parse("b'a' == b''").is_ok());
    }

    #[test]
    fn nodes_are_found_in_the_text() {
        let text = "self.a.all(x, x.b > 1) &&\n has(self.c) ? f(2) : [self.d][0]";
        let source = parse(text).unwrap();
        let mut columns: Vec<usize> = source.offsets.values().copied().collect();
        columns.sort_unstable();
        let found: String = columns.iter().filter_map(|at| text.chars().nth(*at)).collect();
        assert_eq!(found, "s.(x.>1&s.?(2[s.[0");
    }
}
