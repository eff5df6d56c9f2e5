"""The models that a configuration can name."""

MODELS = {
    "transformer": "nht_train.models.transformer:Transformer",
    "mlp": "nht_train.models.mlp:MLP",
    "cnn": "nht_train.models.cnn:SixLayerCNN",
    "resnet18": "nht_train.models.resnet18:resnet18",
}
"""name -> module:class; what the task decides (``classes`` ...) is passed by name."""
