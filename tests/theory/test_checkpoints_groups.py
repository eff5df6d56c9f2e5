"""Parameter groups against models whose layers are known."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nht_theory.checkpoints.groups import parameter_groups
from nht_theory.errors import InputError

torch = pytest.importorskip("torch")
nn = torch.nn


def shapes_of(model, order=None):
    shapes = {name: tuple(p.shape) for name, p in model.named_parameters()}
    return dict(sorted(shapes.items())) if order == "sorted" else shapes


def groups_of(shapes, partition, decayed=None):
    found = parameter_groups(shapes, decayed)
    return {g.name: set(g.parameter_names) for g in found if g.partition == partition}


class ConvolutionalNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 8, 3), nn.BatchNorm2d(8)
        )
        self.classifier = nn.Linear(8, 2)


class OneBlockTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.token_embedding = nn.Embedding(7, 8)
        self.position_embedding = nn.Embedding(3, 8)
        self.layers = nn.ModuleList([nn.TransformerEncoderLayer(8, 2, 16) for _ in range(2)])
        self.final_norm = nn.LayerNorm(8)
        self.head = nn.Linear(8, 7)


@pytest.mark.parametrize("order", [None, "sorted"])
def test_transformer_layers(order):
    groups = groups_of(shapes_of(OneBlockTransformer(), order), "layer")
    assert list(groups) == ["embedding", "layers.0", "layers.1", "head"]
    assert groups["embedding"] == {"token_embedding.weight", "position_embedding.weight"}
    assert groups["head"] == {"head.weight", "head.bias"}
    assert {"final_norm.weight", "layers.1.linear1.weight"} <= groups["layers.1"]


@pytest.mark.parametrize("order", [None, "sorted"])
def test_convolutional_net(order):
    shapes = shapes_of(ConvolutionalNet(), order)
    groups = groups_of(shapes, "layer")
    assert groups == {
        "layers.0": {f"features.{i}.{leaf}" for i in (0, 1) for leaf in ("weight", "bias")},
        "layers.1": {f"features.{i}.{leaf}" for i in (3, 4) for leaf in ("weight", "bias")},
        "head": {"classifier.weight", "classifier.bias"},
    }
    invariant = groups_of(shapes, "normalization")["scale_invariant"]
    assert invariant == {f"features.{i}.{leaf}" for i in (0, 3) for leaf in ("weight", "bias")}


@pytest.mark.parametrize("order", [None, "sorted"])
def test_resnet18(order):
    torchvision = pytest.importorskip("torchvision")
    model = torchvision.models.resnet18(num_classes=10)
    shapes = shapes_of(model, order)
    groups = groups_of(shapes, "layer")
    assert list(groups) == [f"layers.{i}" for i in range(9)] + ["head"]
    assert groups["layers.0"] == {"conv1.weight", "bn1.weight", "bn1.bias"}
    assert all(name.startswith("layer4.1.") for name in groups["layers.8"])
    # Every convolution of a ResNet is followed by batch normalisation.
    convolutions = {name for name, shape in shapes.items() if len(shape) == 4}
    assert groups_of(shapes, "normalization")["scale_invariant"] == convolutions


@pytest.mark.parametrize("order", [None, "sorted"])
def test_scale_invariant_weights_really_are(order):
    torch.manual_seed(0)
    model = ConvolutionalNet().double()
    for index in (1, 4):
        model.features[index].eps = 1e-15
    x = torch.randn(4, 3, 8, 8, dtype=torch.float64)
    before = model.features(x)
    names = groups_of(shapes_of(model, order), "normalization")["scale_invariant"]
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name in names:
                parameter.mul_(3.0)
    assert torch.allclose(model.features(x), before)


def test_normalisation_before_the_convolution_is_not_claimed():
    preactivation = {
        "bn1.weight": (4,),
        "bn1.bias": (4,),
        "conv1.weight": (8, 4, 3, 3),
        "bn2.weight": (8,),
        "bn2.bias": (8,),
        "conv2.weight": (8, 8, 3, 3),
    }
    assert groups_of(preactivation, "normalization") == {}
    assert groups_of(dict(sorted(preactivation.items())), "normalization") == {}


def test_multilayer_perceptron_without_names():
    model = nn.Sequential(nn.Linear(2, 5), nn.ReLU(), nn.Linear(5, 5), nn.ReLU(), nn.Linear(5, 1))
    groups = groups_of(shapes_of(model), "layer")
    assert list(groups) == ["layers.0", "layers.1", "head"]
    assert groups["head"] == {"4.weight", "4.bias"}


def test_ten_follows_nine_when_order_is_lost():
    shapes = {f"blocks.{i}.fc.weight": (2, 2) for i in range(12)}
    groups = groups_of(dict(sorted(shapes.items())), "layer")
    assert groups["layers.10"] == {"blocks.10.fc.weight"}


def test_decay_from_the_optimiser_wins_over_dimensions():
    shapes = {"a.weight": (2, 2), "a.bias": (2,)}
    assert groups_of(shapes, "decay") == {"decayed": {"a.weight"}, "not_decayed": {"a.bias"}}
    assert groups_of(shapes, "decay", {"a.bias"}) == {
        "decayed": {"a.bias"},
        "not_decayed": {"a.weight"},
    }
    assert groups_of(shapes, "decay", set(shapes)) == {"decayed": set(shapes)}


@pytest.mark.parametrize("wrapper", ["module.", "net._orig_mod."])
def test_what_is_wrapped_around_a_model_changes_no_layer(wrapper):
    shapes = {"fc1.weight": (4, 3), "fc1.bias": (4,), "fc2.weight": (4, 4), "out.weight": (2, 4)}
    expected = groups_of(shapes, "layer")
    assert len(expected) == 3
    wrapped = {wrapper + name: shape for name, shape in shapes.items()}
    assert groups_of(wrapped, "layer") == {
        layer: {wrapper + name for name in names} for layer, names in expected.items()
    }


def test_unknown_decayed_name_is_an_error():
    with pytest.raises(InputError, match=r"'b\.weight' is not among"):
        parameter_groups({"a.weight": (2, 2)}, ["b.weight"])
    with pytest.raises(InputError, match="no parameter"):
        parameter_groups({})


NAME = st.lists(
    st.sampled_from(
        ["layers", "0", "1", "conv1", "bn1", "head", "embed", "norm", "weight", "bias"]
    ),
    min_size=1,
    max_size=5,
).map(".".join)


@given(st.dictionaries(NAME, st.lists(st.integers(0, 5), max_size=4).map(tuple), min_size=1))
def test_layers_and_decay_are_partitions(shapes):
    groups = parameter_groups(shapes)
    for partition in ("layer", "decay"):
        members = [n for g in groups if g.partition == partition for n in g.parameter_names]
        assert sorted(members) == sorted(shapes)
    depths = [g.depth for g in groups if g.partition == "layer"]
    assert depths == list(range(len(depths)))
