"""The models that a configuration can name."""

MODELS = {
    "transformer": "nht_train.models.transformer:Transformer",
}
"""name -> module:class; what the task decides (``classes`` ...) is passed by name."""
