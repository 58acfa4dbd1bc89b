"""By which name a request addresses this machine, and from which page it comes."""

from __future__ import annotations

from collections.abc import Iterable

Headers = Iterable[tuple[bytes, bytes]]

LOOPBACK_NAMES = frozenset({"127.0.0.1", "localhost", "::1"})
"""The names by which a browser of this machine reaches it."""


def only_header(headers: Headers, name: bytes) -> bytes | None:
    """Return a header that came exactly once, or None.

    Two of a kind are no header: a proxy may have looked at one of them, and we at the other.

    >>> only_header([(b"host", b"localhost")], b"host")
    b'localhost'
    >>> only_header([(b"host", b"localhost"), (b"host", b"evil.example")], b"host") is None
    True
    """
    values = [value for key, value in headers if key.lower() == name]
    return values[0] if len(values) == 1 else None


def host_name(headers: Headers) -> str:
    """Return the name in the Host header without its port; "" if there is none, or more than one.

    >>> [host_name([(b"host", host)]) for host in (b"localhost:8000", b"[::1]:8000", b"127.0.0.1")]
    ['localhost', '::1', '127.0.0.1']
    """
    return name_of_host(only_header(headers, b"host") or b"")


def name_of_host(host: bytes) -> str:
    """Return the name of a Host header without its port.

    >>> name_of_host(b"[::1]:8000"), name_of_host(b"[::1")
    ('::1', '')
    """
    text = host.decode("latin-1").lower()
    if text.startswith("["):
        name, closed, _ = text[1:].partition("]")
        return name if closed else ""
    return text.partition(":")[0]


def is_own_origin(headers: Headers, required: bool = False) -> bool:
    """Tell whether a request comes from a page of ours, or from no page at all.

    Parameters
    ----------
    headers : pairs of bytes
    required : bool
        Whether the request must say from where it comes, as every browser does for a web socket.

    Examples
    --------
    >>> host = (b"host", b"localhost:8080")
    >>> is_own_origin([host, (b"origin", b"http://localhost:8080")], required=True)
    True
    >>> is_own_origin([host, (b"origin", b"http://localhost:9999")]), is_own_origin([host])
    (False, True)
    """
    headers = list(headers)
    if not any(key.lower() == b"origin" for key, _ in headers):
        return not required
    host, origin = only_header(headers, b"host"), only_header(headers, b"origin")
    return host is not None and origin is not None and origin.lower() == b"http://" + host.lower()
