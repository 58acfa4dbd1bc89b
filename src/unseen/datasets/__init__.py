"""Data sets: one frozen record, and everything that makes one."""

from unseen.datasets.letters import load_letters_to_digits
from unseen.datasets.record import ZeroShotDataset

__all__ = ["ZeroShotDataset", "load_letters_to_digits"]
