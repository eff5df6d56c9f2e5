"""An optimiser and its schedule as the theory sees them: shrink factor, clock, floor."""
