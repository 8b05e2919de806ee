use std::fs;

use evenkeel_proxy::netlink::{
    Error, Socket,
    message::flags,
    socket::{Dump, Protocol},
};
use rustix::io::Errno;

use crate::namespace::{self, Namespace};

#[test]
fn what_exceeds_the_send_buffer_is_not_sent() {
    Namespace::new().enter(|| {
        let limit = fs::read_to_string("/proc/sys/net/core/wmem_max").unwrap();
        let limit: usize = limit.trim().parse().unwrap();
        let mut socket = Socket::open(Protocol::Netfilter, 0).unwrap();
        namespace::drop_net_admin();
        // The kernel doubles what it is asked for.
        let error = socket.send(&vec![0; 2 * limit + 1]).unwrap_err();
        assert!(matches!(error, Error::TooLarge { .. }), "{error}");
        assert!(error.to_string().contains("CAP_NET_ADMIN"), "{error}");
    });
}

#[test]
fn a_refusal_carries_error_and_sequence() {
    Namespace::new().enter(|| {
        let mut socket = Socket::open(Protocol::Route, 0).unwrap();
        let first = socket.sequences(3);
        // There is no message of this kind.
        let outcome = socket.request(
            |writer, sequence| {
                let message = writer.begin(9_999, flags::REQUEST | flags::ACK, sequence);
                writer.end(message);
            },
            |_| Ok(()),
        );
        let sequence = first + 3;
        assert_eq!(outcome, Err(Error::Refused { sequence, errno: Errno::OPNOTSUPP }));
    });
}

/// A dump whose reader fails is read to its end, so that the next one can start.
#[test]
fn a_socket_goes_on_after_a_reader_failed() {
    let namespace = Namespace::new();
    let commands: String =
        (0..1_000).map(|n| format!("addr add 10.0.{}.{}/32 dev lo\n", n / 250, n % 250)).collect();
    namespace.exec_with_input("ip -batch -", &commands);
    namespace.enter(|| {
        let mut socket = Socket::open(Protocol::Route, 0).unwrap();
        for fails in [true, false] {
            let mut seen = 0;
            let outcome = socket.dump(
                |writer, sequence| {
                    let message = writer.begin(22, flags::REQUEST | flags::DUMP, sequence);
                    writer.raw(&[0; 8]);
                    writer.end(message);
                },
                |_| {
                    seen += 1;
                    if fails { Err(Error::Malformed("test")) } else { Ok(()) }
                },
            );
            if fails {
                assert_eq!((outcome, seen), (Err(Error::Malformed("test")), 1));
            } else {
                assert_eq!(outcome, Ok(Dump::Consistent));
                assert!(seen > 1_000);
            }
        }
    });
}
