"""Numbers of the papers' tables that sentences are read against, as printed; accuracies in percent."""

from __future__ import annotations

import math

NONE = math.nan  # a cell without a number

# FADRM, Table 1: (set, images per class) -> for ResNet-18, 50 and 101: RDED, EDC, CV-DD, FADRM, FADRM+.
FADRM_1: dict[tuple[str, int], tuple[tuple[float, ...], ...]] = {
    ("CIFAR-100", 1): ((17.1, 39.7, 28.3, 31.8, 40.6), (10.9, 36.1, 28.7, 27.3, 37.4), (11.2, 32.3, 29.0, 29.2, 40.1)),
    ("CIFAR-100", 10): ((56.9, 63.7, 62.7, 67.4, 67.9), (41.6, 62.1, 61.5, 66.5, 67.4), (54.1, 61.7, 63.8, 68.3, 68.9)),
    ("CIFAR-100", 50): ((66.8, 68.6, 67.1, 71.0, 71.3), (64.0, 69.4, 68.2, 71.5, 72.1), (67.9, 68.5, 67.6, 71.9, 72.1)),
    ("Tiny-ImageNet", 1): ((11.8, 39.2, 30.6, 28.6, 40.4), (8.2, 35.9, 25.1, 28.4, 39.4), (9.6, 40.6, 28.0, 27.9, 41.9)),
    ("Tiny-ImageNet", 10): ((41.9, 51.2, 47.8, 48.9, 52.8), (38.4, 50.2, 43.8, 47.3, 53.7), (22.9, 51.6, 47.4, 47.8, 53.6)),
    ("Tiny-ImageNet", 50): ((58.2, 57.2, 54.1, 56.4, 58.7), (45.6, 58.8, 54.7, 57.0, 60.3), (41.2, 58.6, 54.1, 57.2, 60.8)),
    ("ImageNette", 1): ((35.8, NONE, 36.2, 36.2, 39.2), (27.0, NONE, 27.6, 31.1, 31.9), (25.1, NONE, 25.3, 26.3, 29.3)),
    ("ImageNette", 10): ((61.4, NONE, 64.1, 64.8, 69.0), (55.0, NONE, 61.4, 64.1, 68.1), (54.0, NONE, 61.0, 61.9, 63.7)),
    ("ImageNette", 50): ((80.4, NONE, 81.6, 83.6, 84.6), (81.8, NONE, 82.0, 84.1, 85.4), (75.0, NONE, 80.0, 80.3, 82.3)),
    ("ImageWoof", 1): ((20.8, NONE, 21.4, 21.0, 22.8), (17.8, NONE, 19.1, 19.5, 19.9), (19.6, NONE, 19.9, 20.0, 21.8)),
    ("ImageWoof", 10): ((38.5, NONE, 49.3, 44.5, 57.3), (35.2, NONE, 47.8, 44.9, 54.1), (31.3, NONE, 42.6, 40.4, 51.4)),
    ("ImageWoof", 50): ((68.5, NONE, 71.9, 72.3, 72.6), (67.0, NONE, 71.2, 71.0, 71.7), (59.1, NONE, 69.9, 70.3, 70.6)),
    ("ImageNet-1k", 1): ((6.6, 12.8, 9.2, 9.0, 14.7), (8.0, 13.3, 10.0, 12.2, 16.2), (5.9, 12.2, 7.0, 6.8, 14.1)),
    ("ImageNet-1k", 10): ((42.0, 48.6, 46.0, 48.4, 50.9), (49.7, 54.1, 51.3, 54.5, 57.5), (48.3, 51.7, 51.7, 54.8, 58.1)),
    ("ImageNet-1k", 50): ((56.5, 58.0, 59.5, 60.1, 61.2), (62.0, 64.3, 63.9, 65.4, 66.9), (61.2, 64.9, 62.7, 66.0, 67.0)),
}  # fmt: skip
# FADRM, Table 2: seconds per image and gigabytes; then accuracy by student, the best other method's and FADRM+'s.
FADRM_2_COST = {
    "SRe2L++": (2.52, 5.3),
    "FADRM": (0.47, 2.9),
    "G-VBSM": (17.28, 21.4),
    "CV-DD": (8.20, 23.4),
    "EDC": (4.99, 17.9),
    "FADRM+": (1.09, 11.0),
}
FADRM_2_STUDENTS = {
    "ResNet-18": (48.6, 50.0), "ResNet-50": (54.1, 57.5), "ResNet-101": (51.7, 58.1), "EfficientNet-B0": (51.1, 51.9),
    "MobileNetV2": (45.0, 45.5), "ShuffleNetV2": (29.8, 30.2), "Swin-Tiny": (38.3, 39.1), "Wide ResNet50-2": (53.9, 59.1),
    "DenseNet-121": (50.9, 55.4), "DenseNet-169": (53.6, 58.5), "DenseNet-201": (54.8, 59.7),
}  # fmt: skip
FADRM_3 = ((48.4, 47.7), (50.9, 50.0), (60.1, 59.8), (61.2, 60.1))  # 1 x 1 and 2 x 2 patches
FADRM_4_MS = (0.63, 0.26)  # per image and iteration, FADRM without and with mixed precision; SRe2L++ has the same two
FADRM_4_GB = (5.3, 2.9)
# FADRM, Table 5: neither, multi-resolution alone, then both with alpha = .9 to .4; for one teacher and for four. Seconds: without, with.
FADRM_5 = ((46.4, 46.2, 45.7, 46.4, 47.6, 47.3, 47.7, 47.4), (48.7, 48.2, 48.5, 48.0, 48.9, 49.3, 50.0, 49.5))
FADRM_5_SECONDS = ((0.52, 0.47), (1.16, 1.09))
FADRM_6_MERGES = ((47.1, 47.6, 47.8, 47.6, 47.4, 47.3), (59.2, 60.9, 61.5, 60.5, 59.4, 57.9))  # k = 1 to 6
FADRM_6_SIZES = {160: (47.2, 0.42), 180: (47.5, 0.44), 200: (47.7, 0.47), 224: (47.7, 0.52)}  # accuracy and seconds

