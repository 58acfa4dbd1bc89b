"""Options that several commands on photographs share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

SKIPPED_EXIT_CODE = 3
"""The exit code of ``--strict`` when pictures were skipped."""


def _allow_download(allowed: bool) -> bool:
    from unseen.features import allow_downloads

    allow_downloads(allowed)
    return allowed


Seen = Annotated[
    Path, typer.Option(help="Labelled photographs, one sub-folder a class: SEEN/<class>/<picture>.")
]
Unlabelled = Annotated[
    Path | None, typer.Option(help="A folder of photographs that nobody labelled.", show_default=False)
]
Classes = Annotated[
    Path | None,
    typer.Option(
        help="All classes, seen and not: CSV or Parquet with a column 'class', one column an attribute "
        "and, if you like, 'description'; or a .txt of names.",
        show_default=False,
    ),
]
Words = Annotated[
    str,
    typer.Option(
        help="Vectors of names and descriptions: minilm, hf:NAME, or a GloVe, word2vec or fastText "
        "file. Mixed with attributes where there are some.",
        show_default=False,
    ),
]
WordWeight = Annotated[
    float, typer.Option(min=0.0, max=1.0, help="The share of words beside attributes.")
]
Candidates = Annotated[
    str,
    typer.Option(
        help="Among which classes to answer: fox,bat or a .txt or 'all'. By default those without a "
        "labelled photograph.",
        show_default=False,
    ),
]
BackboneName = Annotated[
    str,
    typer.Option(
        "--backbone",
        help="What sees: efficientnet-lite0, vgg19-fc7, onnx:PATH, hf:NAME_OR_FOLDER.",
    ),
]
Weights = Annotated[
    Path | None, typer.Option(help="The backbone's weights, for vgg19-fc7.", show_default=False)
]
AllowDownload = Annotated[
    bool,
    typer.Option(
        "--allow-download",
        help="Fetch models that you name, as hf:NAME, from the network; otherwise only local files are "
        "read.",
        callback=_allow_download,
    ),
]
Cache = Annotated[
    Path | None,
    typer.Option(help="Where features are kept; UNSEEN_CACHE or the user's cache by default."),
]
Method = Annotated[str, typer.Option(help="What learns; unseen bench compares them.")]
Seed = Annotated[int, typer.Option(help="For what the method draws at random.")]
Strict = Annotated[
    bool, typer.Option("--strict", help=f"Leave with {SKIPPED_EXIT_CODE} if photographs were skipped.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
