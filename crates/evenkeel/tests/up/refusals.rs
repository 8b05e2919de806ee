//! Where it can't start, and what it says then.

use std::{fs, net::TcpListener, path::Path};

use crate::process::{Up, evenkeel, folder, ran};

/// It ends with this code and says all of `parts`.
fn refused(args: &[&str], code: i32, parts: &[&str]) {
    let ran = ran(&mut evenkeel(&[&["up"], args].concat()));
    assert_eq!((ran.code, ran.out.as_str()), (code, ""), "{args:?}: {}", ran.err);
    for part in parts {
        assert!(ran.err.contains(part), "{args:?}: {part:?} is not in {:?}", ran.err);
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn an_address_in_use_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let parts = [address.as_str(), "--listen"];
    refused(&["--ephemeral", "--listen", &address], 1, &parts);
    let parts = [address.as_str(), "set another --controller-listen"];
    let flags = ["--ephemeral", "--listen", "127.0.0.1:0", "--controller-listen", &address];
    refused(&flags, 1, &parts);
}

#[test]
fn a_second_one_on_the_same_data_is_refused_and_the_first_goes_on() {
    let data = folder("taken");
    let first = Up::in_folder(&data, &["--sample", "none"]);
    let parts = ["another server"];
    refused(&["--listen", "127.0.0.1:0", "--data", text(&data)], 1, &parts);
    assert_eq!(first.kubectl(&["get", "--raw", "/readyz"]).out, "ok");
    assert_eq!(first.stop("-INT").0, Some(0));
}

#[test]
fn a_folder_that_cannot_be_used_is_named() {
    let file = folder("file");
    fs::write(&file, "").unwrap();
    for data in [text(&file), "/proc/nope"] {
        let parts = [data, "can't be used as data folder", "set --data to a writable folder"];
        refused(&["--listen", "127.0.0.1:0", "--data", data], 1, &parts);
    }
}

#[test]
fn wrong_settings_are_refused() {
    let cases: [(&[&str], &str); 5] = [
        (&["--data", "x", "--ephemeral"], "cannot be used with"),
        (&["--sample", "four-zones"], "three-zones"),
        (&["--feature-gates", "Nope=true"], "no feature gate \"Nope\""),
        (&["--sandbox-ready-after", "soon"], "soon"),
        (&["--log-level", "info", "-v"], "cannot be used with"),
    ];
    for (args, part) in cases {
        refused(args, 2, &[part]);
    }
}
