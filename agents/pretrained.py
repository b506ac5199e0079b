"""Image models of the package timm as perceptions, with weights from a local file; nothing is downloaded."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from ecsuite.agents.autocast import autocast_to
from ecsuite.agents.linear import Linear
from ecsuite.agents.options import PerceptionOptions
from ecsuite.agents.perception import Perception
from ecsuite.parts.config import Count
from ecsuite.runtime.errors import ConfigError, missing_extra, unknown_name
from ecsuite.runtime.memory import require_memory

FILE = "model.safetensors"
"""File name of the weights in a folder, as on the Hugging Face hub."""
COPIES = 2
"""Number of copies of the weights in memory while they are read."""
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Mean and standard deviation of the colours in ImageNet, the default for models that define none."""


class PretrainedPerception(Perception):
    """An image model without its classifier.

    A frozen model stays in evaluation mode and gets no gradient. Weights of torchvision fit if timm has the same
    layers, as in its ResNets.

    Raises:
        ConfigError: If timm is not installed or has no such model, or the weights do not fit the model.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options(PerceptionOptions):
        """Options of an image model."""

        model: str = "resnet18"
        """Name of the model in timm, such as resnet18 or vit_tiny_patch16_224."""
        weights: str | None = None
        """A safetensors file of weights, or a folder with model.safetensors; null: random weights."""
        freeze: bool = True
        """Whether the weights are frozen; otherwise they are trained with the agent."""
        side: Count | None = None
        """Width and height to which images are scaled; null: no scaling."""
        size: Count | None = None
        """Width of a linear layer after the model; null: the features of the model, unchanged."""

    takes_images = True
    mean: Tensor
    std: Tensor

    def __init__(
        self, options: Options, *, object_shape: tuple[int, ...], state_size: int | None = None
    ) -> None:
        super().__init__()
        self.side, self.is_frozen = options.side, options.freeze
        self.network: nn.Module = _network(options.model)
        if options.weights is not None:
            _load_weights(self.network, options.model, Path(options.weights))
        self.network.requires_grad_(not options.freeze)
        config: dict[str, Any] = getattr(self.network, "pretrained_cfg", None) or {}
        for name, default in (("mean", MEAN), ("std", DEVIATION)):
            colours = torch.tensor(config.get(name, default)).reshape(3, 1, 1)
            self.register_buffer(name, colours, persistent=False)
        width = int(self.network.num_features)  # type: ignore[arg-type]
        self.projection = None if options.size is None else Linear(width, options.size)
        self.out_features = options.size or width
        self.train()
        self._try_images(options.model, object_shape)

    @property
    def learns(self) -> bool:
        """Whether there are trainable weights: the layer after a frozen network is trained."""
        return not self.is_frozen or self.projection is not None

    def train(self, mode: bool = True) -> "PretrainedPerception":
        """Set training or evaluation mode; a frozen network stays in evaluation mode."""
        super().train(mode)
        if self.is_frozen:
            self.network.eval()
        return self

    def forward(self, images: Tensor) -> Tensor:
        """Images (num_objects, height, width, 3), from 0 to 1, to vectors (num_objects, out_features)."""
        pixels = images.float().permute(0, 3, 1, 2)
        if self.side is not None:
            pixels = nn.functional.interpolate(
                pixels, (self.side, self.side), mode="bilinear", antialias=True
            )
        pixels = (pixels - self.mean) / self.std
        with torch.set_grad_enabled(torch.is_grad_enabled() and not self.is_frozen):
            with autocast_to(images.device, images.dtype):
                vectors: Tensor = self.network(pixels)
        vectors = vectors.to(images.dtype)
        return vectors if self.projection is None else self.projection(vectors)

    def _try_images(self, model: str, shape: tuple[int, ...]) -> None:
        """Raise `ConfigError` if the network does not accept images of this size."""
        if torch.empty(0).is_meta:  # parameters are only counted
            return
        self.network.eval()
        try:
            with torch.no_grad():
                self(torch.zeros(1, *shape))
        except (RuntimeError, AssertionError, ValueError) as error:
            text = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise ConfigError(
                f"perception.side: {model} does not accept images of {self.side or shape[0]} pixels ({text}): set the "
                "width that it expects, such as 224"
            ) from None
        self.train()


def weights_file(place: Path) -> Path:
    """Path of the weights file: the path itself, or the file in a folder."""
    return place / FILE if place.is_dir() else place


def _network(model: str) -> nn.Module:
    """A timm model with random weights and without its classifier."""
    try:
        import timm
    except ImportError:
        raise missing_extra("perception pretrained needs timm", "vision") from None
    if not timm.is_model(model):
        raise unknown_name("perception.model", model, timm.list_models())
    network: nn.Module = timm.create_model(model, pretrained=False, num_classes=0)
    return network


def _load_weights(network: nn.Module, model: str, place: Path) -> None:
    """Load the weights of a file into a network, ignoring weights of a classifier."""
    file = weights_file(place)
    if not file.is_file() or file.suffix != ".safetensors":
        raise ConfigError(
            f"perception.weights: {place}: expected a safetensors file of {model}, or a folder with {FILE}"
        )
    require_memory(COPIES * file.stat().st_size, file)
    try:
        found = load_file(file)
    except SafetensorError as error:
        raise ConfigError(
            f"perception.weights: {file}: expected a safetensors file, got an error: {error}"
        ) from None
    expected = network.state_dict()
    missing = [name for name in expected if name not in found]
    other = [name for name in expected if name in found and found[name].shape != expected[name].shape]
    if missing or other:
        what = f"it has no {missing[0]}" if missing else f"{other[0]} has another shape"
        raise ConfigError(f"perception.weights: {file}: these are not the weights of {model}: {what}")
    network.load_state_dict({name: found[name] for name in expected})
