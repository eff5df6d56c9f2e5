"""``python -m nht_theory.cli``: the command line where the script ``nht`` is not on the path."""

from nht_theory.cli import main

main()
