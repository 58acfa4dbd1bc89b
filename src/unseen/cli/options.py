"""Options that several commands on photographs and texts share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from unseen.methods import DEFAULT, DEFAULT_FOR_TEXTS

SKIPPED_EXIT_CODE = 3
"""The exit code of ``--strict`` when pictures were skipped."""


def _allow_download(allowed: bool) -> bool:
    from unseen.features import allow_downloads

    allow_downloads(allowed)
    return allowed


Seen = Annotated[
    Path | None,
    typer.Option(
        help="Labelled photographs, one sub-folder a class: SEEN/<class>/<picture>. With --texts: a "
        "file of texts of which some have labels; not needed.",
        show_default=False,
    ),
]
Texts = Annotated[
    Path | None,
    typer.Option(
        help="Texts in place of photographs: CSV, TSV or JSON lines, also as .gz, or Parquet.",
        show_default=False,
    ),
]
Column = Annotated[str, typer.Option(help="The column of the texts, in --texts and in --seen.")]
Embeddings = Annotated[
    Path | None,
    typer.Option(
        help="Vectors of your own, a .npy with one row for each row of --texts, which may be left out.",
        show_default=False,
    ),
]
ClassEmbeddings = Annotated[
    Path | None,
    typer.Option(
        help="With --embeddings: a .npy with one row for each row of --classes, of the same encoder.",
        show_default=False,
    ),
]
Unlabelled = Annotated[
    Path | None, typer.Option(help="A folder of photographs that nobody labelled.", show_default=False)
]
Classes = Annotated[
    Path | None,
    typer.Option(
        help="All classes, seen and not: CSV, Excel or Parquet with a column 'class', one column an "
        "attribute and, if you like, 'description'; or a .txt of names. With --texts, or a --backbone "
        "of pictures and texts: any columns that begin with description, example, text or prompt, and "
        "several rows a class.",
        show_default=False,
    ),
]
ClassColumn = Annotated[
    str, typer.Option(help="The column of --classes that names the classes.", show_default=True)
]
Force = Annotated[
    bool,
    typer.Option(
        "--force", help="Replace results of an earlier run; the old ones are kept with .bak at the end."
    ),
]
Error = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        max=1.0,
        help="An answer is unsure if it is wrong with a larger probability; by default one in ten.",
        show_default=False,
    ),
]
Known = Annotated[
    Path | None,
    typer.Option(
        help="Labels that you gave to some of the items: a CSV with the columns image (or row) and "
        "label, as review.csv filled in, or as the studio exports them.",
        show_default=False,
    ),
]
Words = Annotated[
    str,
    typer.Option(
        help="Vectors of names and descriptions: minilm, hf:NAME, onnx:PATH, or a GloVe, word2vec or "
        "fastText file. Mixed with attributes where there are some, and then columns of words are "
        "descriptions, too. minilm by default, but for tables of attributes: they are used alone. With "
        "--texts: of the texts, too.",
        show_default=False,
    ),
]
WordWeight = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        max=1.0,
        help="The share of words beside attributes; by default what was best on draws of seen classes.",
        show_default=False,
    ),
]
Prompt = Annotated[
    str,
    typer.Option(
        help="With a --backbone of pictures and texts: the text of a class that has none in --classes; "
        "{} stands for its name. 'a photo of a {}' by default.",
        show_default=False,
    ),
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
        help="What sees: efficientnet-lite0, vgg19-fc7, onnx:PATH, hf:NAME_OR_FOLDER. A CLIP or SigLIP "
        "needs no --seen: it compares photographs with the texts of --classes. With onnx: its other "
        "half is --words onnx:PATH.",
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
Method = Annotated[
    str,
    typer.Option(
        help=f"What learns; unseen bench compares them. By default {DEFAULT}, and for texts "
        f"{DEFAULT_FOR_TEXTS}.",
        show_default=False,
    ),
]
Seed = Annotated[int, typer.Option(help="For what the method draws at random.")]
Strict = Annotated[
    bool, typer.Option("--strict", help=f"Leave with {SKIPPED_EXIT_CODE} if items were skipped.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
