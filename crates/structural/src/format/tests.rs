use super::Format;

/// Samples of kube-openapi's `strfmt` tests, and others whose answers follow from Go's parsers.
#[test]
fn formats_accept_what_kubernetes_accepts() {
    for (format, accepted, refused) in [
        (
            "date-time",
            &[
                "2014-12-15T19:30:20.000Z",
                "2014-12-15t19:30:20z",
                "2012-02-29T00:00:00+01:00",
                "2012-01-01T00:00:00,5Z",
            ][..],
            &[
                "nope",
                "2014-12-15",
                "2014-12-15 08:00:00Z",
                "2014-13-15T08:00:00Z",
                "2014-12-15T24:00:00Z",
                "2014-12-15T08:60:00Z",
                "2014-12-15T08:00:00",
                "2014-12-15T08:00:00.Z",
                "é014-12-15T08:00:00Z",
                "2014-12-15T08:00:0éZ",
            ][..],
        ),
        ("datetime", &["2014-12-15T19:30:20Z"], &[""]),
        (
            "date",
            &["2014-12-15", "2012-02-29", "0000-01-01"],
            &[
                "2013-02-29",
                "2014-12-32",
                "2014-00-01",
                "14-12-15",
                "2014-12-15x",
                "+014-12-15",
                "éé14-12-1",
            ],
        ),
        (
            "duration",
            &["1h", "1.5h", "-2m3s", "0", "2 weeks", "12 d", "3 Hours", "1.s", "in 4min"],
            &["", "x", "1", "1 lightyear", "99999999999999999999 s", "+", "h"],
        ),
        (
            "uuid",
            &["a8098c1a-f86e-11da-bd1a-00112444be1e", "A8098C1AF86E11DABD1A00112444BE1E"],
            &[
                "a8098c1a-f86e-11da-bd1a-00112444be1",
                "not-a-uuid",
                "-8098c1a-f86e-11da-bd1a-00112444be1e",
                "a8098c1a--f86e-11da-bd1a-00112444be1e",
            ],
        ),
        (
            "uuid3",
            &["bcd02e22-68f0-3046-a512-327cca9def8f"],
            &["bcd02e22-68f0-4046-a512-327cca9def8f"],
        ),
        (
            "uuid4",
            &["025b0d74-00a2-4048-bf57-227c5111bb34"],
            &["025b0d74-00a2-4048-0f57-227c5111bb34", "025b0d74-00a2-3048-bf57-227c5111bb34"],
        ),
        (
            "uuid5",
            &["886313e1-3b8a-5372-9b90-0c9aee199e5d"],
            &["886313e1-3b8a-4372-9b90-0c9aee199e5d"],
        ),
        (
            "ipv4",
            &["192.168.254.1", "010.0.0.1", "::ffff:1.2.3.4"],
            &["192.168.254.2.2", "256.1.1.1", "::1", "1.2.3", "", "1.2.3.-4"],
        ),
        ("ipv6", &["::1", "fe80::1", "::ffff:1.2.3.4"], &["127.0.0.1", "fe80::1%eth0", "1::2::3"]),
        (
            "cidr",
            &["192.168.254.1/24", "192.168.254.1/032", "::1/128"],
            &["192.168.254.1", "192.168.254.1/33", "::1/129", "x/1", "1.2.3.4/"],
        ),
        (
            "mac",
            &["01:02:03:04:05:06", "01-23-45-67-89-ab-cd-ef", "0123.4567.89ab"],
            &["01:02:03:04:05", "01:02:03-04:05:06", "0123.4567", "01:02:03:04:05:0g"],
        ),
        (
            "hostname",
            &["somewhere.com", "Example.COM", "a", "a.b.com", "☺.com", "1.aa"],
            &["", "com.", "-a.com", "a_b.com", "a..com", "9.9"],
        ),
        (
            "email",
            &["somebody@somewhere.com", "Name <a@b.c>", "\"a b\"@x", "a@[127.0.0.1]", "<a@b>"],
            &["a", "@b", "a@", "a b@c", "a@b@c", ".a@b", "a@b.", "Name a@b.c>", "\"a@b"],
        ),
        (
            "uri",
            &[
                "http://somewhere.com",
                "/path?x=%zz",
                "mailto:x",
                "*",
                "http://[::1]:80/a",
                "urn:a:b",
                "http://u:p@h/%41",
            ],
            &[
                "",
                "somewhere.com",
                ":a",
                "http://a b/",
                "http://h:x/",
                "http://[::1",
                "/%zz",
                "1http://x",
                "http://h%41/",
                "\n",
            ],
        ),
        ("byte", &["YWJj", "YQ==", "YWI="], &["", "YWJ", "YWJj\n", "=YWJ", "a===", "YW_j"]),
        (
            "bsonobjectid",
            &["507f1f77bcf86cd799439011"],
            &["507f1f77bcf86cd79943901", "x07f1f77bcf86cd799439011"],
        ),
        ("isbn", &["0321751043", "978-0321751041"], &["836217463"]),
        ("isbn10", &["0321751043", "0-8044-2957-X"], &["0321751044", "978-0321751041"]),
        ("isbn13", &["978 3401013190"], &["978-0321751040", ""]),
        (
            "creditcard",
            &["4111-1111-1111-1111"],
            &["9999-9999-9999-999", "4111-1111-1111-1112", ""],
        ),
        ("ssn", &["111-11-1111", "111 11 1111"], &["111111111", "999 99 999"]),
        ("hexcolor", &["#FFFFFF", "fff"], &["#fffffffz", "#ffff", "##fff"]),
        (
            "rgbcolor",
            &["rgb(255,255,255)", "rgb( 0 , 10,199 )"],
            &["rgb(300,0,0)", "rgb(1,2)", "rgb(01,2,3)"],
        ),
        ("password", &["", "anything"], &[]),
        ("k8s-short-name", &["a", "abc-1"], &["", "-a", "a-", "A", "a.b"]),
        ("k8s-long-name", &["a.b", "a-1.b"], &["a..b", ".a", "a.B"]),
    ] {
        let check = Format::of(format).unwrap();
        for text in accepted {
            assert!(check.accepts(text), "{format} accepts {text:?}");
        }
        for text in refused {
            assert!(!check.accepts(text), "{format} refuses {text:?}");
        }
    }
}

#[test]
fn other_formats_are_not_checked() {
    for name in ["", "int32", "binary", "date-times", "quantity"] {
        assert!(Format::of(name).is_none(), "{name}");
    }
}
