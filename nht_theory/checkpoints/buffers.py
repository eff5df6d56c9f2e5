"""Tensors in a state dictionary that training does not change by gradients."""

from __future__ import annotations

from nht_theory.checkpoints.stored_tensor import StoredTensor

_STATISTIC_NAMES = "running_mean running_var num_batches_tracked n_averaged"
_STATISTICS = frozenset(_STATISTIC_NAMES.split())
_MASK_NAMES = "masked_bias mask tril triu relative_position_index rel_pos_index"
_MASKS = frozenset(_MASK_NAMES.split())
_POSITION_NAMES = """
position_ids token_type_ids inv_freq original_inv_freq freqs_cis freqs cos_cached sin_cached cos sin
pe pos_table position_table _float_tensor relative_coords_table
"""
_POSITIONS = frozenset(_POSITION_NAMES.split())


def why_not_parameter(tensor: StoredTensor) -> str | None:
    """Why a tensor is no trained parameter, or None where it is one.

    State dictionaries hold buffers beside parameters and do not say which is which; names, types
    and shapes do: running statistics of batch normalisation, causal masks (also GPT-2's
    ``attn.bias`` of shape [1, 1, n, n]), fixed tables of positions, integers and booleans.
    """
    parent, _, leaf = tensor.name.rpartition(".")
    shape = tensor.shape
    if leaf in _STATISTICS:
        return "running statistics, no parameter"
    square = len(shape) == 4 and shape[:2] == (1, 1) and shape[2] == shape[3]
    if leaf in _MASKS or leaf.endswith("_mask") or (square and tensor.name.endswith("attn.bias")):
        return "a mask, no parameter"
    if leaf in _POSITIONS or leaf.startswith("sinusoid") or parent.endswith("rotary_emb"):
        return "a table of positions, no parameter"
    if tensor.element.kind == "integer":
        return f"{tensor.element.name} elements, no parameter"
    return None
