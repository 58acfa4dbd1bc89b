"""unseen: recognise classes that nobody has labelled."""

__version__ = "0.1.0"
