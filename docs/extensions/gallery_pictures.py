"""How the gallery draws: one style for all figures, an order by task, and animations as frames.

An example ends an animation with ``FuncAnimation`` as in any script. Matplotlib's own player loads its
buttons from another machine; here each frame becomes a picture, and ``static/rounds.js`` plays them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from weakref import WeakSet

from cycler import cycler
from matplotlib import pyplot as plt
from matplotlib.animation import AbstractMovieWriter, Animation
from sphinx_gallery.scrapers import matplotlib_scraper

COLOURS = ["#1f6fb2", "#e07b00", "#2a9461", "#c43c39", "#7f5fb0", "#8a5a44", "#d1579c", "#6b6f76"]
FIRST = (
    "quickstart", "own_data", "photographs", "texts", "embeddings", "intents_and_strangers",
    "active_review", "transduction", "uneven_pools", "streams", "model_file", "onnx_runtime",
    "scikit_learn_pipeline", "compare_methods", "writing_a_method", "dask_cluster",
)  # fmt: skip
"""The pages of the gallery in the order of the tasks; others follow by name."""


WRITTEN: WeakSet[Animation] = WeakSet()
"""Animations whose frames are on their page; a later block of the example still knows them."""


def set_style(gallery_conf: dict[str, Any], fname: str) -> None:
    """Give all figures of the site one look."""
    plt.rcParams.update(
        {
            "axes.prop_cycle": cycler(color=COLOURS),
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.edgecolor": "#5b6570",
            "axes.titlesize": 11,
            "axes.titleweight": "bold",
            "axes.titlelocation": "left",
            "font.size": 10,
            "legend.frameon": False,
            "figure.dpi": 110,
        }
    )


def order(path: str) -> tuple[int, str]:
    """Return the place of an example among the others."""
    name = Path(path).stem
    return (FIRST.index(name) if name in FIRST else len(FIRST), name)


class FrameWriter(AbstractMovieWriter):
    """Writes the frames of an animation to the next paths of the gallery."""

    def __init__(self, paths: Any) -> None:
        super().__init__(fps=1)
        self.paths, self.written = paths, list[str]()

    def setup(self, fig: Any, outfile: Any, dpi: float | None = None) -> None:
        """Remember the figure; there is no file of the whole."""
        self.fig = fig

    def grab_frame(self, **options: Any) -> None:
        """Save one frame."""
        path = next(self.paths)
        self.fig.savefig(path, dpi=130)
        self.written.append(path)

    def finish(self) -> None:
        """Nothing is left to do."""


def frames_scraper(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Show the frames of an animation in a container that the player knows; else the figures."""
    made = block_vars["example_globals"].values()
    movies = [movie for movie in made if isinstance(movie, Animation) and movie not in WRITTEN]
    if not movies:
        return str(matplotlib_scraper(block, block_vars, gallery_conf))
    writer = FrameWriter(block_vars["image_path_iterator"])
    movies[0].save("frames", writer=writer)
    WRITTEN.add(movies[0])
    plt.close("all")
    lines = [".. container:: rounds", ""]
    for number, path in enumerate(writer.written):
        place = Path(path).relative_to(gallery_conf["src_dir"]).as_posix()
        name = f"after round {number}" if number else "at the start"
        lines += [f"   .. image:: /{place}", f"      :alt: The pool {name}", ""]
    return "\n".join(lines) + "\n"


def setup(app: Any) -> dict[str, bool]:
    """Offer the functions; conf.py names them."""
    return {"parallel_read_safe": True}
