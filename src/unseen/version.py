"""The version of the library, for files and pages that name it."""

__version__ = "0.1.0"