# Boost: the best other method's accuracy and its own, ConvNet first. Table 1: columns as printed (ViT last).
BOOST_1 = {
    "CIFAR-100": ((47.00, 52.41), (27.78, 35.35), (21.20, 20.90), (33.71, 36.88), (11.99, 24.14), (20.82, 23.33)),
    "CIFAR-10": ((72.14, 76.83), (51.96, 59.60), (45.28, 44.12), (57.71, 62.45), (34.95, 48.73), (45.05, 47.06)),
    "CUB2011": ((10.43, 12.24), (6.58, 8.92), (2.91, 3.59), (8.09, 8.27), (2.04, 4.37), (2.74, 3.99)),
    "Stanford Dogs": ((13.42, 15.34), (7.84, 9.36), (5.00, 5.01), (8.69, 8.87), (2.82, 5.48), (3.97, 5.06)),
}
# Boost, Table 2: CIFAR-100, a ConvNet; accuracy and standard deviation over three runs by budget N, None where there is none.
BOOST_2_BUDGETS = (25, 50, 100, 1000, 5000)
BOOST_2_RUNS: dict[str, tuple[tuple[float, float] | None, ...]] = {
    "Random": ((41.61, 0.45), (41.80, 0.33), (43.66, 0.57), (49.82, 0.62), (52.76, 0.80)),
    "KMeans": ((39.96, 0.93), (41.68, 0.59), (43.94, 0.34), (49.77, 0.37), (52.80, 0.76)),
    "DSA": (None, None, (39.38, 0.49), (36.16, 0.80), (36.25, 0.61)),
    "DM": (None, None, (31.93, 1.06), (34.96, 2.92), (38.76, 1.85)),
    "IDM": (None, None, (38.71, 0.70), (37.21, 0.89), (42.19, 1.02)),
    "DATM": (None, None, (38.73, 0.31), (44.98, 0.27), (46.23, 0.26)),
    "KRR-ST": ((44.06, 0.41), (45.79, 0.27), (47.00, 0.51), (51.89, 0.21), (52.49, 0.77)),
    "Boost": ((51.41, 0.47), (52.08, 0.08), (52.41, 0.10), (53.54, 0.58), (55.53, 0.64)),
}
BOOST_2 = {  # N -> the best other method, Boost
    budget: (max(cell[0] for cell in cells[:-1] if cell), cells[-1][0])
    for budget, cells in zip(BOOST_2_BUDGETS, zip(*BOOST_2_RUNS.values(), strict=True), strict=True)
}
BOOST_2_SUPERVISED = {name: tuple(cell[0] for cell in BOOST_2_RUNS[name] if cell) for name in ("DSA", "IDM")}
BOOST_2_FULL_DATA = 59.54  # the same ConvNet, pre-trained on all of CIFAR-100
# Tables 3, 4 and 12: CIFAR-100, N = 100; accuracy and standard deviation.
BOOST_3_RUNS = {"KRR-ST": (47.00, 0.51), "with bases": (48.57, 0.18), "with augmentation as well": (52.41, 0.10)}
BOOST_3 = tuple(accuracy for accuracy, _ in BOOST_3_RUNS.values())
BOOST_4_RUNS = {  # what the bases start from; coefficients: random, random, projections
    "random": (22.05, 3.04),
    "real": (30.99, 0.25),
    "principal components": (52.41, 0.10),
}
BOOST_4 = {name: accuracy for name, (accuracy, _) in BOOST_4_RUNS.items()}
BOOST_5 = {  # (set, N) -> image bases U, representation bases V, weight decay of pre-training on the distilled set
    ("CIFAR-100", 25): (50, 50, 1e-3), ("CIFAR-100", 50): (100, 100, 1e-3), ("CIFAR-100", 100): (200, 200, 1e-3),
    ("CIFAR-100", 1000): (500, 500, 1e-4), ("CIFAR-100", 5000): (700, 500, 1e-4),
    ("TinyImageNet", 50): (100, 100, 5e-3), ("TinyImageNet", 100): (200, 200, 5e-3), ("TinyImageNet", 200): (400, 400, 5e-3),
    ("ImageNet", 250): (500, 500, 5e-3),
}  # fmt: skip
BOOST_6 = {
    "TinyImageNet": ((28.54, 29.54), (14.66, 25.12), (14.78, 16.75), (10.28, 23.28), (6.51, 14.02)),
    "CUB2011": ((11.59, 11.11), (8.27, 10.58), (3.70, 5.17), (5.24, 9.78), (2.17, 5.78)),
    "Stanford Dogs": ((14.52, 14.62), (8.79, 12.29), (4.79, 6.60), (5.99, 11.30), (2.97, 7.21)),
}
BOOST_7 = {50: (25.29, 28.03), 100: (25.64, 29.35), 200: (27.23, 31.25)}
BOOST_8 = {
    "ImageNet": ((16.75, 21.17), (10.22, 14.80), (6.19, 8.04), (6.81, 11.31), (3.18, 10.72)),
    "TinyImageNet": ((29.17, 33.04), (19.03, 27.23), (13.84, 18.89), (9.12, 18.83), (7.84, 22.35)),
    "CUB2011": ((12.32, 12.08), (10.44, 11.70), (3.78, 6.04), (4.90, 10.87), (2.66, 9.10)),
    "Stanford Dogs": ((15.90, 17.20), (10.62, 12.80), (4.97, 7.83), (6.27, 11.74), (3.67, 10.84)),
}
BOOST_11_SHIFTS = {  # how the representations of views follow from the images'; accuracy, mean square error (none where all are stored)
    "same": (50.10, 0.31), "bias": (50.32, 0.30), "networks of width 2": (52.30, 0.07), "networks of width 4": (52.41, 0.06),
    "networks of width 8": (51.19, 0.04), "stored": (53.51, NONE),
}  # fmt: skip
BOOST_11 = tuple(row for row in BOOST_11_SHIFTS.values() if not math.isnan(row[1]))
BOOST_12_RUNS = {"none": (48.57, 0.18), "rotation": (52.41, 0.10), "jigsaw": (50.93, 0.21), "crop": (51.03, 0.40)}
BOOST_12 = {kind: accuracy for kind, (accuracy, _) in BOOST_12_RUNS.items()}
BOOST_13 = {"KRR-ST": (4483, 189), "Boost": (6917, 205)}  # megabytes and minutes

