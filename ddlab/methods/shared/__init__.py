"""What several methods share: steps, losses, pools, labels, and the front door `distill`.

A helper stands here as soon as a second method, a page or the front door reads it. Helpers know no
method by name; methods import them, never the other way round.
"""
