"""TDD: SLDD of sentences; what it teaches of the made-up questions."""

import torch

import ddlab
from ddlab.data import text
from ddlab.methods import sldd, tdd


def test_it_is_sldd_on_embedded_sentences() -> None:
    questions = text.questions(count=60, dim=8)
    config = tdd.Config.teaching(iterations=3)
    by_tdd = ddlab.distill("tdd", questions.embedded, config=config, progress=False)
    by_sldd = ddlab.distill(
        "sldd", questions.embedded, config=sldd.Config(**vars(config)), progress=False
    )
    assert torch.equal(by_tdd.images, by_sldd.images) and by_tdd.provenance["method"] == tdd.NAME
    assert torch.equal(by_tdd.target("steps").labels, by_sldd.target("steps").labels)
    read = questions.words(by_tdd.images)
    assert len(read) == 6 and all(set(line.split()) <= set(questions.vocabulary) for line in read)


def test_six_learned_sentences_teach_their_own_start() -> None:
    questions = text.questions()
    distilled = ddlab.distill(
        "tdd", questions.embedded, config=tdd.Config.teaching(iterations=60), progress=False
    )
    scored = ddlab.evaluate(
        distilled, questions.embedded, labels="steps", seeds=[0], progress=False
    )
    assert scored.mean > 0.6 and distilled.images.shape == (6, 1, 10, 16)
