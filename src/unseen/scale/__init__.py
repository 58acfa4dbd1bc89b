"""Beyond memory and beyond one machine: the same fit on chunks of a file and on a Dask cluster."""

from unseen.scale.label_files import write_labels
from unseen.scale.open_files import connect, open_rows

__all__ = ["connect", "open_rows", "write_labels"]
