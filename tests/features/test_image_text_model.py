"""Models of pictures and texts, with tiny random weights: both halves against transformers itself."""

from __future__ import annotations

import json

import numpy as np
import pytest

from image_text_models import (
    CLIP_VIEW,
    PLACES,
    SCALE,
    SIDE,
    SIGLIP_VIEW,
    WIDTH,
    write_model,
    write_onnx_halves,
)
from pictures import COLOURS, picture
from unseen import DataError
from unseen.features import FeatureStore, StoredEncoder, image_text_model, text_encoder
from unseen.features.pictures import View, open_picture

TEXTS = ["a photo of a red fox", "panda", "the very " * 40, "a drawing of the giant panda"]
SIZES = [(40, 40), (64, 40), (36, 70)]


@pytest.fixture(scope="module", params=["clip", "siglip"])
def model(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    return request.param, folder, write_model(folder, request.param)


@pytest.fixture(scope="module")
def halves(tmp_path_factory):
    folder = tmp_path_factory.mktemp("halves")
    write_onnx_halves(folder)
    return folder


def test_cosines_times_scale_are_the_logits_of_transformers(model):
    """The processor of transformers and the whole model say what both halves must say together."""
    torch, transformers = (pytest.importorskip(m) for m in ("torch", "transformers"))
    kind, folder, network = model
    ours = image_text_model(f"hf:{folder}")
    assert ours.scale == pytest.approx(SCALE, rel=1e-5)
    assert ours.images.width == ours.texts.width == WIDTH
    assert ours.notes == []
    photos = [
        open_picture(picture(COLOURS[c], i, size), 64)
        for i, (c, size) in enumerate(zip(("red", "green", "brown"), SIZES, strict=True))
    ]
    images = ours.images(np.stack([ours.images.prepare(photo) for photo in photos]))
    images /= np.linalg.norm(images, axis=1, keepdims=True)
    computed = ours.scale * images @ ours.texts(TEXTS).T

    tokeniser = transformers.AutoTokenizer.from_pretrained(folder)
    padding = True if kind == "clip" else "max_length"
    given = tokeniser(TEXTS, padding=padding, truncation=True, max_length=PLACES, return_tensors="pt")
    if kind == "siglip":
        del given["attention_mask"]
    given.pop("token_type_ids", None)
    pixels = torch.from_numpy(np.stack([_pixels(kind, photo) for photo in photos]))
    with torch.inference_mode():
        output = network(pixel_values=pixels, **given)
    expected = output.logits_per_image.numpy()
    if kind == "siglip":
        expected = expected - network.logit_bias.item()
    np.testing.assert_allclose(computed, expected, atol=2e-3)


def _pixels(kind, photo):
    """Return pixels by the published preprocessing: CLIP cuts the middle out, SigLIP stretches."""
    width, height = photo.size
    box = None
    if kind == "clip":
        short = min(width, height)
        left, top = (width - short) / 2, (height - short) / 2
        box = (left, top, left + short, top + short)
    view = CLIP_VIEW if kind == "clip" else SIGLIP_VIEW
    small = np.asarray(photo.resize((SIDE, SIDE), 3, box=box), np.float32) / 255
    scaled = (small - np.float32(view["image_mean"])) / np.float32(view["image_std"])
    return scaled.transpose(2, 0, 1)


def test_a_text_has_one_vector_whatever_is_encoded_with_it(model):
    _, folder, _ = model
    encoder = text_encoder(f"hf:{folder}")
    alone = np.concatenate([encoder([text]) for text in TEXTS])
    np.testing.assert_allclose(encoder(TEXTS), alone, atol=1e-5)


def test_the_weights_are_loaded_once(model, monkeypatch):
    transformers = pytest.importorskip("transformers")
    _, folder, _ = model
    loads = []
    load = transformers.AutoModel.from_pretrained

    def counted(*arguments, **options):
        loads.append(arguments)
        return load(*arguments, **options)

    monkeypatch.setattr(transformers.AutoModel, "from_pretrained", counted)
    image_text_model(f"hf:{folder}")
    assert len(loads) == 1


def test_a_model_of_pictures_alone_is_refused(tmp_path):
    transformers = pytest.importorskip("transformers")
    config = transformers.ViTConfig(
        hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8, image_size=32,
        patch_size=16,
    )  # fmt: skip
    transformers.ViTModel(config).save_pretrained(tmp_path)
    (tmp_path / "preprocessor_config.json").write_text('{"size": {"height": 32, "width": 32}}')
    with pytest.raises(DataError, match="is a ViTModel, which has no encoder of texts"):
        image_text_model(f"hf:{tmp_path}")
    with pytest.raises(DataError, match="efficientnet-lite0: takes pictures only"):
        image_text_model("efficientnet-lite0")


def test_texts_of_another_model_are_refused(model):
    _, folder, _ = model
    with pytest.raises(DataError, match="minilm: its vectors cannot be compared with those of hf:"):
        image_text_model(f"hf:{folder}", "minilm")


def test_a_siglip_that_takes_patches_is_refused(tmp_path):
    transformers = pytest.importorskip("transformers")
    small = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    config = transformers.Siglip2Config(
        text_config={**small, "vocab_size": 20, "projection_size": 8}, vision_config=small
    )
    transformers.Siglip2Model(config).save_pretrained(tmp_path)
    (tmp_path / "preprocessor_config.json").write_text("{}")
    with pytest.raises(DataError, match=r"takes patches of pictures of any shape \(NaFlex\)"):
        image_text_model(f"hf:{tmp_path}")


def test_onnx_halves(halves):
    ours = image_text_model(f"onnx:{halves / 'image.onnx'}", f"onnx:{halves / 'text.onnx'}")
    assert ours.images.width == ours.texts.width == 3
    assert ours.images.output.name == "image_embeds"  # not the output in front of it
    assert ours.texts.output.name == "text_embeds"
    photo = open_picture(picture(COLOURS["red"]), 8)
    pixels = ours.images.prepare(photo)
    expected = pixels.reshape(-1, 3).mean(axis=0) / 127.5 - 1
    np.testing.assert_allclose(ours.images(pixels[None])[0], expected, atol=1e-5)
    root = np.sqrt(3)
    np.testing.assert_allclose(
        ours.texts(["a photo of red"])[0], np.array([1, -1, -1]) / root, atol=1e-6
    )


def test_the_scale_of_onnx_halves(tmp_path):
    write_onnx_halves(tmp_path)
    names = f"onnx:{tmp_path / 'image.onnx'}", f"onnx:{tmp_path / 'text.onnx'}"
    assert image_text_model(*names).scale == 100
    assert "that of CLIP was taken, 100" in image_text_model(*names).notes[0]
    (tmp_path / "text.onnx.json").write_text('{"scale": 117.5, "max_tokens": 5}')
    settled = image_text_model(*names)
    assert (settled.scale, settled.notes) == (117.5, [])
    settings = json.loads((tmp_path / "image.onnx.json").read_text())
    (tmp_path / "image.onnx.json").write_text(json.dumps({**settings, "scale": 12}))
    assert image_text_model(*names).scale == 12
    for bad in ('"large"', "0", "-3", "true", "NaN"):
        (tmp_path / "image.onnx.json").write_text(f'{{"scale": {bad}}}')
        with pytest.raises(DataError, match="but a number above 0 is needed"):
            image_text_model(*names)
    (tmp_path / "image.onnx.json").write_text("[]")
    with pytest.raises(DataError, match="settings: cannot be read"):
        image_text_model(*names)


def test_lengths_of_onnx_texts(tmp_path):
    write_onnx_halves(tmp_path)
    name = f"onnx:{tmp_path / 'text.onnx'}"
    plain = text_encoder(name)
    (tmp_path / "text.onnx.json").write_text('{"max_tokens": 4, "pad_to_max": true}')
    short = text_encoder(name)
    assert short.identity != plain.identity  # other vectors are not kept under the same name
    encoded = short._tokeniser.encode_batch(["red", "red green blue yellow"])
    assert [len(e.ids) for e in encoded] == [4, 4]
    (tmp_path / "text.onnx.json").write_text('{"max_tokens": 0}')
    with pytest.raises(DataError, match="max_tokens is 0, but a whole number from 1"):
        text_encoder(name)


def test_onnx_halves_that_do_not_belong_together(halves, tmp_path):
    image = f"onnx:{halves / 'image.onnx'}"
    with pytest.raises(
        DataError, match="Its half for texts is needed, as onnx:PATH, and there is none"
    ):
        image_text_model(image)
    with pytest.raises(DataError, match="'minilm' is none"):
        image_text_model(image, "minilm")
    write_onnx_halves(tmp_path / "wide", width=5)
    with pytest.raises(DataError, match=r"gives 3 numbers and .* gives 5: they are not the halves"):
        image_text_model(image, f"onnx:{tmp_path / 'wide' / 'text.onnx'}")
    write_onnx_halves(tmp_path / "tokens", per_token=True)
    with pytest.raises(DataError, match="but one vector an item is needed"):
        image_text_model(image, f"onnx:{tmp_path / 'tokens' / 'text.onnx'}")


def test_class_texts_are_encoded_once(halves, tmp_path):
    encoder = image_text_model(f"onnx:{halves / 'image.onnx'}", f"onnx:{halves / 'text.onnx'}").texts
    with FeatureStore(tmp_path) as store:
        first = StoredEncoder(encoder, store)(["red", "green", "red"])
        assert len(store) == 2
        np.testing.assert_array_equal(StoredEncoder(encoder, store)(["red", "green", "red"]), first)
        assert len(store) == 2


def test_a_stretched_view_sees_the_whole_picture():
    image = pytest.importorskip("PIL.Image")
    pixels = np.zeros((10, 40, 3), np.uint8)
    pixels[:, :8] = 255
    photo = image.fromarray(pixels)
    assert View(8, 1.0)(photo).max() < 30  # the middle square has nothing of the left border
    seen = View(8, 1.0, "box", stretch=True)(photo)
    assert seen.shape == (8, 8, 3)
    assert (seen[:, 0] == 255).all()
    assert (seen[:, 2:] == 0).all()
    assert View(8, stretch=True).text != View(8).text
