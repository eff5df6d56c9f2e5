"""The paper's studies, run here and judged: ``python -m validation.studies NAME``.

A study is a TOML file of this folder. :mod:`catalogue` says what each one answers; ``training``
makes its data, its forecasts and its runs; ``judge`` reads the runs and writes the results that are
committed; ``page`` writes the tables of its page from these alone.
"""
