"""Readers of log formats, one module each; each returns :class:`nht_theory.runs.record.Record`."""
