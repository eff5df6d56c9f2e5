"""Names of tensors: sets of weights, prefixes of wrappers, and names that are no parameter."""

from __future__ import annotations

from collections.abc import Sequence

from nht_theory.checkpoints.notes import Note, NoteKind
from nht_theory.checkpoints.stored_tensor import StoredTensor

LIVE = "live"
"""The weights being trained."""
EMA = "ema"
"""Their moving average."""

_ANYWHERE = (
    "_orig_mod.",
    "_forward_module.",
    "_fsdp_wrapped_module.",
    "_checkpoint_wrapped_module.",
)
"""Left by torch.compile, Lightning strategies, FSDP and activation checkpointing."""
_LEADING = ("module.", "model.", "_module.")
"""Left by DistributedDataParallel and by modules that hold the network; only off every name."""


def stripped_names(names: Sequence[str]) -> tuple[dict[str, str], tuple[Note, ...]]:
    """Stored name -> name in the model, and notes that show what was taken off.

    Prefixes are taken off in any order and depth: those that only a wrapper writes wherever they
    stand, the others only where every name begins with them. Where two names would become one,
    nothing is taken off.

    Example:
        >>> stripped_names(["module._orig_mod.fc.weight", "module._orig_mod.fc.bias"])[0]
        {'module._orig_mod.fc.weight': 'fc.weight', 'module._orig_mod.fc.bias': 'fc.bias'}
    """
    current = {name: name for name in names}
    taken: list[str] = []
    for part in _ANYWHERE:
        if any(part in name for name in names):
            current = {name: now.replace(part, "") for name, now in current.items()}
            taken.append(part)
    changed = True
    while changed and current:
        changed = False
        for prefix in _LEADING:
            # A lone tensor called "model.weight" would leave a name without a module: still good.
            if all(now.startswith(prefix) and now != prefix for now in current.values()):
                current = {name: now[len(prefix) :] for name, now in current.items()}
                taken.append(prefix)
                changed = True
    if len(set(current.values())) < len(current) or not all(current.values()):
        clash = Note(NoteKind.NAMES_KEPT, taken="".join(taken))
        return {name: name for name in names}, (clash,)
    if not taken:
        return current, ()
    first = next((n for n, now in current.items() if n != now), names[0])
    shown = ", ".join(dict.fromkeys(taken))
    return current, (Note(NoteKind.NAMES_STRIPPED, taken=shown, name=first, now=current[first]),)


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
