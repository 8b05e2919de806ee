//! One file: its text, and what that says.

use std::{
    collections::BTreeMap,
    fs::{Metadata, OpenOptions},
    io::{self, Read as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
    sync::Arc,
};

use evenkeel_locality::{
    Compat, FieldError,
    resource::{Form, Key, Resource, Strings, parse},
};
use rustix::fs::OFlags;

use crate::source::{Problem, yaml};

/// Larger files are refused.
const LARGEST: u64 = 64 << 20;
/// Problems of a file that are shown.
const MOST_PROBLEMS: usize = 100;

/// Why a file has no text.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unread {
    #[error("not a file")]
    NotAFile,
    #[error("larger than {LARGEST} bytes")]
    TooLarge,
    #[error("not UTF-8 text")]
    NotText,
    #[error("cannot be read: {0}")]
    Failed(#[from] io::Error),
}

/// What the text of a file says.
pub(super) struct Read {
    pub(super) good: BTreeMap<Key, Arc<Resource>>,
    pub(super) problems: Vec<Problem>,
}

/// `metadata` is a moment old: what is at the path now may be another file.
pub(super) fn text(path: &Path, metadata: &Metadata) -> Result<String, Unread> {
    let check = |metadata: &Metadata| match (metadata.is_file(), metadata.len()) {
        (false, _) => Err(Unread::NotAFile),
        (true, len) if len > LARGEST => Err(Unread::TooLarge),
        (true, len) => Ok(len),
    };
    // Before it is opened, which means something to a device.
    check(metadata)?;
    // A pipe without a writer is not waited for.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let len = check(&file.metadata()?)?;
    let mut bytes = Vec::with_capacity(usize::try_from(len).unwrap_or_default());
    if file.take(LARGEST + 1).read_to_end(&mut bytes)? as u64 > LARGEST {
        return Err(Unread::TooLarge);
    }
    String::from_utf8(bytes).map_err(|_| Unread::NotText)
}

// === impl Unread ===

impl Unread {
    /// The same file may be readable at the next look.
    pub(super) fn is_of_the_moment(&self) -> bool {
        matches!(self, Unread::Failed(_))
    }
}

// === impl Read ===

impl Read {
    pub(super) fn of(
        text: &str,
        origin: &Arc<str>,
        last_good: &BTreeMap<Key, Arc<Resource>>,
        compat: Compat,
        strings: &mut Strings,
    ) -> Self {
        let (mut good, mut problems) = (BTreeMap::new(), Problems::of(origin));
        let documents = yaml::documents(text).unwrap_or_else(|message| {
            problems.add(None, None, None, message);
            Vec::new()
        });
        for (index, value) in documents.iter().enumerate().filter(|(_, value)| !value.is_null()) {
            let document = Some(index + 1);
            match parse(value, Form::File, compat) {
                Ok(resource) if good.contains_key(&resource.key) => {
                    let message = "is twice in this file; the first one counts".to_owned();
                    problems.add(document, Some(resource.key), None, message);
                }
                Ok(mut resource) => {
                    strings.share(&mut resource);
                    good.insert(resource.key.clone(), Arc::new(resource));
                }
                Err(errors) => errors.into_iter().for_each(|error| {
                    let FieldError { path, message } = error;
                    problems.add(document, None, Some(path), message);
                }),
            }
        }
        let mut problems = problems.into_vec();
        if !problems.is_empty() {
            // Which of the earlier ones the invalid documents were is not known: all that are missing stay.
            let missing = last_good.iter().filter(|(key, _)| !good.contains_key(*key));
            let missing: Vec<_> = missing.map(|(k, r)| (k.clone(), Arc::clone(r))).collect();
            let keeps = !missing.is_empty();
            good.extend(missing);
            problems.iter_mut().for_each(|problem| problem.last_good_in_force = keeps);
        }
        Self { good, problems }
    }
}

/// The first problems of a file, and how many there are: each document of a large file may have some.
struct Problems<'a> {
    origin: &'a Arc<str>,
    shown: Vec<Problem>,
    n: usize,
}

// === impl Problems ===

impl<'a> Problems<'a> {
    fn of(origin: &'a Arc<str>) -> Self {
        Self { origin, shown: Vec::new(), n: 0 }
    }

    fn add(
        &mut self,
        document: Option<usize>,
        resource: Option<Key>,
        field: Option<String>,
        message: String,
    ) {
        self.n += 1;
        if self.n <= MOST_PROBLEMS {
            let field = field.filter(|field| !field.is_empty());
            let origin = Arc::clone(self.origin);
            let last_good_in_force = false;
            self.shown.push(Problem {
                origin,
                document,
                resource,
                field,
                message,
                last_good_in_force,
            });
        }
    }

    fn into_vec(mut self) -> Vec<Problem> {
        let more = self.n.saturating_sub(MOST_PROBLEMS);
        if more > 0 {
            // It is below the bound again.
            self.n = 0;
            self.add(None, None, None, format!("{more} more problems are not shown"));
        }
        self.shown
    }
}
