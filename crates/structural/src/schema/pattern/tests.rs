use super::Pattern;

/// What Go's package `regexp` answers.
#[test]
fn patterns_match_as_in_go() {
    for (pattern, matching, other) in [
        ("^x+$", &["x", "xx"][..], &["", "x\n", "ax"][..]),
        ("b", &["abc"], &["ac"]),
        (r"^\d$", &["5"], &["٥"]),
        (r"^\w$", &["a", "_"], &["é"]),
        (r"^\W$", &["é", "-"], &["a"]),
        (r"^[\W]$", &["é"], &["a"]),
        (r"^\s$", &[" ", "\t"], &["\u{a0}", "\u{b}"]),
        (r"^[^\s\d]$", &["a"], &["5", " "]),
        (r"\bfoo\b", &["a foo b", "éfoo"], &["afoo"]),
        (r"\Aa\z", &["a"], &["a\n"]),
        (r"^\Qa.b*\E+$", &["a.b*", "a.b**"], &["axb*"]),
        (r"^\Q(", &["("], &["a"]),
        ("^a{,2}$", &["a{,2}"], &["aa"]),
        ("^a{1,2}$", &["a", "aa"], &["aaa"]),
        ("^{$", &["{"], &[""]),
        ("^a{01}$", &["a{01}"], &["a"]),
        ("^[]a]+$", &["]a"], &["b"]),
        ("^[^]a]+$", &["b"], &["]"]),
        ("^[[a]+$", &["[a"], &["]"]),
        ("^[a&&b~~c]+$", &["a&b~c"], &["d"]),
        ("^[a-c-]+$", &["b-"], &["d"]),
        ("^[--/]+$", &["-./"], &["0"]),
        (r"^[\-\]\[]+$", &["-]["], &["a"]),
        (r"^\<\>$", &["<>"], &[""]),
        (r"^\101\x41\x{42}$", &["AAB"], &["A"]),
        (r"^\pL\p{Lu}\p{^Lu}\P{Lu}$", &["éÉ11"], &["1É11"]),
        ("^[[:alpha:][:^digit:]]$", &["a", "-"], &["5"]),
        ("(?i)^ab$", &["AB"], &["ac"]),
        ("^(?P<n>a)(?<m>b)(?:c)(?i:d)$", &["abcD"], &["abCd"]),
        ("^(|a)$", &["", "a"], &["b"]),
        ("^a/b-c,d e\"#$", &["a/b-c,d e\"#"], &["a"]),
        ("^é{2}$", &["éé"], &["é"]),
    ] {
        let compiled = Pattern::new(pattern);
        assert!(compiled.check().is_ok(), "{pattern}: {:?}", compiled.check());
        for text in matching {
            assert!(compiled.is_match(text), "{pattern} matches {text:?}");
        }
        for text in other {
            assert!(!compiled.is_match(text), "{pattern} does not match {text:?}");
        }
    }
}

/// The errors of Go's package `regexp`.
#[test]
fn what_is_no_pattern_is_refused_in_the_words_of_go() {
    for (pattern, error) in [
        ("a(b", "missing closing ): `a(b`"),
        ("a)b", "unexpected ): `a)b`"),
        ("*a", "missing argument to repetition operator: `*`"),
        ("a|{2}", "missing argument to repetition operator: `{2}`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("a{2}{3}", "invalid nested repetition operator: `{2}{3}`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("a{2,1}", "invalid repeat count: `{2,1}`"),
        ("x[a", "missing closing ]: `[a`"),
        ("[z-a]", "invalid character class range: `z-a`"),
        ("[[:foo:]]", "invalid character class range: `[:foo:]`"),
        (r"\Z", r"invalid escape sequence: `\Z`"),
        (r"\1", r"invalid escape sequence: `\1`"),
        (r"\u0041", r"invalid escape sequence: `\u`"),
        ("\\", "trailing backslash at end of expression: ``"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ("(?!a)", "invalid or unsupported Perl syntax: `(?!`"),
        ("(?x)a", "invalid or unsupported Perl syntax: `(?x`"),
        ("(?<=a)b", "invalid named capture: `(?<=a)b`"),
    ] {
        let found = Pattern::new(pattern).check();
        assert_eq!(found, Err(format!("error parsing regexp: {error}")), "{pattern}");
    }
}

#[test]
fn patterns_that_are_too_large_are_refused() {
    for pattern in ["((a{1000}){1000}){1000}", r"\p{L}{1000}", r"(\pL|\pN|\pS){999}"] {
        let error = Pattern::new(pattern).check().unwrap_err();
        assert!(error.contains("too large"), "{error}");
    }
    let nested = "(".repeat(10_000) + &")".repeat(10_000);
    assert!(Pattern::new(&nested).check().is_err());
    for pattern in
        ["^.{1,1000}$", r"^(\d{3}-){100}$", "^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\\.){1,10}$"]
    {
        assert!(Pattern::new(pattern).check().is_ok(), "{pattern}");
    }
}
