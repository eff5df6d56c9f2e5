"""What wrappers put before parameter names, and its removal."""

from __future__ import annotations

from collections.abc import Sequence

from nht_theory.checkpoints.notes import Note, NoteKind

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
