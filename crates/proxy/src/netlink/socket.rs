//! A netlink socket that is kept open, and the three ways to talk over it: a request with an
//! acknowledgement, a dump, and events.

use core::time::Duration;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use rustix::{
    io::Errno,
    net::{
        AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, getsockname,
        netlink::{self, SocketAddrNetlink},
        recv, recvfrom, sendto, socket_with,
        sockopt::{
            Timeout, set_socket_recv_buffer_size, set_socket_recv_buffer_size_force,
            set_socket_send_buffer_size, set_socket_send_buffer_size_force, set_socket_timeout,
            socket_send_buffer_size,
        },
    },
};

use super::{
    Error, Result,
    attribute::{Message, Messages},
    message::{Writer, flags},
};

const ERROR: u16 = 2;
const DONE: u16 = 3;

/// The kernel answers within the call; this only bounds what should not happen.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Room for refusals of a large batch (each repeats the refused message) and for bursts of events.
const RECEIVE_BUFFER: usize = 8 << 20;
/// What the kernel keeps of the send buffer for itself (`netlink_sendmsg`).
const SEND_RESERVE: usize = 32;
/// A buffer of this size lets the kernel fill dumps in chunks of 32 KB, the largest it makes.
const BUFFER: usize = 1 << 16;
const DUMP_ATTEMPTS: u32 = 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    Netfilter,
    Route,
}

#[derive(Debug)]
pub struct Socket {
    fd: OwnedFd,
    port: u32,
    sequence: u32,
    buffer: Vec<u8>,
    send_limit: usize,
}

/// Whether a dump shows one state of its objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dump {
    Consistent,
    /// The objects changed meanwhile: some may be missing, some be seen twice.
    Interrupted,
}

/// An answer to a batch: the error number for the message with this sequence number, or none for an
/// acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reply {
    pub sequence: u32,
    pub errno: Option<Errno>,
}

// === impl Socket ===

