"""Class names and descriptions → class vectors."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from unseen.exceptions import DataError
from unseen.features.downloads import load_pretrained
from unseen.features.minilm import PROMPT, MiniLM
from unseen.features.onnx_words import OnnxWords
from unseen.features.torch_backbone import weights_checksum
from unseen.features.word_files import read_words
from unseen.files import need
from unseen.semantics import ClassTable
from unseen.typing import Array

DEFAULT_WEIGHT = 0.25
"""Of words beside attributes: on draws of seen classes 0.5 lost up to 3 points, 0.25 none to speak of
(``benchmarks/descriptions.py``)."""
SUFFIXES = (".txt", ".vec", ".bin", ".gz", ".glove", ".w2v")
_SPLIT = re.compile(r"[^\w']+|_+")


class Words(Protocol):
    """What turns texts into vectors."""

    name: str
    identity: str
    prompt: str
    """What is asked about a class that is known by its name alone; {} stands for the name."""

    def __call__(self, texts: Sequence[str]) -> Array:
        """Return one vector a text, (n, d)."""


class TextEncoder(Words, Protocol):
    """What turns texts of any words into vectors, of a length that is known beforehand."""

    width: int


def words(name: str = "minilm") -> Words:
    """Return an encoder of texts by its name.

    Parameters
    ----------
    name : str
        ``minilm``; ``hf:NAME_OR_FOLDER``, a text model for transformers; ``onnx:PATH``, one that was
        exported; or the path of a file of word vectors (GloVe, word2vec text or ``.bin``, fastText
        ``.vec``).
    """
    if name == "minilm":
        return MiniLM()
    if name.startswith("hf:"):
        return HuggingFaceWords(name)
    if name.startswith("onnx:"):
        return OnnxWords(Path(name.removeprefix("onnx:")))
    if Path(name).suffix.lower() in SUFFIXES:
        return WordFile(Path(name))
    raise DataError(
        f"There are no words {name!r}. Known: minilm, hf:NAME_OR_FOLDER, onnx:PATH, or a file of "
        f"word vectors that ends in {', '.join(SUFFIXES)}."
    )


def readable(label: object) -> str:
    """Return the name of a class as one would say it.

    >>> readable("giant+panda"), readable("017.Cardinal"), readable("Black_footed_Albatross")
    ('giant panda', 'Cardinal', 'Black footed Albatross')
    """
    text = re.sub(r"^\d+[.\-_ ]+(?=\D)", "", str(label))
    return " ".join(part for part in re.split(r"[+_\s]+", text) if part) or str(label)


def describe(
    classes: Sequence[object],
    encoder: Words,
    descriptions: Mapping[Any, str | Sequence[str]] | None = None,
    prompt: str = "",
) -> ClassTable:
    """Return a class table whose vectors are those of the classes' names, or of their descriptions.

    Parameters
    ----------
    classes : sequence of labels
    encoder : Words
        See :func:`words`.
    descriptions : mapping class -> text or texts, optional
        A class without one, or with an empty one, is known by its name. Several texts have the
        mean direction of their vectors.
    prompt : str
        What is asked about a class that is known by its name; {} stands for the name. That of the
        encoder by default.

    Examples
    --------
    >>> class Letters:
    ...     name, identity, prompt = "letters", "letters", "{}"
    ...     def __call__(self, texts):
    ...         return np.array([[text.count("a"), text.count("o")] for text in texts])
    >>> describe(["cat", "dog"], Letters(), {"dog": "a good boy"})["dog"]
    array([1., 3.])
    """
    texts_of = [_class_texts(c, (descriptions or {}).get(c), prompt or encoder.prompt) for c in classes]
    vectors = np.asarray(encoder([text for texts in texts_of for text in texts]))
    parts = np.split(vectors, np.cumsum([len(texts) for texts in texts_of])[:-1])
    return ClassTable.of(
        {c: part if len(part) > 1 else part[0] for c, part in zip(classes, parts, strict=True)}
    )


def _class_texts(label: object, given: str | Sequence[str] | None, prompt: str) -> list[str]:
    """Return the texts of a class: those that were given, or the prompt with its name."""
    several = [given] if isinstance(given, str) else given or []
    texts = [str(text).strip() for text in several if str(text).strip()]
    return texts or [prompt.replace("{}", readable(label))]


def mix(attributes: ClassTable, by_words: ClassTable, weight: float = DEFAULT_WEIGHT) -> ClassTable:
    """Return a table that holds both: unit-length rows side by side, weighted.

    Both rows of a class are scaled to unit length, attributes by √(1 − weight) and words by √weight,
    so that the inner product of two classes is the weighted mean of their two cosines.

    Parameters
    ----------
    attributes, by_words : ClassTable
        Of the same classes; the order is that of ``attributes``.
    weight : float in [0, 1]
        Of the words.

    Examples
    --------
    >>> mix(ClassTable(["fox"], [[3.0, 4.0]]), ClassTable(["fox"], [[2.0]]), 0.36)["fox"]
    array([0.48, 0.64, 0.6 ])
    """
    if not 0 <= weight <= 1:
        raise ValueError(f"The 'weight' parameter must be in [0, 1]. Got {weight!r} instead.")
    text = by_words.restricted_to(attributes.classes.tolist())
    sides = np.sqrt(1 - weight) * _unit(attributes), np.sqrt(weight) * _unit(text)
    names = attributes.attributes or [f"attribute {i}" for i in range(attributes.vectors.shape[1])]
    more = [f"word {i}" for i in range(text.vectors.shape[1])]
    return ClassTable(attributes.classes, np.concatenate(sides, axis=1), [*names, *more])


def _unit(table: ClassTable) -> Array:
    vectors = table.vectors.astype(np.float64)
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not length.all():
        label = table.classes[int(np.argmin(length))]
        raise DataError(f"The vector of class {label!s} is zero: it describes nothing. Describe it.")
    return np.asarray(vectors / length)


class WordFile:
    """A file of word vectors. A text is the mean of its words' vectors."""

    prompt = "{}"

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self.identity = f"words | {path.name}"
        self._path = path

    def __call__(self, texts: Sequence[str]) -> Array:
        """Return the vector of each text: of the whole text if the file has it, else of its words."""
        forms = [_forms(text) for text in texts]
        wanted = {form for whole, parts in forms for form in (*whole, *parts, *_lower(parts))}
        vectors = read_words(self._path, wanted)
        return np.stack([self._vector(t, *f, vectors) for t, f in zip(texts, forms, strict=True)])

    def _vector(
        self, text: str, whole: list[str], parts: list[str], vectors: Mapping[str, Array]
    ) -> Array:
        for form in whole:
            if form in vectors:
                return vectors[form]
        known = [
            w if w in vectors else w.lower() for w in parts if w in vectors or w.lower() in vectors
        ]
        if not known:
            raise DataError(
                f"{self._path}: has no vector for any word of {text!r}. Describe the class in other "
                "words, or use minilm, which knows every word."
            )
        return np.asarray(np.mean([vectors[w] for w in known], axis=0))


