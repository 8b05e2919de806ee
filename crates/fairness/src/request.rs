//! The attributes of a request.

/// The attributes of one request, borrowed: classifying copies nothing.
///
/// A *resource request* names a kind of object (`GET /api/v1/pods`); all others (`GET /healthz`,
/// and every request to a plain HTTP API) have a path only. For plain HTTP the verb is the method
/// in lower case, as in Kubernetes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Request<'r> {
    pub user: &'r str,
    pub groups: Groups<'r>,
    pub verb: &'r str,
    pub is_resource: bool,
    pub api_group: &'r str,
    pub resource: &'r str,
    pub subresource: &'r str,
    /// Empty for objects of the cluster, for lists across namespaces, and for other requests.
    pub namespace: &'r str,
    pub name: &'r str,
    pub path: &'r str,
    /// As sent, in upper case.
    pub method: &'r str,
    /// Those a configuration may look at, names in lower case.
    pub headers: &'r [(&'r str, &'r str)],
}

impl<'r> Request<'r> {
    /// The value of a header; empty where there is none.
    pub fn header(&self, name: &str) -> &'r str {
        self.headers.iter().find(|(n, _)| *n == name).map_or("", |(_, value)| value)
    }
}

/// The groups of a user, in either of the forms callers have them in.
#[derive(Clone, Copy, Debug)]
pub enum Groups<'r> {
    Borrowed(&'r [&'r str]),
    Owned(&'r [String]),
}

impl<'r> Groups<'r> {
    pub fn iter(self) -> impl Iterator<Item = &'r str> {
        let (borrowed, owned): (&[&str], &[String]) = match self {
            Groups::Borrowed(names) => (names, &[]),
            Groups::Owned(names) => (&[], names),
        };
        borrowed.iter().copied().chain(owned.iter().map(String::as_str))
    }

    pub fn contains(self, name: &str) -> bool {
        match self {
            Groups::Borrowed(names) => names.contains(&name),
            Groups::Owned(names) => names.iter().any(|n| n == name),
        }
    }
}

impl Default for Groups<'_> {
    fn default() -> Self {
        Groups::Borrowed(&[])
    }
}

impl<'r> From<&'r [&'r str]> for Groups<'r> {
    fn from(names: &'r [&'r str]) -> Self {
        Groups::Borrowed(names)
    }
}

impl<'r> From<&'r [String]> for Groups<'r> {
    fn from(names: &'r [String]) -> Self {
        Groups::Owned(names)
    }
}
