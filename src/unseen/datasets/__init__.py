"""Data sets: one frozen record, and everything that makes one."""

from unseen.datasets.apy import load_apy
from unseen.datasets.arrays import read_array
from unseen.datasets.audit_finding import Finding
from unseen.datasets.auditor import AuditReport, audit
from unseen.datasets.awa import load_awa
from unseen.datasets.bundle import load_bundle
from unseen.datasets.conversion import convert, detect_layout, load_dataset
from unseen.datasets.cub import load_cub
from unseen.datasets.download import ARCHIVES, fetch
from unseen.datasets.image_folder import load_image_folder, thumbnail_features
from unseen.datasets.letters import load_letters_to_digits
from unseen.datasets.record import ZeroShotDataset
from unseen.datasets.simulator import simulate
from unseen.datasets.table_layout import load_table
from unseen.datasets.xlsa17 import load_xlsa17

__all__ = [
    "ARCHIVES",
    "AuditReport",
    "Finding",
    "ZeroShotDataset",
    "audit",
    "convert",
    "detect_layout",
    "fetch",
    "load_apy",
    "load_awa",
    "load_bundle",
    "load_cub",
    "load_dataset",
    "load_image_folder",
    "load_letters_to_digits",
    "load_table",
    "load_xlsa17",
    "read_array",
    "simulate",
    "thumbnail_features",
]
