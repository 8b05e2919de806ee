//! The rules as data. `ARCHITECTURE.md` says why they are what they are.

/// Synchronous, no I/O, no clock, no task.
pub(crate) const CORE: &[&str] = &[
    "model",
    "topology",
    "locality",
    "fairness",
    "nft",
    "xds",
    "store",
    "authorization",
    "structural",
];

/// Shell crates that every shell crate may use.
pub(crate) const ADAPTERS: &[&str] = &["k8s", "admin"];

/// Everything that owns sockets, clocks and tasks.
pub(crate) const SHELL: &[&str] =
    &["controller", "proxy", "xds-server", "tower-fairness", "gate", "apiserver", "dashboard"];

/// Crates that may know all others.
pub(crate) const EDGE: &[&str] = &["evenkeel", "conformance", "xtask", "testkit"];

/// Crates that may use these of ours and no others.
pub(crate) const ONLY: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("fairness", &[]),
    ("authorization", &["model"]),
    ("structural", &[]),
    ("tower-fairness", &["fairness"]),
];

/// Crates that may use these of ours beyond what their layer may.
pub(crate) const ALSO: &[(&str, &[&str])] =
    &[("gate", &["tower-fairness"]), ("apiserver", &["tower-fairness"])];

/// May be a dev-dependency only.
pub(crate) const DEV_ONLY: &[&str] = &["testkit"];

/// Crates a core crate may not depend on, with all whose names go on with a `-` from there.
pub(crate) const NOT_IN_CORE: &[&str] = &[
    "tokio",
    "kube",
    "hyper",
    "tonic",
    "axum",
    "k8s-openapi",
    "reqwest",
    "diesel",
    "duckdb",
    "fjall",
    "heed",
    "libsql",
    "lmdb",
    "redb",
    "redis",
    "rocksdb",
    "rusqlite",
    "sea-orm",
    "sled",
    "sqlite",
    "sqlx",
];

/// Crates that a core crate may depend on in spite of their names: functions on values.
pub(crate) const PURE: &[&str] = &["kube-cel"];

/// Paths the code of a core crate may not name, with all that is in them.
pub(crate) const PATHS_NOT_IN_CORE: &[(&str, &str)] = &[
    ("std::fs", "let a shell crate read and pass the text in"),
    ("std::net", "use core::net for addresses; sockets belong in a shell crate"),
    ("std::thread", "let the shell crate decide who runs what"),
    ("std::time::Instant", "take `now` as an argument"),
    ("std::time::SystemTime", "take `now` as an argument"),
];

/// Macros the code of a core crate may not use.
pub(crate) const MACROS_NOT_IN_CORE: &[&str] = &["print!", "println!", "eprint!", "eprintln!"];

/// Text that no source may contain. Split, so that this file doesn't.
pub(crate) const NOWHERE: &[(&str, &str)] = &[
    (concat!("#[", "ignore"), "let `cargo xtask test` install what the test needs, or delete it"),
    (concat!("``", "`ignore"), "make the example compile, or mark it `no_run` or `text`"),
    (concat!("todo", "!("), "write it, or return an error that says so"),
    (concat!("unimplemented", "!("), "write it, or return an error that says so"),
];

/// The longest a source may be.
pub(crate) const MOST_LINES: usize = 800;

/// Turns of phrase that users must not meet, in lower case, with what to write instead.
pub(crate) const BANNED_TURNS: &[(&str, &str)] = &[
    ("ought to", "match the desired state"),
    ("goes on where", "resumes"),
    ("writes from now on", "became leader"),
    ("so often in a row", "times in a row"),
    ("to look at;", "warnings"),
    ("empty moment", "without interruption"),
    ("other than it seems", "settings that don't do what they appear to"),
    ("nothing to say", "no findings"),
    ("no sound ", "missing or invalid"),
    ("can't be understood", "ignoring invalid object"),
    ("first lists are complete", "caches synced"),
    ("from which weight", "minimum log level"),
    ("part of cpu", "CPU share"),
    ("no near traffic", "no topology preference set"),
    ("may do all that", "has the permissions"),
];
