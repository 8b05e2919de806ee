//! The network namespace whose kernel tables a proxy programs.
//!
//! A socket belongs to the namespace in which it was created, whichever thread uses it later. So it
//! is enough to create sockets on a thread that is inside; the rest of the process, and its
//! connection to the API server, stays outside.

use std::{
    fs::File,
    io,
    os::fd::AsFd as _,
    panic::resume_unwind,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// Where `ip netns` keeps names.
const NAMED: &str = "/run/netns";

/// A network namespace, which exists as long as this does.
#[derive(Clone, Debug)]
pub struct NetworkNamespace {
    file: Arc<File>,
    path: PathBuf,
}

impl NetworkNamespace {
    /// The namespace of this thread.
    pub fn current() -> io::Result<Self> {
        Self::at("/proc/thread-self/ns/net")
    }

    /// A namespace that `ip netns list` shows.
    pub fn named(name: &str) -> io::Result<Self> {
        if name.is_empty() || name.starts_with('.') || name.contains('/') {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a name of a namespace"));
        }
        Self::at(Path::new(NAMED).join(name))
    }

    /// The namespace behind a file such as `/proc/PID/ns/net`.
    pub fn at(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        Ok(NetworkNamespace { file: Arc::new(File::open(&path)?), path })
    }

    /// The file it was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Runs `act` on a new thread inside the namespace. Sockets created there stay there.
    ///
    /// Fails without the privilege to enter it. Panics if `act` does. Blocks until it is done.
    pub fn run<R: Send>(&self, act: impl FnOnce() -> R + Send) -> io::Result<R> {
        let inside = || -> io::Result<R> {
            // The thread ends here, so it need not come back.
            move_into_link_name_space(self.file.as_fd(), Some(LinkNameSpaceType::Network))?;
            Ok(act())
        };
        thread::scope(|scope| {
            let thread = thread::Builder::new().name("in-namespace".into());
            thread.spawn_scoped(scope, inside)?.join().unwrap_or_else(|panic| resume_unwind(panic))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        net::{TcpListener, TcpStream},
        process::Command,
    };

    use super::*;

    /// A namespace of its own, removed at the end.
    struct Named(String);

    impl Named {
        fn new(purpose: &str) -> Named {
            let named = Named(format!("ek-namespace-{}-{purpose}", std::process::id()));
            named.ip(&["netns", "add", &named.0]);
            named.ip(&["-n", &named.0, "link", "set", "lo", "up"]);
            named
        }

        fn ip(&self, args: &[&str]) {
            assert!(Command::new("ip").args(args).status().unwrap().success(), "{args:?}");
        }
    }

    impl Drop for Named {
        fn drop(&mut self) {
            let _ = Command::new("ip").args(["netns", "del", &self.0]).status();
        }
    }

    #[test]
    fn a_socket_created_inside_stays_inside() {
        let named = Named::new("sockets");
        let namespace = NetworkNamespace::named(&named.0).unwrap();
        let bind = || TcpListener::bind("127.0.0.1:0");
        let listener = namespace.run(bind).unwrap().unwrap();
        let address = listener.local_addr().unwrap();
        assert!(TcpStream::connect(address).is_err(), "nobody listens out here");
        namespace.run(|| TcpStream::connect(address)).unwrap().unwrap();
    }

    #[test]
    fn the_caller_stays_where_it_is() {
        let named = Named::new("caller");
        let link = || fs::read_link("/proc/thread-self/ns/net").unwrap();
        let before = link();
        let inside = NetworkNamespace::named(&named.0).unwrap().run(link).unwrap();
        assert_ne!(inside, before);
        assert_eq!(link(), before);
        assert_eq!(NetworkNamespace::current().unwrap().run(link).unwrap(), before);
    }

    #[test]
    fn what_is_no_namespace_is_refused() {
        for name in ["", "../x", ".", "ek-no-such-namespace"] {
            assert!(NetworkNamespace::named(name).is_err(), "{name:?}");
        }
        assert!(NetworkNamespace::at("/dev/null").unwrap().run(|| ()).is_err());
    }
}
