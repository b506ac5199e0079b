"""Feature files from images: classes are folders, rows are in the order of names, and bad input is one line."""

import pytest

from ecsuite.games.config.sources import find_images
from ecsuite.games.worlds.images import encode_folder
from ecsuite.runtime.errors import ConfigError

transformers = pytest.importorskip("transformers")
Image = pytest.importorskip("PIL.Image")

WIDTH = 8


def save(model, folder):
    """Save an encoder, never trained, with what prepares its images."""
    model.save_pretrained(folder)
    transformers.ConvNextImageProcessor(size={"shortest_edge": 32}).save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    """A ResNet of two small stages."""
    sizes = {"embedding_size": 4, "hidden_sizes": [4, WIDTH], "depths": [1, 1], "layer_type": "basic"}
    transformers.set_seed(0)
    model = transformers.ResNetModel(transformers.ResNetConfig(**sizes))
    return save(model, tmp_path_factory.mktemp("resnet"))


@pytest.fixture
def birds(tmp_path):
    """Three robins and two wrens, each of one colour, in sizes of their own; the first wren is the second robin."""
    colors = {"robin": [(250, 10, 10), (10, 10, 250), (90, 90, 90)], "wren": [(10, 10, 250), (10, 250, 10)]}
    for name, of_class in colors.items():
        (tmp_path / name).mkdir()
        for number, color in enumerate(of_class):
            Image.new("RGB", (40, 40), color).save(tmp_path / name / f"{number}.png")
    (tmp_path / "README.txt").write_text("not an image")
    (tmp_path / "wren" / "notes.txt").write_text("not an image")
    return tmp_path


def encode(folder, encoder, **options):
    return encode_folder(folder, encoder, device="cpu", progress=lambda *_: None, **options)


def test_images_that_lie_in_the_folder_itself_have_no_class(birds, encoder):
    arrays = encode(birds / "robin", encoder)
    assert arrays.keys() == {"features"} and arrays["features"].shape == (3, WIDTH)


def test_an_encoder_without_a_summary_gives_the_mean_of_its_states(birds, tmp_path_factory):
    sizes = {"num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8}
    config = transformers.ViTConfig(hidden_size=WIDTH, image_size=32, patch_size=16, **sizes)
    model = transformers.ViTModel(config, add_pooling_layer=False)
    folder = save(model, tmp_path_factory.mktemp("vit"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transformers.AutoModel, "from_pretrained", lambda *_, **__: model)
        features = encode(birds, folder)["features"]
    assert features.shape == (5, WIDTH) and (features[1] == features[3]).all()


def test_bad_input_is_one_line(birds, encoder, tmp_path_factory):
    empty = tmp_path_factory.mktemp("empty")
    with pytest.raises(ConfigError, match="expected a folder of images"):
        find_images(empty / "nowhere")
    with pytest.raises(ConfigError, match="no images in it or its subfolders"):
        find_images(empty)
    (birds / "stray.png").write_bytes((birds / "robin" / "0.png").read_bytes())
    with pytest.raises(ConfigError, match=r"stray\.png is in no subfolder, but robin.0\.png is"):
        find_images(birds)
    (birds / "stray.png").unlink()
    (birds / "wren" / "9.jpg").write_bytes((birds / "robin" / "0.png").read_bytes()[:60])
    with pytest.raises(ConfigError, match=r"wren.9\.jpg: can't be read as an image: ") as found:
        encode(birds, encoder)
    assert "\n" not in str(found.value)


def test_an_encoder_that_is_none_is_one_line(birds, tmp_path_factory):
    folder = tmp_path_factory.mktemp("bert")
    with pytest.raises(ConfigError, match=r"encoder .*: cannot be loaded: ") as found:
        encode(birds, str(folder))
    assert "\n" not in str(found.value)
    sizes = {"num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8, "vocab_size": 9}
    save(transformers.BertModel(transformers.BertConfig(hidden_size=8, **sizes)), folder)
    with pytest.raises(ConfigError, match="BertModel does not map images to vectors"):
        encode(birds, str(folder))
