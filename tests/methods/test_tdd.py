"""TDD: SLDD of sentences; what it teaches of the made-up questions."""

import torch

import ddlab
from ddlab.data import text
from ddlab.methods import sldd, tdd


def test_it_is_sldd_on_embedded_sentences() -> None:
    questions = text.questions(count=60, dim=8)
    config = tdd.Config.teaching(iterations=3)
    made = ddlab.distill("tdd", questions.embedded, config=config, progress=False)
    other = ddlab.distill(
        "sldd", questions.embedded, config=sldd.Config(**vars(config)), progress=False
    )
    assert torch.equal(made.images, other.images) and made.provenance["method"] == tdd.NAME
    assert torch.equal(made.target("steps").labels, other.target("steps").labels)
    read = questions.words(made.images)
    assert len(read) == 6 and all(set(line.split()) <= set(questions.vocabulary) for line in read)


def test_six_learned_sentences_teach_their_own_start() -> None:
    questions = text.questions()
    made = ddlab.distill(
        "tdd", questions.embedded, config=tdd.Config.teaching(iterations=60), progress=False
    )
    scored = ddlab.evaluate(made, questions.embedded, labels="steps", seeds=[0], progress=False)
    assert scored.mean > 0.6 and made.images.shape == (6, 1, 10, 16)
