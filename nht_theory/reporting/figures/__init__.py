"""The figures of the toolkit: each builder takes the estimates of a study and returns a
:class:`nht_theory.reporting.marks.Figure`, or the reason why these data do not allow it."""
