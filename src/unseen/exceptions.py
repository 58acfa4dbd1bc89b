"""The errors that a user can meet. Each says what was wrong, where, and what to do."""


class DataError(ValueError):
    """A file or an array that cannot be used as it is.

    The message names the file, the place in it, what was found there, and the remedy.
    """


class AdaptationWarning(UserWarning):
    """A transductive method expected to do harm, and held its adaptation back or left the pool alone."""
