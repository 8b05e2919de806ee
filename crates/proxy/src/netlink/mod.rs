//! Netlink: the sockets to the kernel and their messages.
