"""The drawings of the methods and of the field; the box that is at work has the name that a method's `look` says (`Look.running`)."""

from __future__ import annotations

from .drawing import Arrow, Box, Pipeline

SRE2L = Pipeline(
    "SRe2L: squeeze, recover, relabel",
    [
        Box("data", "all images", (0, 0), "data"),
        Box("squeeze", "teacher\n(squeeze)", (1, 0), "network"),
        Box("noise", "noise", (0, 1), "data"),
        Box("recover", "few images\n(recover)", (1, 1), "images"),
        Box("loss", "cross-entropy\n+ two gaps", (2, 1), "loss"),
        Box("relabel", "soft labels\n(relabel)", (2, 0), "labels"),
        Box("student", "student", (3, 0.5), "result"),
    ],
    [
        Arrow("data", "squeeze", "train"),
        Arrow("noise", "recover", "start"),
        Arrow("recover", "loss"),
        Arrow("loss", "recover", "gradient of the pixels", gradient=True),
        Arrow("squeeze", "loss"),
        Arrow("squeeze", "relabel"),
        Arrow("recover", "relabel"),
        Arrow("relabel", "student"),
    ],
    alt="A teacher is trained on all images and frozen. Noise becomes a few images by gradient steps on the pixels: the teacher is to see "
    "their class, and its batch-norm layers the statistics that they remember. The teacher labels them, and a student learns from both.",
)

DWA = Pipeline(
    "DWA: a push to the weights before each batch",
    [
        Box("data", "all images", (0, 0), "data"),
        Box("teacher", "teacher", (1, 0), "network"),
        Box("batch", "one real image\nof each class", (0, 2), "data"),
        Box("push", "pushed copy,\nK steps uphill", (2, 1), "network"),
        Box("recover", "few images\n(recover)", (1, 2), "images"),
        Box("loss", "cross-entropy\n+ two gaps", (2, 2), "loss"),
        Box("relabel", "soft labels", (3, 0), "labels"),
        Box("student", "student", (3, 1), "result"),
    ],
    [
        Arrow("data", "teacher", "train"),
        Arrow("data", "batch", "draw"),
        Arrow("teacher", "push"),
        Arrow("batch", "recover", "start"),
        Arrow("push", "loss", "frozen"),
        Arrow("recover", "loss"),
        Arrow("loss", "recover", "gradient of the pixels", gradient=True),
        Arrow("teacher", "relabel", "as it was"),
        Arrow("relabel", "student"),
    ],
    alt="As SRe2L, but each batch begins with real images, one of each class, and before it a copy of the teacher climbs K short steps "
    "uphill on the loss of these images. Labels come from the teacher as it was.",
)

FADRM = Pipeline(
    "FADRM: the real patch is merged back in",
    [
        Box("patch", "real patch", (0, 0), "data"),
        Box("teachers", "teacher", (2, 0), "network"),
        Box("small", "images,\nsmall size", (0, 1), "images"),
        Box("recover", "recover\n(one stage)", (1, 1), "images"),
        Box("loss", "cross-entropy\n+ two gaps", (2, 1), "loss"),
        Box("merge", "resize and\nmerge (α)", (1, 0), "images"),
        Box("relabel", "soft labels", (3, 0), "labels"),
        Box("student", "student", (3, 1), "result"),
    ],
    [
        Arrow("patch", "merge", "1 − α"),
        Arrow("patch", "small", "start"),
        Arrow("small", "recover"),
        Arrow("recover", "merge", "α, next\nstage"),
        Arrow("recover", "loss"),
        Arrow("loss", "recover", "gradient of the pixels", gradient=True),
        Arrow("teachers", "loss", "frozen"),
        Arrow("teachers", "relabel"),
        Arrow("relabel", "student"),
    ],
    alt="Images begin as small real patches and are recovered from the teacher in stages. Between two stages they are resized and merged "
    "with the real patch, α of the image and 1 - α of the patch. The teacher labels them, and a student learns from both.",
)

