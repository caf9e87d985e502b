"""Loads once what is slow to load, so that byte code and what numba keeps on disk are in the image;
postBuild runs it.
"""

import time

import numpy as np


def main() -> None:
    """Import the slow packages and draw the smallest map."""
    start = time.perf_counter()
    import openTSNE
    import plotly.graph_objects
    import sklearn.manifold
    import torch
    import torchvision
    import umap

    import ddlab.explorers
    import ddlab.lessons

    for module in (openTSNE, plotly, sklearn, torch, torchvision, umap, ddlab):
        print(f"{module.__name__} {getattr(module, '__version__', '')}")
    # numba compiles while the first map is made; the parts that it keeps are ready for the next
    # one.
    points = np.random.default_rng(0).normal(size=(40, 5)).astype(np.float32)
    umap.UMAP(n_neighbors=5, n_epochs=1, random_state=0, n_jobs=1).fit(points)
    print(f"warm after {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
