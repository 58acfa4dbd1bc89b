"""Find what POSIX alone has, used without a fallback, and text in the machine's own encoding."""

from __future__ import annotations

import ast
from collections.abc import Iterator

MODULES = {
    *("crypt", "curses", "fcntl", "grp", "nis", "ossaudiodev", "posix", "pty", "pwd", "readline"),
    *("resource", "spwd", "syslog", "termios", "tty"),
}

NAMES = {
    "os": {
        *(
            "O_CLOEXEC",
            "O_DIRECTORY",
            "O_NOFOLLOW",
            "O_NONBLOCK",
            "O_SYNC",
            "chown",
            "chroot",
            "confstr",
        ),
        *(
            "fchmod",
            "fchown",
            "fork",
            "forkpty",
            "geteuid",
            "getegid",
            "getgid",
            "getgroups",
            "getloadavg",
        ),
        *(
            "getpgid",
            "getpgrp",
            "getsid",
            "getuid",
            "initgroups",
            "killpg",
            "lchown",
            "mkfifo",
            "mknod",
        ),
        *("nice", "openpty", "posix_fadvise", "posix_fallocate", "posix_spawn", "pread", "preadv"),
        *("pwrite", "pwritev", "sched_getaffinity", "sched_setaffinity", "sched_yield", "sendfile"),
        *(
            "setgid",
            "setpgid",
            "setsid",
            "setuid",
            "statvfs",
            "sync",
            "sysconf",
            "ttyname",
            "uname",
            "wait3",
        ),
        *("wait4", "waitid"),
    },
    "signal": {
        *(
            "SIGALRM",
            "SIGCHLD",
            "SIGCONT",
            "SIGHUP",
            "SIGKILL",
            "SIGPIPE",
            "SIGQUIT",
            "SIGSTOP",
            "SIGTSTP",
        ),
        *("SIGUSR1", "SIGUSR2", "SIGWINCH", "alarm", "pause", "pthread_kill", "pthread_sigmask"),
        *("setitimer", "siginterrupt", "sigpending", "sigwait"),
    },
    "socket": {"AF_UNIX", "SO_REUSEPORT", "fromfd", "recv_fds", "send_fds", "socketpair"},
    "mmap": {"MAP_PRIVATE", "MAP_SHARED", "MAP_ANONYMOUS", "MAP_POPULATE", "PROT_READ", "PROT_WRITE"},
}

METHODS = {
    "add_signal_handler",
    "hardlink_to",
    "lchmod",
    "madvise",
    "mkfifo",
    "symlink_to",
    "owner",
    "group",
}
"""Of any object: those of event loops, paths and memory maps."""

PLACES = ("/dev/", "/proc/", "/tmp", "/etc/", "/var/", "/usr/", "/home/")

TEXT_CALLS = {"read_text", "write_text"}

FALLBACKS = {"ImportError", "ModuleNotFoundError", "AttributeError", "OSError", "NotImplementedError"}
"""Errors that a `try` around the use has to expect."""


def faults(source: str) -> list[str]:
    """Return a line for each use without a fallback: its number and what it is."""
    return [f"{number}: {what}" for number, what in sorted(set(_walk(ast.parse(source), False)))]


def _walk(node: ast.AST, guarded: bool) -> Iterator[tuple[int, str]]:
    if isinstance(node, ast.Try):
        caught = {name for handler in node.handlers for name in _caught(handler)}
        for part in node.body:
            yield from _walk(part, guarded or bool(caught & FALLBACKS))
        for part in (*node.handlers, *node.orelse, *node.finalbody):
            yield from _walk(part, guarded)
        return
    if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node):
        node.body = node.body[1:]
    if isinstance(node, ast.If) and _asks_for_the_platform(node.test):
        guarded = True
    if not guarded:
        yield from ((node.lineno, what) for what in _posix_only(node))
    yield from ((node.lineno, what) for what in _own_encoding(node))
    for child in ast.iter_child_nodes(node):
        yield from _walk(child, guarded)


def _caught(handler: ast.ExceptHandler) -> set[str]:
    return {n.id for n in ast.walk(handler.type) if isinstance(n, ast.Name)} if handler.type else set()


def _asks_for_the_platform(test: ast.expr) -> bool:
    text = ast.unparse(test)
    return any(part in text for part in ("os.name", "sys.platform", "hasattr(", "WINDOWS"))


def _posix_only(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (f"import {n.name}" for n in node.names if n.name.partition(".")[0] in MODULES)
    elif isinstance(node, ast.ImportFrom) and node.module:
        if node.module.partition(".")[0] in MODULES:
            yield f"import {node.module}"
        held = NAMES.get(node.module, set())
        yield from (f"{node.module}.{n.name}" for n in node.names if n.name in held)
    elif isinstance(node, ast.Attribute):
        if isinstance(node.value, ast.Name) and node.attr in NAMES.get(node.value.id, set()):
            yield f"{node.value.id}.{node.attr}"
        elif node.attr in METHODS:
            yield f".{node.attr}"
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        if node.value.startswith(PLACES):
            yield f"the place {node.value}"
    elif isinstance(node, ast.Call) and _forks(node):
        yield "processes by fork"


def _forks(call: ast.Call) -> bool:
    named = any(isinstance(a, ast.Constant) and "fork" in str(a.value) for a in call.args)
    return named and ast.unparse(call.func).endswith(("get_context", "start_method"))


def _own_encoding(node: ast.AST) -> Iterator[str]:
    """Yield text files that are opened in the machine's encoding, which is not UTF-8 on Windows."""
    if not isinstance(node, ast.Call) or any(k.arg in ("encoding", None) for k in node.keywords):
        return
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name in TEXT_CALLS and isinstance(node.func, ast.Attribute) and len(node.args) < 2:
        yield f".{name} without encoding"
    mode = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    if name == "open" and any(set(m) <= set("rwxat+") for m in mode):
        yield "open without encoding"