KRR_ST = Pipeline(
    "KRR-ST: images with learned targets",
    [
        Box("real", "real images", (0, 0), "data"),
        Box("teacher", "teacher\nwithout labels", (1, 0), "network"),
        Box("pairs", "images and\ntargets", (0, 1), "images"),
        Box("pool", "pool of networks\n(inner loop)", (1, 1), "network"),
        Box("ridge", "ridge regression\non features", (2, 1), "loss"),
        Box("outer", "squared error\n(outer loss)", (2, 0), "loss"),
        Box("student", "pretrained\nnetwork", (0.6, 2.4), "result"),
    ],
    [
        Arrow("real", "teacher"),
        Arrow("teacher", "outer", "targets"),
        Arrow("pairs", "pool", "train"),
        Arrow("pool", "ridge"),
        Arrow("ridge", "outer", "predict the\nreal images"),
        Arrow("ridge", "pairs", "gradient of images and targets", gradient=True),
        Arrow("pairs", "student", "pre-train"),
    ],
    alt="A pool of networks is trained on the distilled images and their targets. On the features of one of them ridge regression is "
    "solved and predicts a teacher's representations of real images; the gradient of its squared error moves images and targets. "
    "In the end a fresh network is pre-trained on them.",
)

BOOST = Pipeline(
    "Boost: bases, and views that cost little",
    [
        Box("bases", "bases ×\ncoefficients", (0, 1), "images"),
        Box("images", "images", (1, 1), "images"),
        Box("views", "predefined\nviews", (2, 1), "images"),
        Box("pool", "pool of networks\n(inner loop)", (3, 1), "network"),
        Box("shift", "shift models:\nview → target", (2, 0), "labels"),
        Box("teacher", "teacher\nwithout labels", (1, 0), "network"),
        Box("outer", "squared error\n(outer loss)", (3, 0), "loss"),
        Box("student", "pretrained\nnetwork", (2, 2.4), "result"),
    ],
    [
        Arrow("bases", "images", "sum"),
        Arrow("images", "views", "rotate, ..."),
        Arrow("teacher", "shift", "targets"),
        Arrow("views", "shift"),
        Arrow("views", "pool", "train"),
        Arrow("shift", "outer"),
        Arrow("pool", "outer", "ridge"),
        Arrow("views", "student", "pre-train"),
        Arrow("pool", "bases", "gradient of bases and coefficients", gradient=True),
    ],
    alt="Images are sums of few bases. Each image gives several predefined views, and a small shift model says how its target changes from "
    "view to view, so that views cost little storage. Networks learn from the views; ridge regression on their features predicts a "
    "teacher's representations of real images, and the gradient of its error moves bases and coefficients.",
)

DM = Pipeline(
    "DM: the mean features of real and of learned images",
    [
        Box("real", "real images\nof a class", (0, 0), "data"),
        Box("start", "few learned\nimages", (0, 1), "images"),
        Box("network", "fresh network,\nuntrained", (1, 0), "network"),
        Box("match", "distance of the\nmean features", (2, 1), "loss"),
        Box("student", "student, by\nclass numbers", (0.6, 2.2), "result"),
    ],
    [
        Arrow("real", "network"),
        Arrow("start", "network"),
        Arrow("network", "match"),
        Arrow("match", "start", "gradient of the pixels", gradient=True),
        Arrow("start", "student"),
    ],
    alt="Real images of a class and a few learned ones go through a fresh, untrained network. The gradient of the distance between the "
    "means of their features moves the pixels of the learned ones. In the end a student learns from these and their class numbers.",
)

DC = Pipeline(
    "DC and DSA: the gradients of real and of learned images",
    [
        Box("real", "real images\nof a class", (0, 0), "data"),
        Box("start", "few learned\nimages", (0, 1), "images"),
        Box("network", "network, trained\nin between", (1, 0), "network"),
        Box("match", "distance of the\ntwo gradients", (2, 1), "loss"),
        Box("student", "student, by\nclass numbers", (0.6, 2.2), "result"),
    ],
    [
        Arrow("real", "network"),
        Arrow("start", "network"),
        Arrow("network", "match"),
        Arrow("match", "start", "gradient of the pixels", gradient=True),
        Arrow("start", "student"),
    ],
    alt="Real images of a class and a few learned ones each give a gradient of the network's loss. The gradient of the distance between "
    "the two moves the pixels of the learned images; between two matchings the network is trained on these. In the end a student learns "
    "from them and their class numbers.",
)

