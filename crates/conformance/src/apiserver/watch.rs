//! Watch streams: one JSON object per line, for as long as the server keeps the response open.

use std::{
    io,
    time::{Duration, Instant},
};

use serde_json::Value;

use super::http::Answer;

pub(super) struct Watch {
    answer: Answer,
    /// Received bytes that are not yet a whole event.
    rest: Vec<u8>,
    ended: bool,
}

/// The events of a watch until the count, the end or the timeout was reached.
#[derive(Debug, PartialEq)]
pub(super) struct Collected {
    pub(super) events: Vec<Value>,
    /// The server ended the stream before the count was reached.
    pub(super) closed: bool,
}

impl Watch {
    pub(super) fn new(answer: Answer) -> Watch {
        Watch { answer, rest: Vec::new(), ended: false }
    }

    pub(super) fn collect(&mut self, count: usize, timeout: Duration) -> io::Result<Collected> {
        let deadline = Instant::now() + timeout;
        let mut events = Vec::new();
        while events.len() < count {
            if let Some(event) = self.event()? {
                events.push(event);
                continue;
            }
            if self.ended {
                return Ok(Collected { events, closed: true });
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            match self.answer.read_within(left, &mut self.rest) {
                Ok(more) => self.ended = !more,
                Err(e) if is_timeout(&e) => break,
                Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => self.ended = true,
                Err(e) => return Err(e),
            }
        }
        Ok(Collected { events, closed: false })
    }

    /// The next complete event.
    fn event(&mut self) -> io::Result<Option<Value>> {
        let Some(end) = self.rest.iter().position(|b| *b == b'\n') else { return Ok(None) };
        let line: Vec<u8> = self.rest.drain(..=end).collect();
        if line.iter().all(u8::is_ascii_whitespace) {
            return self.event();
        }
        Ok(Some(serde_json::from_slice(&line)?))
    }
}

/// The error of a socket timeout differs between systems.
fn is_timeout(e: &io::Error) -> bool {
    matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}
