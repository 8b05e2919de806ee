//! The node's ruleset as a value: planned from endpoints, compared with what was last committed, and
//! evaluated in tests.
