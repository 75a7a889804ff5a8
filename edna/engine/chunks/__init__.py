"""Large disguises in chunks: each an atomic disguise of some of the rows, with bags under a locator of its own.

The locators follow from that of the receipt, which is the first chunk's; all are listed for the principal. Invariants: a row is
in one chunk with all that the disguise does to it, so that a chunk is undone without the earlier ones; what refers to a row is
disguised before it, and what leads a step to its rows after the step; the principal's own row is in the last chunk. Chunks are
revealed from the last to the first, and none is erased before a later one, so that the numbers of those left have no gaps.
"""