def _forms(text: str) -> tuple[list[str], list[str]]:
    """Return the spellings of a text as one entry of a file, and its words."""
    parts = [p for p in _SPLIT.split(text) if p]
    joined = [sign.join(parts) for sign in ("_", "-", "")] if len(parts) < 5 else []
    return list(dict.fromkeys([*joined, *_lower(joined)])), parts


def _lower(texts: Sequence[str]) -> list[str]:
    return [t.lower() for t in texts]


class HuggingFaceWords:
    """A text model of transformers: the text half of CLIP or SigLIP; else the mean over tokens.

    Parameters
    ----------
    name : str
        ``hf:NAME_OR_FOLDER``.
    model : PreTrainedModel, optional
        The model of that name, if it is loaded already.
    """

    prompt = PROMPT

    def __init__(self, name: str, model: Any = None) -> None:
        self.name = name
        rest = name.removeprefix("hf:")
        self._torch = need("torch", name, "hf")
        library = need("transformers", name, "hf")
        what = "a text model for transformers"
        self._tokeniser = load_pretrained(library.AutoTokenizer.from_pretrained, rest, what)
        if model is None:
            model = load_pretrained(
                library.AutoModel.from_pretrained, rest, what, use_safetensors=True
            ).eval()
        self._model = model
        self._two_halves = hasattr(model, "get_text_features")
        self._tokens: dict[str, object] = {"padding": True, "truncation": True, "return_tensors": "pt"}
        if self._two_halves:
            places = int(model.config.text_config.max_position_embeddings)
            self._tokens["max_length"] = min(places, int(self._tokeniser.model_max_length))
        if self._reads_padding:
            self._tokens["padding"] = "max_length"
        self.identity = f"{name} | {weights_checksum(self._model)}"
        self.width = int(self(["width"]).shape[1])

    def __call__(self, texts: Sequence[str]) -> Array:
        """Return a vector of unit length for each text."""
        given = self._tokeniser(list(texts), **self._tokens)
        with self._torch.inference_mode():
            if self._two_halves:
                mask = None if self._reads_padding else given["attention_mask"]
                vectors: Any = self._model.get_text_features(given["input_ids"], attention_mask=mask)
                vectors = getattr(vectors, "pooler_output", vectors)
            else:
                hidden = self._model(**given).last_hidden_state
                mask = given["attention_mask"].unsqueeze(-1)
                vectors = (hidden * mask).sum(1) / mask.sum(1)
        vectors = vectors.float().numpy()
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))

    @property
    def _reads_padding(self) -> bool:
        """Whether padding counts: SigLIP has no mask, and its vector is that of the last place."""
        return str(self._model.config.model_type).startswith("siglip")
