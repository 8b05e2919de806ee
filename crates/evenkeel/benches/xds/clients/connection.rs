//! One client's connection, from its begin to the end of the process.

use std::io;

use tokio::{
    io::AsyncWriteExt as _,
    net::{TcpSocket, TcpStream},
};

use super::{
    Fleet,
    ads::{Ads, Seen},
    http2::{self, Frame, WINDOW},
};
use crate::mesh::CHANGED;

const PATH: &str =
    "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources";
const PREFIX: usize = 5;

/// What of a connection outlives a wait. Nothing that is read at once is kept.
#[derive(Default)]
struct Connection {
    /// A frame that is not complete.
    frame: Vec<u8>,
    /// A message that is not complete, with its prefix.
    message: Vec<u8>,
    /// Bytes for which the windows were not opened again.
    read: usize,
    ads: Ads,
    /// The last round in which the change came.
    round: u32,
}

/// Runs a client that accepts what it is sent.
pub(super) async fn run(fleet: &Fleet, name: &str) -> io::Result<()> {
    let mut stream = open(fleet, false).await?;
    let mut out = Vec::new();
    http2::begin(&mut out, "xds", PATH);
    let mut messages = Vec::new();
    Ads::begin(&mut messages, &format!("default.{name}"));
    http2::data(&mut out, &messages);
    stream.write_all(&out).await?;
    let mut connection = Connection::default();
    loop {
        stream.readable().await?;
        let (answers, seen) = match connection.read(&stream) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
            read => read?,
        };
        if !answers.is_empty() {
            stream.write_all(&answers).await?;
        }
        if seen.is_complete {
            fleet.on_ready();
        }
        let round = fleet.round.get();
        if seen.has_change && connection.round != round {
            connection.round = round;
            fleet.on_acked();
        }
    }
}

/// Runs a client that asks for everything and never reads.
pub(super) async fn stall(fleet: &Fleet, name: &str) -> io::Result<()> {
    let mut stream = open(fleet, true).await?;
    let mut out = Vec::new();
    http2::begin(&mut out, "xds", PATH);
    let mut messages = Vec::new();
    Ads::begin_all(&mut messages, &format!("default.{name}"), &[CHANGED.to_owned()]);
    http2::data(&mut out, &messages);
    stream.write_all(&out).await?;
    std::future::pending().await
}

async fn open(fleet: &Fleet, has_small_buffer: bool) -> io::Result<TcpStream> {
    let _place = fleet.opening.acquire().await.map_err(io::Error::other)?;
    let socket = TcpSocket::new_v4()?;
    if has_small_buffer {
        socket.set_recv_buffer_size(4096)?;
    }
    let stream = socket.connect(fleet.address).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

// === impl Connection ===

impl Connection {
    /// Reads what is there, once. Returns what is to be written.
    fn read(&mut self, stream: &TcpStream) -> io::Result<(Vec<u8>, Seen)> {
        // Clients share this place, because none keeps it over a wait.
        let mut buffer = [0; WINDOW];
        let n = stream.try_read(&mut buffer)?;
        if n == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut out = Vec::new();
        let seen = if self.frame.is_empty() {
            let (seen, done) = self.on_bytes(&buffer[..n], &mut out)?;
            self.frame.extend_from_slice(&buffer[done..n]);
            seen
        } else {
            let mut bytes = std::mem::take(&mut self.frame);
            bytes.extend_from_slice(&buffer[..n]);
            let (seen, done) = self.on_bytes(&bytes, &mut out)?;
            self.frame = bytes.split_off(done);
            seen
        };
        Ok((out, seen))
    }

    /// Takes the complete frames, and returns their length.
    fn on_bytes(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> io::Result<(Seen, usize)> {
        let (mut done, mut seen) = (0, Seen::default());
        while let Some((frame, len)) = http2::first(&bytes[done..]) {
            done += len;
            match frame {
                Frame::Data(data) => {
                    let of_frame = self.on_data(data, out)?;
                    seen.is_complete |= of_frame.is_complete;
                    seen.has_change |= of_frame.has_change;
                }
                Frame::Settings => http2::accept_settings(out),
                Frame::Ping(ping) => http2::answer_ping(out, ping),
                Frame::Ended => return Err(io::Error::other("the stream ended")),
                Frame::Other => {}
            }
        }
        Ok((seen, done))
    }

    fn on_data(&mut self, data: &[u8], out: &mut Vec<u8>) -> io::Result<Seen> {
        self.read += data.len();
        if self.read > WINDOW / 2 {
            http2::open_windows(out, std::mem::take(&mut self.read));
        }
        let mut message = std::mem::take(&mut self.message);
        message.extend_from_slice(data);
        let (mut done, mut seen) = (0, Seen::default());
        let mut answers = Vec::new();
        while let Some(len) = complete(&message[done..]) {
            let body = &message[done + PREFIX..done + len];
            let of_message = self.ads.on_response(body, &mut answers);
            let of_message = of_message.ok_or_else(|| io::Error::other("not a response"))?;
            seen.is_complete |= of_message.is_complete;
            seen.has_change |= of_message.has_change;
            done += len;
        }
        http2::data(out, &answers);
        self.message = message.split_off(done);
        Ok(seen)
    }
}

/// The length of the first message, if it is complete.
fn complete(bytes: &[u8]) -> Option<usize> {
    let [_, a, b, c, d, ..] = *bytes else { return None };
    let len = PREFIX + u32::from_be_bytes([a, b, c, d]) as usize;
    (bytes.len() >= len).then_some(len)
}