impl Socket {
    /// Opens a socket in the calling thread's network namespace, where it stays. `groups` is the mask
    /// of the multicast groups to receive events of.
    pub fn open(protocol: Protocol, groups: u32) -> Result<Self> {
        let number = match protocol {
            Protocol::Netfilter => Some(netlink::NETFILTER),
            // NETLINK_ROUTE is 0, the default.
            Protocol::Route => None,
        };
        let fd = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, number)
            .map_err(call("socket"))?;
        bind(&fd, &SocketAddrNetlink::new(0, groups)).map_err(call("bind"))?;
        set_socket_timeout(&fd, Timeout::Recv, Some(TIMEOUT)).map_err(call("SO_RCVTIMEO"))?;
        if set_socket_recv_buffer_size_force(&fd, RECEIVE_BUFFER).is_err() {
            set_socket_recv_buffer_size(&fd, RECEIVE_BUFFER).map_err(call("SO_RCVBUF"))?;
        }
        let address = getsockname(&fd).and_then(SocketAddrNetlink::try_from);
        let port = address.map_err(call("getsockname"))?.pid();
        let send_limit = send_limit(&fd)?;
        Ok(Self { fd, port, sequence: 0, buffer: vec![0; BUFFER], send_limit })
    }

    /// The kernel's name for this socket, which it reports as the owner of a table.
    pub fn port(&self) -> u32 {
        self.port
    }

    /// Takes `count` sequence numbers and returns the first.
    pub fn sequences(&mut self, count: u32) -> u32 {
        let first = self.sequence.wrapping_add(1);
        self.sequence = self.sequence.wrapping_add(count);
        first
    }

    /// Sends messages in one call, raising the send buffer as needed.
    pub fn send(&mut self, bytes: &[u8]) -> Result<()> {
        if bytes.len() > self.send_limit {
            self.raise_send_limit(bytes.len())?;
        }
        let kernel = SocketAddrNetlink::new(0, 0);
        let sent = retry(|| sendto(&self.fd, bytes, SendFlags::empty(), &kernel));
        match sent {
            Ok(length) if length == bytes.len() => Ok(()),
            Ok(_) | Err(Errno::MSGSIZE) => {
                Err(Error::TooLarge { length: bytes.len(), limit: self.send_limit })
            }
            Err(errno) => Err(Error::Call { call: "sendmsg", errno }),
        }
    }

    /// Sends one message, which must ask for an acknowledgement, and hands every answer before it to
    /// `each`.
    pub fn request(
        &mut self,
        write: impl FnOnce(&mut Writer, u32),
        each: impl FnMut(Message<'_>) -> Result<()>,
    ) -> Result<()> {
        let sequence = self.send_one(write)?;
        self.answers(sequence, each).map(drop)
    }

    /// Sends one dump request and hands every object to `each`, as they arrive.
    pub fn dump(
        &mut self,
        write: impl FnOnce(&mut Writer, u32),
        each: impl FnMut(Message<'_>) -> Result<()>,
    ) -> Result<Dump> {
        let sequence = self.send_one(write)?;
        self.answers(sequence, each)
    }

    /// Dumps one consistent state: starts again if the objects change meanwhile.
    pub fn collect<T>(
        &mut self,
        write: impl Fn(&mut Writer, u32),
        mut each: impl FnMut(Message<'_>, &mut Vec<T>) -> Result<()>,
    ) -> Result<Vec<T>> {
        let mut collected = Vec::new();
        for _ in 0..DUMP_ATTEMPTS {
            collected.clear();
            match self.dump(&write, |message| each(message, &mut collected)) {
                Ok(Dump::Consistent) => return Ok(collected),
                Ok(Dump::Interrupted) | Err(Error::Refused { errno: Errno::INTR, .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Err(Error::Interrupted { attempts: DUMP_ATTEMPTS })
    }

    /// Sends a netfilter batch and returns all its answers. The kernel has queued them when the call
    /// to send returns, so nothing is waited for. Messages that are neither refusal nor
    /// acknowledgement go to `each`. Answers that found no room are missing, without an error.
    pub fn batch(
        &mut self,
        bytes: &[u8],
        mut each: impl FnMut(Message<'_>) -> Result<()>,
    ) -> Result<Vec<Reply>> {
        while self.discard_one()? {}
        self.send(bytes)?;
        let mut replies = Vec::new();
        loop {
            match self.receive(RecvFlags::DONTWAIT) {
                Ok(Some(datagram)) => {
                    for message in Messages::new(datagram) {
                        match message? {
                            message if message.kind == ERROR => replies.push(reply(&message)?),
                            message => each(message)?,
                        }
                    }
                }
                Ok(None) => return Ok(replies),
                Err(Error::Overrun) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Drops all events that wait; says whether there was one. A lost event counts as one.
    pub fn discard_events(&mut self) -> Result<bool> {
        let mut any = false;
        while self.discard_one()? {
            any = true;
        }
        Ok(any)
    }

    fn discard_one(&mut self) -> Result<bool> {
        match self.receive(RecvFlags::DONTWAIT) {
            Ok(datagram) => Ok(datagram.is_some()),
            Err(Error::Overrun) => Ok(true),
            Err(error) => Err(error),
        }
    }

    fn send_one(&mut self, write: impl FnOnce(&mut Writer, u32)) -> Result<u32> {
        let sequence = self.sequences(1);
        let mut writer = Writer::default();
        write(&mut writer, sequence);
        let bytes = writer.finish()?;
        self.send(&bytes)?;
        Ok(sequence)
    }

    /// Reads up to the end of a dump or the acknowledgement. After an error of `each` the rest is
    /// read too, for a socket with an unfinished dump can't start another.
    fn answers(
        &mut self,
        sequence: u32,
        mut each: impl FnMut(Message<'_>) -> Result<()>,
    ) -> Result<Dump> {
        let mut dump = Dump::Consistent;
        let mut outcome = Ok(());
        loop {
            let datagram = match self.receive(RecvFlags::empty()) {
                Ok(datagram) => datagram.ok_or(Error::NoAnswer)?,
                Err(Error::Overrun) => {
                    outcome = outcome.and(Err(Error::Overrun));
                    continue;
                }
                Err(error) => return Err(error),
            };
            for message in Messages::new(datagram) {
                let message = message?;
                // Answers to an earlier request that failed half-way.
                if message.sequence != sequence {
                    continue;
                }
                if message.flags & flags::DUMP_INTR != 0 {
                    dump = Dump::Interrupted;
                }
                match message.kind {
                    ERROR => return outcome.and_then(|()| acknowledged(&message)).map(|()| dump),
                    DONE => return outcome.and_then(|()| done(&message)).map(|()| dump),
                    _ if outcome.is_ok() => outcome = each(message),
                    _ => {}
                }
            }
        }
    }

    /// One datagram of the kernel, whole; none if there is none within the timeout, or now.
    fn receive(&mut self, wait: RecvFlags) -> Result<Option<&[u8]>> {
        loop {
            let peek = wait | RecvFlags::PEEK | RecvFlags::TRUNC;
            let length = match retry(|| recv(&self.fd, &mut [0; 0], peek)) {
                Ok((_, length)) => length,
                Err(Errno::AGAIN) => return Ok(None),
                Err(Errno::NOBUFS) => return Err(Error::Overrun),
                Err(errno) => return Err(Error::Call { call: "recvmsg", errno }),
            };
            if length > self.buffer.len() {
                self.buffer.resize(length.next_multiple_of(BUFFER), 0);
            }
            let received = retry(|| recvfrom(&self.fd, &mut self.buffer[..], wait));
            let (length, _, sender) = match received {
                Ok(received) => received,
                Err(Errno::AGAIN) => return Ok(None),
                Err(Errno::NOBUFS) => return Err(Error::Overrun),
                Err(errno) => return Err(Error::Call { call: "recvmsg", errno }),
            };
            let from_kernel = sender
                .and_then(|sender| SocketAddrNetlink::try_from(sender).ok())
                .is_some_and(|sender| sender.pid() == 0);
            if from_kernel {
                return Ok(Some(&self.buffer[..length]));
            }
        }
    }

    fn raise_send_limit(&mut self, length: usize) -> Result<()> {
        let wanted = length + SEND_RESERVE;
        // The kernel doubles the value, and refuses it if that does not fit its signed integer.
        if set_socket_send_buffer_size_force(&self.fd, wanted).is_err() {
            set_socket_send_buffer_size(&self.fd, wanted).map_err(call("SO_SNDBUF"))?;
        }
        self.send_limit = send_limit(&self.fd)?;
        if length > self.send_limit {
            return Err(Error::TooLarge { length, limit: self.send_limit });
        }
        Ok(())
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

// `AsyncFd` asks for the number.
impl AsRawFd for Socket {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

// === impl Reply ===

impl Reply {
    pub fn outcome(&self) -> Result<()> {
        let Self { sequence, errno } = *self;
        errno.map_or(Ok(()), |errno| Err(Error::Refused { sequence, errno }))
    }
}

fn send_limit(fd: &OwnedFd) -> Result<usize> {
    let size = socket_send_buffer_size(fd).map_err(call("SO_SNDBUF"))?;
    Ok(size.saturating_sub(SEND_RESERVE))
}

fn call(call: &'static str) -> impl Fn(Errno) -> Error {
    move |errno| Error::Call { call, errno }
}

fn retry<T>(mut attempt: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match attempt() {
            Err(Errno::INTR) => {}
            outcome => return outcome,
        }
    }
}

fn acknowledged(message: &Message<'_>) -> Result<()> {
    reply(message)?.outcome()
}

fn done(message: &Message<'_>) -> Result<()> {
    // Older kernels end some dumps without a status.
    if message.payload.len() < 4 { Ok(()) } else { acknowledged(message) }
}

fn reply(message: &Message<'_>) -> Result<Reply> {
    let (status, _) =
        message.payload.split_first_chunk().ok_or(Error::Malformed("error message"))?;
    let errno = match i32::from_ne_bytes(*status) {
        0.. => None,
        status => Some(Errno::from_raw_os_error(status.saturating_neg())),
    };
    Ok(Reply { sequence: message.sequence, errno })
}
