"""Throughput of extraction, as a share of the bare network on decoded tensors, in the same run.

    python benchmarks/features.py [FOLDER] [--photographs 96] [--backbone NAME]

Without a folder, photographs of 640 × 480 pixels are made on the spot. The bare network gets tensors
that are decoded and scaled already; extraction reads, hashes, decodes, runs the same network and keeps
what it computed. Both are timed in turns, so that a busy machine slows both, and the ratio is the
median over the turns. Target: at least 0.8.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

from unseen.datasets.image_folder import list_all_images
from unseen.features import FeatureStore, backbone, extract
from unseen.features.extraction import BATCH
from unseen.features.pictures import open_picture


def made(folder: Path, count: int) -> list[Path]:
    """Write smooth random photographs as JPEG files."""
    from PIL import Image

    rng, paths = np.random.default_rng(0), []
    for number in range(count):
        coarse = Image.fromarray(rng.integers(0, 255, (12, 16, 3), dtype=np.uint8))
        paths.append(folder / f"{number}.jpg")
        coarse.resize((640, 480), 3).save(paths[-1], quality=90)
    return paths


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--photographs", type=int, default=96)
    parser.add_argument("--backbone", default="efficientnet-lite0")
    parser.add_argument("--turns", type=int, default=9)
    given = parser.parse_args()
    network = backbone(given.backbone)
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        paths = list_all_images(given.folder) if given.folder else made(root, given.photographs)
        paths = paths[: given.photographs]
        pixels = [network.prepare(open_picture(p.read_bytes(), network.side)) for p in paths]
        batches = [np.stack(pixels[i : i + BATCH]) for i in range(0, len(pixels), BATCH)]
        tensors = [network.tensor(batch) for batch in batches]
        network.bare(tensors[0])
        bare, whole = [], []
        extract(paths[:BATCH], network)
        for turn in range(given.turns):
            start = time.perf_counter()
            for tensor in tensors:
                network.bare(tensor)
            bare.append(time.perf_counter() - start)
            with FeatureStore(root / f"cache-{turn}") as store:
                start = time.perf_counter()
                extract(paths, network, store)
                whole.append(time.perf_counter() - start)
    one, two = statistics.median(bare), statistics.median(whole)
    ratios = sorted(b / w for b, w in zip(bare, whole, strict=True))
    print(f"{network.name}, {len(paths)} photographs, medians of {given.turns} turns")
    print(f"bare network {len(paths) / one:.1f}/s, extraction {len(paths) / two:.1f}/s")
    spread = f"{ratios[0]:.2f} to {ratios[-1]:.2f}"
    print(f"ratio {statistics.median(ratios):.2f}, from {spread} (target 0.80)")


if __name__ == "__main__":
    main()
