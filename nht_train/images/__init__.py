"""Image sets as they lie on disks: readers, checkers, coloured borders, synthetic stand-ins."""