TOY = Pipeline(
    "Ideal data: which samples and targets teach fastest?",
    [
        Box("mixture", "two Gaussians\n(the truth)", (0, 0), "data"),
        Box("samples", "samples of\nspread Σ", (1, 0), "images"),
        Box("targets", "targets: labels\nor a teacher's", (1, 1), "labels"),
        Box("learner", "small network", (2, 0.5), "network"),
        Box("error", "error on\nthe truth", (3, 0.5), "result"),
    ],
    [
        Arrow("mixture", "samples", "draw"),
        Arrow("mixture", "targets"),
        Arrow("samples", "learner"),
        Arrow("targets", "learner"),
        Arrow("learner", "error", "after each\nupdate"),
    ],
    alt="Samples of a chosen spread are drawn around two Gaussian classes; a share of their targets is relabelled with exact posteriors. A "
    "small network learns from both, one sample at a time, and is measured on the true distribution.",
)

LABELS_AND_IMAGES = Pipeline(
    "What does the work, images or labels?",
    [
        Box("random", "random\nreal images", (0, 0), "data"),
        Box("chosen", "chosen\nreal images", (0, 1), "data"),
        Box("recovered", "recovered\nimages", (0, 2), "images"),
        Box("hard", "class numbers", (1, 0.5), "labels"),
        Box("soft", "a teacher's\nanswers", (1, 1.5), "labels"),
        Box("student", "student", (2, 1), "network"),
        Box("test", "accuracy on\ntest images", (3, 1), "result"),
    ],
    [
        *(Arrow(images, labels) for images in ("random", "chosen", "recovered") for labels in ("hard", "soft")),
        Arrow("hard", "student"),
        Arrow("soft", "student"),
        Arrow("student", "test"),
    ],
    alt="Any of three sets of images is paired with class numbers or with a teacher's answers; a student learns from the pair and is "
    "tested. Swapping one side at a time says which side does the work.",
)

TRIAL = Pipeline(
    "How a claim is tried",
    [
        Box("claim", "a printed\nclaim", (0, 0), "data"),
        Box("effect", "effect and its\nsize, declared", (1, 0), "labels"),
        Box("pairs", "paired draws\nor runs", (2, 0), "images"),
        Box("interval", "mean and\n95% interval", (3, 0), "loss"),
        Box("verdict", "verdict", (4, 0), "result"),
    ],
    [
        Arrow("claim", "effect"),
        Arrow("effect", "pairs"),
        Arrow("pairs", "interval"),
        Arrow("interval", "verdict"),
    ],
    alt="A printed claim becomes an effect with a declared size; paired draws or runs give a mean and its interval; the verdict follows "
    "from the interval and the declared size alone.",
)

RELA = Pipeline(
    "ReLA: a network's answers as targets",
    [
        Box("data", "all images", (0, 0), "data"),
        Box("prior", "any frozen\nnetwork (prior)", (1, 0), "network"),
        Box("targets", "targets,\nmade once", (2, 0), "labels"),
        Box("views", "new tenth each\nepoch, two views", (0, 1), "images"),
        Box("network", "network", (1, 1), "network"),
        Box("rela", "ReLA:\n1 − cos, weight λ", (2, 1), "loss"),
        Box("ssl", "BYOL,\nweight 1 − λ", (1, 2), "loss"),
        Box("probe", "linear probe\non labels", (0, 2), "result"),
    ],
    [
        Arrow("data", "prior"),
        Arrow("prior", "targets", "PCA"),
        Arrow("data", "views", "draw"),
        Arrow("views", "network"),
        Arrow("network", "rela", "W"),
        Arrow("targets", "rela"),
        Arrow("rela", "network", "gradient", gradient=True),
        Arrow("network", "ssl"),
        Arrow("ssl", "network", "gradient", gradient=True),
        Arrow("network", "probe"),
    ],
    alt="A frozen network, the prior, is asked once about every image; the principal components of its answers are the targets. In each "
    "epoch a new tenth of the images is drawn. A fresh network learns from two views of each: by ReLA's loss, the cosine between its "
    "projected features and the target, and by a self-supervised loss such as BYOL. In the end a linear probe reads its features.",
)

