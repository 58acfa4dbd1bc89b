"""A tiny CLIP and a tiny SigLIP with random weights, as folders and as ONNX halves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

SIDE, WIDTH, PLACES, SCALE = 32, 12, 16, 50.0
WORDS = [
    "a",
    "photo",
    "of",
    "drawing",
    "the",
    "red",
    "green",
    "blue",
    "yellow",
    "fox",
    "giant",
    "panda",
    "very",
]
SPECIAL = ["<pad>", "<unk>", "<s>", "</s>"]
CLIP_VIEW = {
    "image_processor_type": "CLIPImageProcessor",
    "size": {"shortest_edge": SIDE},
    "crop_size": {"height": SIDE, "width": SIDE},
    "do_center_crop": True,
    "image_mean": [0.5, 0.4, 0.3],
    "image_std": [0.2, 0.3, 0.4],
}
SIGLIP_VIEW = {
    "image_processor_type": "SiglipImageProcessor",
    "size": {"height": SIDE, "width": SIDE},
    "image_mean": [0.5, 0.5, 0.5],
    "image_std": [0.5, 0.5, 0.5],
}
_LAYERS = {
    "hidden_size": WIDTH,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "initializer_range": 0.5,
}
_TEXT = {**_LAYERS, "max_position_embeddings": PLACES, "vocab_size": len(SPECIAL + WORDS)}
_TEXT |= {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
_VISION = {**_LAYERS, "image_size": SIDE, "patch_size": 16}


def write_tokeniser(folder: Path) -> None:
    tokenizers, transformers = (pytest.importorskip(m) for m in ("tokenizers", "transformers"))
    vocabulary = {word: i for i, word in enumerate(SPECIAL + WORDS)}
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="<unk>"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.post_processor = tokenizers.processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 2), ("</s>", 3)]
    )
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", unk_token="<unk>", bos_token="<s>", eos_token="</s>"
    ).save_pretrained(folder)


def write_model(folder: Path, kind: str):
    """Write a model for transformers, ``kind`` "clip" or "siglip"; return it."""
    torch, transformers = (pytest.importorskip(m) for m in ("torch", "transformers"))
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    if kind == "clip":
        config = transformers.CLIPConfig(text_config=_TEXT, vision_config=_VISION, projection_dim=WIDTH)
        model = transformers.CLIPModel(config)
    else:
        config = transformers.SiglipConfig(
            text_config={**_TEXT, "projection_size": WIDTH}, vision_config=_VISION
        )
        model = transformers.SiglipModel(config)
    with torch.no_grad():
        model.logit_scale.fill_(float(torch.tensor(SCALE).log()))
    model.eval().save_pretrained(folder)
    view = CLIP_VIEW if kind == "clip" else SIGLIP_VIEW
    (folder / "preprocessor_config.json").write_text(json.dumps(view))
    write_tokeniser(folder)
    return model


def write_onnx_halves(folder: Path, width: int = 3, per_token: bool = False) -> None:
    """Write ``image.onnx``, the mean colour, and ``text.onnx``, the mean of a vector for each word.

    The word of a colour has its vector; each half has another output in front of the shared one.
    """
    onnx, np = pytest.importorskip("onnx"), pytest.importorskip("numpy")
    pytest.importorskip("onnxruntime")
    folder.mkdir(parents=True, exist_ok=True)
    write_tokeniser(folder)
    helper, kinds = onnx.helper, onnx.TensorProto
    info = helper.make_tensor_value_info

    def save(name, nodes, given, outputs, weights=()):
        graph = helper.make_graph(nodes, "tiny", given, outputs, weights)
        opset = [helper.make_opsetid("", 18)]
        onnx.save(
            helper.make_model(graph, opset_imports=opset, ir_version=9), str(folder / f"{name}.onnx")
        )

    axes = onnx.numpy_helper.from_array(np.array([2, 3]), "axes")
    nodes = [
        helper.make_node("Relu", ["pixel_values"], ["last_hidden_state"]),
        helper.make_node("ReduceMean", ["pixel_values", "axes"], ["image_embeds"], keepdims=0),
    ]
    pixels = info("pixel_values", kinds.FLOAT, ["n", 3, 8, 8])
    hidden = info("last_hidden_state", kinds.FLOAT, ["n", 3, 8, 8])
    save("image", nodes, [pixels], [hidden, info("image_embeds", kinds.FLOAT, ["n", 3])], [axes])
    settings = {"mean": [127.5] * 3, "std": [127.5] * 3, "crop": 1.0}
    (folder / "image.onnx.json").write_text(json.dumps(settings))

    colours = {"red": (1, -1, -1), "green": (-1, 1, -1), "blue": (-1, -1, 1), "yellow": (1, 1, -1)}
    table = np.zeros((len(SPECIAL + WORDS), width), np.float32)
    table[SPECIAL.index("<unk>")] = 0.1
    for word, colour in colours.items():
        table[(SPECIAL + WORDS).index(word), :3] = colour
    axis = onnx.numpy_helper.from_array(np.array([1]), "axis")
    weights = [onnx.numpy_helper.from_array(table, "table"), axis]
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"]),
        helper.make_node("ReduceSum", ["last_hidden_state", "axis"], ["text_embeds"], keepdims=0),
    ]
    hidden = info("last_hidden_state", kinds.FLOAT, ["n", "length", width])
    outputs = [hidden] if per_token else [hidden, info("text_embeds", kinds.FLOAT, ["n", width])]
    save("text", nodes, [info("input_ids", kinds.INT64, ["n", "length"])], outputs, weights)
