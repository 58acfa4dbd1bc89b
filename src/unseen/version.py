"""The version of the library and the name that it is installed by."""

__version__ = "0.1.0"

DISTRIBUTION = "unseen-zsl"
"""What ``pip install`` is told. ``unseen`` itself is another project's name on conda, and on the Python
index it belongs to whoever takes it first: see docs/releasing.md."""


def install_command(extra: str = "") -> str:
    """Return the command that installs the library, or one of its extras.

    Examples
    --------
    >>> print(install_command("text"))
    pip install "unseen-zsl[text]"
    """
    return f'pip install "{DISTRIBUTION}[{extra}]"' if extra else f"pip install {DISTRIBUTION}"
