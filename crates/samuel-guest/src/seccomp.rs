//! System calls that no command in a container needs, and that have let others out: they fail from the start.
//!
//! Engines have a filter of their own, which leaves user namespaces to a command; this one is laid over it, and
//! is the same below every engine. It cannot be taken away again, and children have it, too.

use std::io;

/// Fails with the number of this error.
const FAIL: u32 = libc::SECCOMP_RET_ERRNO;
/// Of the `seccomp_data` that a filter sees: where the number of the call is, the architecture, and the lower half of
/// the first argument.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const FIRST: u32 = 16;
/// The architecture that the program was built for, as the kernel names it.
#[cfg(target_arch = "x86_64")]
const NATIVE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const NATIVE: u32 = 0xc000_00b7;
/// From here on, calls of x86-64 are those of another convention, which has the same by other numbers.
const OTHER_CONVENTION: u32 = 0x4000_0000;
/// `open_tree_attr`, which does what `open_tree` does and has no name in libc yet.
const OPEN_TREE_ATTR: libc::c_long = 467;
/// Calls that fail with `EPERM`.
const DENIED: [libc::c_long; 22] = [
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    OPEN_TREE_ATTR,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_setns,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_kexec_load,
];
/// Calls whose first argument must not ask for a user namespace.
const MAKES_NAMESPACES: [libc::c_long; 2] = [libc::SYS_unshare, libc::SYS_clone];
/// The families of sockets that there are: local ones, those of the loopback, and the kernel's answers about it.
const FAMILIES: [libc::c_int; 4] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// Denies this process and all that it starts what they do not need. There must be no other thread yet.
pub(crate) fn deny_escapes() -> io::Result<()> {
    rustix::thread::set_no_new_privs(true)?;
    let mut filter = filter();
    let program = libc::sock_fprog {
        len: u16::try_from(filter.len()).map_err(io::Error::other)?,
        filter: filter.as_mut_ptr(),
    };
    #[expect(unsafe_code, reason = "rustix has no filters of system calls")]
    // SAFETY: the program points to as many instructions as it says, which live until the call has returned; the
    // kernel copies them.
    let result = unsafe {
        libc::prctl(libc::PR_SET_SECCOMP, libc::c_ulong::from(libc::SECCOMP_MODE_FILTER), &raw const program)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Makes the instructions.
fn filter() -> Vec<libc::sock_filter> {
    let mut filter = vec![load(ARCHITECTURE), skip_if_equal(NATIVE, 1), fail(libc::EPERM), load(NUMBER)];
    if cfg!(target_arch = "x86_64") {
        filter.extend([skip_unless(libc::BPF_JGE, OTHER_CONVENTION, 1), fail(libc::ENOSYS)]);
    }
    // Its flags lie in memory, where a filter does not look; libraries make do with `clone`.
    filter.extend([skip_unless(libc::BPF_JEQ, number(libc::SYS_clone3), 1), fail(libc::ENOSYS)]);
    for call in DENIED {
        filter.extend([skip_unless(libc::BPF_JEQ, number(call), 1), fail(libc::EPERM)]);
    }
    let user_namespace = libc::CLONE_NEWUSER.cast_unsigned();
    for call in MAKES_NAMESPACES {
        filter.extend([
            skip_unless(libc::BPF_JEQ, number(call), 4),
            load(FIRST),
            skip_unless(libc::BPF_JSET, user_namespace, 1),
            fail(libc::EPERM),
            allow(),
        ]);
    }
    let [one, two, three, four] = FAMILIES.map(libc::c_int::cast_unsigned);
    filter.extend([
        skip_unless(libc::BPF_JEQ, number(libc::SYS_socket), 6),
        load(FIRST),
        skip_if_equal(one, 4),
        skip_if_equal(two, 3),
        skip_if_equal(three, 2),
        skip_if_equal(four, 1),
        fail(libc::EAFNOSUPPORT),
        allow(),
    ]);
    filter
}

fn number(call: libc::c_long) -> u32 {
    u32::try_from(call).unwrap_or(u32::MAX)
}

fn instruction(code: u32, k: u32, jt: u8, jf: u8) -> libc::sock_filter {
    libc::sock_filter { code: u16::try_from(code).unwrap_or(u16::MAX), jt, jf, k }
}

fn load(at: u32) -> libc::sock_filter {
    instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, at, 0, 0)
}

/// Skips so many instructions where what was loaded does not stand so to a value.
fn skip_unless(relation: u32, value: u32, count: u8) -> libc::sock_filter {
    instruction(libc::BPF_JMP | relation | libc::BPF_K, value, 0, count)
}

/// Skips so many where it is the same.
fn skip_if_equal(value: u32, count: u8) -> libc::sock_filter {
    instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, value, count, 0)
}

fn fail(error: libc::c_int) -> libc::sock_filter {
    instruction(libc::BPF_RET | libc::BPF_K, FAIL | error.cast_unsigned(), 0, 0)
}

fn allow() -> libc::sock_filter {
    instruction(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW, 0, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the instructions as the kernel does.
    fn verdict(architecture: u32, call: libc::c_long, first: u32) -> u32 {
        let filter = filter();
        let (mut at, mut loaded) = (0, 0);
        loop {
            let libc::sock_filter { code, jt, jf, k } = *filter.get(at).expect("it ends with an answer");
            let code = u32::from(code);
            let holds = match code & 0xf0 {
                libc::BPF_JEQ => loaded == k,
                libc::BPF_JGE => loaded >= k,
                libc::BPF_JSET => loaded & k != 0,
                _ => false,
            };
            match code & 0x07 {
                libc::BPF_LD => {
                    loaded = match k {
                        NUMBER => number(call),
                        ARCHITECTURE => architecture,
                        _ => first,
                    }
                }
                libc::BPF_JMP => at += usize::from(if holds { jt } else { jf }),
                _ => return k,
            }
            at += 1;
        }
    }

    #[test]
    fn what_leads_out_fails_and_all_else_is_allowed() {
        let fails = |error: libc::c_int| FAIL | error.cast_unsigned();
        let of = |call, first: libc::c_int| verdict(NATIVE, call, first.cast_unsigned());
        // `open_tree` is told by either number.
        for call in DENIED.into_iter().chain([libc::SYS_open_tree, 467]) {
            assert_eq!(of(call, 0), fails(libc::EPERM), "{call}");
        }
        assert_eq!(of(libc::SYS_unshare, libc::CLONE_NEWUSER | libc::CLONE_NEWNET), fails(libc::EPERM));
        assert_eq!(of(libc::SYS_clone, libc::CLONE_NEWUSER | libc::SIGCHLD), fails(libc::EPERM));
        assert_eq!(of(libc::SYS_clone3, 0), fails(libc::ENOSYS));
        for family in [libc::AF_PACKET, libc::AF_VSOCK, libc::AF_ALG, libc::AF_BLUETOOTH, -1] {
            assert_eq!(of(libc::SYS_socket, family), fails(libc::EAFNOSUPPORT), "{family}");
        }
        for (call, first) in [
            (libc::SYS_read, 0),
            (libc::SYS_clone, libc::SIGCHLD),
            (libc::SYS_unshare, libc::CLONE_FILES),
            (libc::SYS_socketpair, 1),
        ] {
            assert_eq!(of(call, first), libc::SECCOMP_RET_ALLOW, "{call}");
        }
        for family in FAMILIES {
            assert_eq!(of(libc::SYS_socket, family), libc::SECCOMP_RET_ALLOW, "{family}");
        }
        assert_eq!(verdict(0x4000_0003, libc::SYS_read, 0), fails(libc::EPERM), "calls of 32 bits");
    }
}
