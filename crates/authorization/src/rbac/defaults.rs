//! Default roles.