KIP = Pipeline(
    "KIP and label solve: kernel regression instead of a network",
    [
        Box("data", "real images\nand labels", (0, 0), "data"),
        Box("kernel", "kernel of an\ninfinite network", (1, 0), "network"),
        Box("images", "few images", (1, 2), "images"),
        Box("labels", "their labels", (3, 1), "labels"),
        Box("regress", "regression\non few images", (2, 0), "network"),
        Box("loss", "error on\nreal images", (3, 0), "loss"),
    ],
    [
        Arrow("data", "kernel"),
        Arrow("images", "kernel"),
        Arrow("kernel", "regress"),
        Arrow("labels", "regress"),
        Arrow("regress", "loss"),
        Arrow("loss", "images", "KIP: gradient\nof the pixels", gradient=True),
        Arrow("loss", "labels", "LS: solved\nat once", gradient=True),
    ],
    alt="The kernel of an infinitely wide network compares few images with each other and with real ones. A regression on the few images "
    "and their labels says of the real images what they show. KIP moves the pixels down the gradient of its error; label solve leaves "
    "the images as they are and solves for the labels at once.",
)

FIELD = Pipeline(
    "A map of the field: what is learned, and against what",
    [
        Box("fresh", "fresh, untrained\nnetworks", (1, 0), "network"),
        Box("statistics", "a network's\nstatistics", (1, 1), "network"),
        Box("patches", "nothing: real\npatches are kept", (1, 2), "data"),
        Box("kernel", "a kernel on\nrepresentations", (1, 3), "network"),
        Box("theory", "a known truth", (1, 4), "data"),
        Box("infinite", "an infinite\nnetwork's kernel", (1, 5), "network"),
        Box("images", "images", (0, 1), "images"),
        Box("bases", "bases and\ntargets", (0, 3), "images"),
        Box("labels", "labels", (0, 4), "labels"),
        Box("points", "images or\ntheir labels", (0, 5), "images"),
        Box("05", "05 DM, DC\n(and DSA)", (2, 0), "result"),
        Box("20", "20 SRe2L\n21 DWA", (2, 1), "result"),
        Box("30", "30 FADRM\n(and RDED)", (2, 2), "result"),
        Box("40", "40 KRR-ST\n41 Boost", (2, 3), "result"),
        Box("10", "10 ReLA's\ntoy worlds", (2, 4), "result"),
        Box("50", "50 KIP\nand LS", (2, 5), "result"),
    ],
    [
        Arrow("images", "fresh"),
        Arrow("images", "statistics", "matched\nto"),
        Arrow("images", "patches"),
        Arrow("bases", "kernel", "solved by"),
        Arrow("labels", "theory", "compared\nwith"),
        Arrow("fresh", "05"),
        Arrow("statistics", "20"),
        Arrow("patches", "30"),
        Arrow("statistics", "30"),
        Arrow("kernel", "40"),
        Arrow("theory", "10"),
        Arrow("points", "infinite", "solved in"),
        Arrow("infinite", "50"),
    ],
    alt="Images that are matched to what fresh networks see or how they would change: lesson 05. Images that are matched to a network's "
    "statistics: lessons 20 and 21. Images merged with real patches: lesson 30. Bases and targets that are solved for by a kernel on "
    "representations: lessons 40 and 41. Labels compared with a known truth: lesson 10. Images, or their labels alone, that are solved for "
    "in the kernel of an infinitely wide network: lesson 50.",
)

METHODS = {
    "squeeze_recover_relabel": SRE2L,
    "directed_weight_adjustment": DWA,
    "data_residual_matching": FADRM,
    "kernel_ridge_self_supervised": KRR_ST,
    "parameterised_self_supervised": BOOST,
    "gradient_matching": DC,
    "siamese_gradient_matching": DC,
    "distribution_matching": DM,
    "kernel_inducing_points": KIP,
    "label_solve": KIP,
    "representations_as_targets": RELA,
}
"""Name of a method -> its drawing."""
