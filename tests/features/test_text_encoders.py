"""Text encoders with tiny random weights: BERT in NumPy, transformers and ONNX agree with torch."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr
from threadpoolctl import threadpool_limits

from unseen import DataError
from unseen.features import describe, minilm, text_encoder
from unseen.features.bert_numpy import twice_gelu
from unseen.features.minilm import MiniLM

WORDS = [
    "refund",
    "my",
    "parcel",
    "is",
    "late",
    "where",
    "the",
    "money",
    "please",
    "back",
    "login",
    "password",
]


def write_tokeniser(folder):
    tokenizers = pytest.importorskip("tokenizers")
    vocabulary = {w: i for i, w in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS])}
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    ends = [("[CLS]", 2), ("[SEP]", 3)]
    made.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=ends
    )
    made.save(str(folder / "tokenizer.json"))
    return made, len(vocabulary)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A folder with a BERT of two layers, and the vectors that torch gives for some texts."""
    torch, transformers = (pytest.importorskip(m) for m in ("torch", "transformers"))
    folder = tmp_path_factory.mktemp("tiny")
    tokeniser, size = write_tokeniser(folder)
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=size,
        hidden_size=24,
        num_hidden_layers=2,
        num_attention_heads=3,
        intermediate_size=40,
        max_position_embeddings=64,
        initializer_range=0.4,
    )
    model = transformers.BertModel(config).eval()
    model.save_pretrained(folder, safe_serialization=True)
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokeniser, pad_token="[PAD]", unk_token="[UNK]"
    ).save_pretrained(folder)
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(WORDS, rng.integers(1, 12))) for _ in range(60)]
    expected = []
    for text in texts:  # one by one: no padding
        ids = torch.tensor([tokeniser.encode(text).ids])
        with torch.inference_mode():
            hidden = model(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state
        expected.append(torch.nn.functional.normalize(hidden.mean(1))[0].numpy())
    return folder, texts, np.stack(expected)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("batch_tokens", [1, 50, 1024])
def test_bert_in_numpy_is_that_of_torch(tiny, monkeypatch, threads, batch_tokens):
    folder, texts, expected = tiny
    monkeypatch.setattr(minilm, "BATCH_TOKENS", batch_tokens)
    with threadpool_limits(threads, "blas"):
        np.testing.assert_allclose(MiniLM(folder)(texts), expected, atol=1e-5)


def test_no_text_gives_no_vector(tiny):
    assert MiniLM(tiny[0])([]).shape == (0, 24)


def test_transformers_in_padded_batches(tiny):
    folder, texts, expected = tiny
    encoder = text_encoder(f"hf:{folder}")
    assert encoder.width == 24
    np.testing.assert_allclose(encoder(texts), expected, atol=1e-5)
    assert encoder.identity != f"hf:{folder}"  # it has a checksum of the weights


def test_gelu_is_that_of_the_normal_distribution():
    x = np.linspace(-30, 30, 200_001).astype(np.float32)
    computed = x.copy()
    twice_gelu(computed)
    exact = x.astype(np.float64) * ndtr(x.astype(np.float64))
    assert np.abs(computed / 2 - exact).max() < 5e-7 * 30
    inner = np.abs(x) < 6
    assert np.abs(computed[inner] / 2 - exact[inner]).max() < 1e-6


def write_onnx(folder, inputs=("input_ids", "attention_mask")):
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    _, size = write_tokeniser(folder)
    table = np.random.default_rng(0).normal(size=(size, 5)).astype(np.float32)
    helper, kinds = onnx.helper, onnx.TensorProto
    nodes = [helper.make_node("Gather", ["table", inputs[0]], ["hidden"])]
    given = [helper.make_tensor_value_info(n, kinds.INT64, ["n", "length"]) for n in inputs]
    output = [helper.make_tensor_value_info("hidden", kinds.FLOAT, ["n", "length", 5])]
    weights = [onnx.numpy_helper.from_array(table, "table")]
    graph = helper.make_graph(nodes, "tiny", given, output, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, str(folder / "tiny.onnx"))
    return table


def test_onnx_averages_the_tokens_of_a_text(tmp_path):
    table = write_onnx(tmp_path)
    encoder = text_encoder(f"onnx:{tmp_path / 'tiny.onnx'}")
    mean = table[[2, 4, 6, 3]].mean(axis=0)  # [CLS] refund parcel [SEP]
    found = encoder(["refund parcel", "refund my parcel is late"])
    np.testing.assert_allclose(found[0], mean / np.linalg.norm(mean), atol=1e-6)
    assert encoder.width == 5


def test_onnx_that_takes_no_tokens_is_refused(tmp_path):
    write_onnx(tmp_path, ("pixels",))
    with pytest.raises(DataError, match="takes pixels, but a text encoder takes input_ids"):
        text_encoder(f"onnx:{tmp_path / 'tiny.onnx'}")
    write_onnx(tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(DataError, match=r"tokenizer\.json"):
        text_encoder(f"onnx:{tmp_path / 'tiny.onnx'}")


def test_a_file_of_word_vectors_encodes_no_texts(tmp_path):
    with pytest.raises(DataError, match="is a file of word vectors"):
        text_encoder(str(tmp_path / "glove.txt"))


def test_several_texts_of_a_class_have_their_mean_direction(tiny):
    encoder = MiniLM(tiny[0])
    table = describe(["a", "late parcel"], encoder, {"a": ["my money", "refund"]}, "{}")
    mean = encoder(["my money", "refund"]).mean(axis=0)
    np.testing.assert_allclose(table["a"], mean / np.linalg.norm(mean), atol=1e-6)
    np.testing.assert_allclose(table["late parcel"], encoder(["late parcel"])[0], atol=1e-6)
