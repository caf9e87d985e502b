"""What lesson 10 puts to the test, declared before any run: Figures 1 and 2 of the ReLA paper, the theorems beside them, its conjecture.

A pair is one seed: one start of the network and one sequence of noise, which all settings share. The squared error is that on the
original data G after 1000 updates, where nothing else is said. Sizes are ours: .005 and .02 are a tenth and a third of the .058 that
no network can be below.
"""

from ..declaration import Claim

NAME = "10_ideal_data"

DECLARED = (
    Claim(
        id="R1",
        source="ReLA, Theorem 1, Fig 1b",
        statement="Narrower samples teach more.",
        effect="squared error with Sigma = .5 minus with .1",
        claimed=0.005,
        test="small",
        lesson=NAME,
    ),
    Claim(
        id="R1 smallest",
        source="ReLA, Theorem 1, Fig 1b",
        statement="The narrower the better, however narrow.",
        effect="squared error with Sigma = .2 minus with .05",
        claimed=0.0,
        test="small",
        lesson=NAME,
        when="only the first 200 updates are made",
    ),
    Claim(
        id="R1 own data",
        source="ReLA, Theorem 1, eq 5",
        statement="On the distilled data themselves the error in excess of the best falls with Sigma, too.",
        effect="excess squared error on G' with Sigma = .5 minus with .1",
        claimed=0.005,
        test="small",
        lesson=NAME,
    ),
    Claim(
        id="R1 decisions",
        source="ReLA, Fig 1b",
        statement="Wide samples teach worse decisions.",
        effect="share of wrong decisions on G with Sigma = 1 minus with .1",
        claimed=0.02,
        test="small",
        lesson=NAME,
    ),
    Claim(
        id="R1 without noise",
        source="ReLA, Fig 1b",
        statement="Wide samples teach worse decisions because they are wide, not because single samples are noisy.",
        effect="the same with the exact gradient: share of wrong decisions with Sigma = 1 minus with .1",
        claimed=0.02,
        test="small",
        lesson=NAME,
    ),
    Claim(
        id="R2",
        source="ReLA, Theorem 2, Fig 2b",
        statement="Targets that are more of a teacher and less of a label teach more.",
        effect="squared error with rho = 0 minus with 1; samples of Sigma = 1, teacher trained at .1",
        claimed=0.02,
        test="small",
        lesson=NAME,
    ),
    Claim(
        id="R2 last step",
        source="ReLA, Theorem 2, Fig 2b",
        statement="The more the better, up to all.",
        effect="squared error with rho = .75 minus with 1; samples of Sigma = 1, teacher trained at .1",
        claimed=0.0,
        test="small",
        lesson=NAME,
    ),
    Claim(
        id="R2 best teacher",
        source="ReLA, section 3.2 and Definition 5",
        statement="The better a teacher knows the distilled data the better it teaches.",
        effect="squared error with the teacher trained at .1 minus with the exact posterior of the samples; rho = 1, Sigma = 1",
        claimed=0.0,
        test="small",
        lesson=NAME,
    ),
    Claim(
        id="R5",
        source="ReLA, appendix G",
        statement="Rescaling the samples leaves the best boundary where it is.",
        effect="share of 1,000 drawn points that the plane between the means puts where the densities do, minus 1; drawn means, Sigma",
        claimed=0.0,
        test="exact",
        lesson=NAME,
        every=True,
    ),
    Claim(
        id="R14",
        source="ReLA, Conjecture 1",
        statement="The error in excess of the best falls with 1 - NMI.",
        effect="rank correlation of 1 - I(X;Y)/H(Y) and the excess squared error on G', over seven Sigmas",
        claimed=0.9,
        test="small",
        lesson=NAME,
    ),
    Claim(
        id="R14 on G",
        source="ReLA, Conjecture 1",
        statement="So does the error on the original data.",
        effect="rank correlation of 1 - I(X;Y)/H(Y) and the squared error on G, over seven Sigmas",
        claimed=0.9,
        test="small",
        lesson=NAME,
    ),
    Claim(
        id="R14 bound",
        source="ReLA, Conjecture 1, eq 7",
        statement="One constant times 1 - NMI bounds the excess error for every Sigma.",
        effect="smallest over seven Sigmas of C (1 - I/H) minus the excess squared error on G', C such that it is 0 at Sigma = 1",
        claimed=0.0,
        test="small",
        lesson=NAME,
    ),
)
