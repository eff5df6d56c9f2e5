"""How much a file may ask of the machine before it is refused.

Each limit is several times above what the largest public models need, and low enough that a
hostile file is refused within a second and 200 MB.
"""

HEADER_BYTES = 8_000_000
"""Of a safetensors header or an index (a model of 405 billion parameters needs 0.1 MB)."""
HEADER_BRACKETS = 300_000
"""Opening brackets in such a header: three for each tensor."""
DIMENSIONS = 32
"""Of a tensor."""
PICKLE_INSTRUCTIONS = 700_000
"""In a pickle: about thirty-five for each tensor."""
PICKLE_TEXT_BYTES = 65_536
"""Of one string or number in a pickle; longer ones are passed over, not read."""
ARCHIVE_MEMBERS = 50_000
"""Of a zip archive: one for each tensor."""
TREE_NODES = 200_000
"""Containers looked through for weights."""
DIRECTORY_ENTRIES = 200_000
"""Files and directories below the one that was given."""
DIRECTORY_DEPTH = 12
"""Levels below the directory that was given."""
