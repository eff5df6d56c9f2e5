"""The tasks that a configuration can name."""

TASKS = {
    "modular_addition": "nht_train.tasks.modular:modular_addition",
    "modular_subtraction": "nht_train.tasks.modular:modular_subtraction",
    "modular_multiplication": "nht_train.tasks.modular:modular_multiplication",
    "modular_division": "nht_train.tasks.modular:modular_division",
    "permutation_operation": "nht_train.tasks.permutations:permutation_operation",
    "sparse_parity": "nht_train.tasks.parity:sparse_parity",
    "coloured_images": "nht_train.tasks.coloured_images:coloured_images",
    "waterbirds": "nht_train.tasks.spurious_groups:waterbirds",
    "celeba": "nht_train.tasks.spurious_groups:celeba",
}
"""name -> module:function, where the function returns a :class:`nht_train.tasks.task.Task`."""
