"""A game about images in a folder with one sub-folder per class; `python image_game.py` runs for a minute."""

from collections import Counter
from itertools import product
from pathlib import Path

from PIL import Image, ImageDraw

import ecsuite as ec

COLORS, SHAPES, SIZES = ("red", "blue", "gold"), ("ellipse", "rectangle"), (14, 20, 26)


def draw(folder):
    """Draw an image of each colour, shape and size at two positions; the class is the colour."""
    for color, shape, size, corner in product(COLORS, SHAPES, SIZES, (4, 18)):
        image = Image.new("RGB", (48, 48), "black")
        getattr(ImageDraw.Draw(image), shape)([corner, corner, corner + size, corner + size], fill=color)
        file = Path(folder) / color / f"{shape}-{size}-{corner}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        image.save(file)


def play(folder, out="runs/image_game", **settings):
    """Train on the folder; returns the run, and the number of uses of each message for each class."""
    changes = {"world.size": 48, "world.held_out": 0.25, "channel.vocab_size": 10, "channel.max_len": 3}
    run = ec.train(folder, out=out, overrides={**changes, **settings}, device="cpu")
    said = zip(run.corpus.content(), run.corpus.columns["file"], strict=True)
    return run, Counter((file.split("/")[0], " ".join(map(str, message))) for message, file in said)


if __name__ == "__main__":
    draw("shapes")
    run, counts = play("shapes", **{"training.num_epochs": 5})
    print(run)
    for (of_class, message), number in sorted(counts.items()):
        print(f"{of_class:10} {message:8} {number}")
