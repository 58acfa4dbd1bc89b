"""Data sets: one frozen record, and everything that makes one."""

from unseen.datasets.record import ZeroShotDataset

__all__ = ["ZeroShotDataset"]