# ReLA, Table 2: (set, percent of its images in an epoch) -> BYOL; ReLA with an untrained prior, BYOL's of CIFAR-10, CIFAR-100,
# Tiny-ImageNet and ImageNet-1K, CLIP RN50.
RELA_2: dict[tuple[str, int], tuple[float, ...]] = {
    ("CIFAR-10", 1): (39.8, 51.1, 54.1, 51.6, 52.5, 51.1, 52.4),
    ("CIFAR-10", 10): (56.1, 65.2, 80.8, 75.7, 78.5, 82.2, 83.2),
    ("CIFAR-10", 20): (65.5, 75.2, 82.1, 80.7, 81.7, 84.2, 83.9),
    ("CIFAR-100", 1): (14.1, 24.1, 25.8, 25.3, 25.4, 24.9, 24.5),
    ("CIFAR-100", 10): (30.0, 36.7, 51.3, 52.1, 53.6, 55.6, 56.9),
    ("CIFAR-100", 20): (33.1, 45.4, 54.0, 53.0, 56.4, 58.5, 57.0),
    ("Tiny-ImageNet", 1): (8.5, 18.0, 21.4, 22.8, 24.4, 23.6, 20.7),
    ("Tiny-ImageNet", 10): (26.4, 31.2, 35.8, 33.5, 39.0, 39.5, 42.2),
    ("Tiny-ImageNet", 20): (27.8, 34.6, 38.7, 39.0, 40.1, 42.3, 42.6),
    ("ImageNet-1K", 1): (7.0, 18.3, 25.1, 23.3, 32.7, 33.9, 39.2),
    ("ImageNet-1K", 10): (45.2, 51.3, 52.9, 52.5, 53.3, 52.3, 52.6),
    ("ImageNet-1K", 20): (53.6, 54.6, 56.0, 56.0, 56.6, 56.5, 57.7),
}
RELA_2_FULL = {"CIFAR-10": 82.8, "CIFAR-100": 51.7, "Tiny-ImageNet": 43.9, "ImageNet-1K": 62.0}  # BYOL on all images
RELA_5_HALF = 62.2  # section 5.2: ImageNet-1K, half of the images, ResNet-50, prior CLIP ViT B/16
# ReLA, Table 3, 10% of the images: (set, network) -> BYOL; ReLA with CLIP RN50, RN101, RN50x4, ViT B/32, ViT B/16, ViT L/14.
RELA_3: dict[tuple[str, str], tuple[float, ...]] = {
    ("CIFAR-10", "ResNet-18"): (55.1, 83.2, 83.0, 83.8, 85.1, 85.3, 85.2),
    ("CIFAR-10", "MobileNet-V2"): (41.8, 81.0, 83.5, 83.3, 85.7, 85.7, 84.2),
    ("CIFAR-10", "EfficientNet-B0"): (23.8, 81.0, 85.0, 86.0, 87.2, 87.7, 87.4),
    ("CIFAR-10", "ViT T/16"): (45.0, 63.9, 65.5, 64.2, 64.5, 65.0, 62.9),
    ("Tiny-ImageNet", "ResNet-18"): (25.3, 42.2, 40.3, 41.6, 42.4, 43.4, 41.9),
    ("Tiny-ImageNet", "MobileNet-V2"): (6.9, 33.0, 44.2, 40.8, 43.2, 42.4, 35.0),
    ("Tiny-ImageNet", "EfficientNet-B0"): (0.7, 41.8, 33.3, 39.8, 40.8, 48.4, 23.8),
    ("Tiny-ImageNet", "ViT T/16"): (14.9, 34.5, 32.7, 32.5, 31.7, 32.0, 29.3),
}
# ReLA, Table 4, 10% of the images, ResNet-18: set -> objective -> alone, with an untrained prior, with CLIP RN50.
RELA_4: dict[str, dict[str, tuple[float, float, float]]] = {
    "CIFAR-10": {
        "SimCLR": (71.2, 71.4, 82.1), "Barlow Twins": (63.6, 65.5, 66.7), "DINO": (64.1, 70.8, 80.5), "MoCo": (66.4, 71.2, 75.7),
        "SimSiam": (50.0, 68.1, 85.1), "SwAV": (66.3, 72.4, 81.1), "VICReg": (68.7, 70.6, 74.6),
    },
    "Tiny-ImageNet": {
        "SimCLR": (13.8, 31.8, 39.2), "Barlow Twins": (28.3, 28.1, 28.4), "DINO": (26.0, 31.4, 36.6), "MoCo": (27.7, 33.0, 35.1),
        "SimSiam": (16.4, 30.8, 44.9), "SwAV": (18.4, 32.8, 41.5), "VICReg": (7.8, 31.9, 32.3),
    },
}  # fmt: skip
# ReLA, Table 6: (set, images per class) -> for ConvNet, ResNet-18 and 50: (the best of G-VBSM, SRe2L and RDED, ReLA).
RELA_6: dict[tuple[str, int], tuple[tuple[float, float], ...]] = {
    ("CIFAR-10", 1): ((28.9, 40.3), (27.8, 35.0), (24.8, 31.7)), ("CIFAR-10", 10): ((56.0, 67.0), (47.3, 74.7), (45.1, 70.9)),
    ("CIFAR-10", 50): ((71.1, 77.3), (76.4, 89.2), (74.1, 88.5)), ("CIFAR-100", 1): ((21.8, 32.5), (13.4, 31.7), (12.6, 27.8)),
    ("CIFAR-100", 10): ((47.0, 51.3), (53.4, 64.8), (54.0, 66.2)), ("CIFAR-100", 50): ((55.3, 56.3), (64.0, 68.8), (65.8, 69.6)),
    ("Tiny-ImageNet", 1): ((17.0, 27.0), (15.4, 24.2), (14.8, 23.2)), ("Tiny-ImageNet", 10): ((41.2, 42.9), (48.4, 55.8), (50.2, 58.1)),
    ("Tiny-ImageNet", 50): ((47.1, 47.4), (57.4, 59.9), (59.2, 61.5)), ("ImageNet-1K", 1): ((5.2, 10.8), (5.9, 5.9), (6.8, 5.9)),
    ("ImageNet-1K", 10): ((22.6, 32.2), (41.1, 48.5), (46.2, 48.5)), ("ImageNet-1K", 50): ((38.8, 52.9), (55.3, 61.3), (62.5, 61.3)),
}  # fmt: skip
