"""The sets of weights that a checkpoint may hold, by the names a user gives them."""

LIVE = "live"
"""The weights being trained."""
EMA = "ema"
"""Their moving average."""
