"""Tensors in a state dictionary that training does not change by gradients."""

from __future__ import annotations

import re

from nht_theory.checkpoints.stored_tensor import StoredTensor

_STATISTICS = re.compile(r"(^|\.)(running_mean|running_var|num_batches_tracked|n_averaged)$")
_MASK = re.compile(
    r"(^|\.)(masked_bias|(\w*_)?mask|tril|triu|relative_position_index|rel_pos_index)$"
)
_POSITIONS = re.compile(
    r"(^|\.)(position_ids|token_type_ids|inv_freq|original_inv_freq|freqs_cis|freqs|cos_cached"
    r"|sin_cached|cos|sin|pe|pos_table|position_table|_float_tensor|relative_coords_table"
    r"|sinusoid\w*|rotary_emb\.\w+)$"
)


def why_not_parameter(tensor: StoredTensor) -> str | None:
    """Why a tensor is no trained parameter, or None where it is one.

    State dictionaries hold buffers beside parameters and do not say which is which; names, types
    and shapes do: running statistics of batch normalisation, causal masks (also GPT-2's
    ``attn.bias`` of shape [1, 1, n, n]), fixed tables of positions, integers and booleans.
    """
    name, shape = tensor.name, tensor.shape
    if _STATISTICS.search(name):
        return "running statistics, no parameter"
    square = len(shape) == 4 and shape[:2] == (1, 1) and shape[2] == shape[3]
    if _MASK.search(name) or (square and name.endswith("attn.bias")):
        return "a mask, no parameter"
    if _POSITIONS.search(name):
        return "a table of positions, no parameter"
    if tensor.element.kind == "integer":
        return f"{tensor.element.name} elements, no parameter"
    return None
