"""The errors that a user can meet. Each says what was wrong, where, and what to do."""

from collections.abc import Sequence


class DataError(ValueError):
    """A file or an array that cannot be used as it is.

    The message names the file, the place in it, what was found there, and the remedy.

    Parameters
    ----------
    message : str
    options : sequence of str
        The parameters that the remedy is about, by their names in Python. The command line adds
        its own names of them to the message.
    """

    def __init__(self, message: str, *, options: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.options = tuple(options)


class ModelFileError(DataError):
    """A model that cannot be written to a file, or a file that no model can be read from.

    The message names the file, or the attribute of the model, and the remedy.
    """


class FileBusyError(DataError):
    """A file that another process has been writing to for too long."""


class AdaptationWarning(UserWarning):
    """A transductive method found something odd in its pool; the message says what it did about it."""


class NonFiniteScores(ValueError):
    """Rows for which a model has no finite score: numbers overflowed, or it learnt none.

    Parameters
    ----------
    message : str
    rows : sequence of int
        The rows of X, or of the chunk in which they were read.
    """

    def __init__(self, message: str, *, rows: Sequence[int] = ()) -> None:
        super().__init__(message)
        self.rows = tuple(rows)


class DivergenceError(ValueError):
    """A descent whose steps are too long for its data: the weights grew beyond all bounds.

    The message says after how many steps, and which parameter shortens them.
    """
