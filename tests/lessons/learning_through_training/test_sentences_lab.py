"""Lesson 60: learned sentences, word by word."""

from ddlab.data import text
from ddlab.lessons.learning_through_training import sentences
from ddlab.methods import tdd
from ddlab.runs import Inputs, process


def test_the_words_on_show_are_tdds_and_new_ones_are_bold() -> None:
    questions = text.questions(count=72, length=6, dim=6)
    config = tdd.Config.teaching(epochs=1, iterations=6, batch_size=16, learning_rate=1.0)
    lab = sentences.SentenceLab(questions, config, device="cpu").run()
    steps = list(process.steps(tdd, config, Inputs(data=questions.embedded, device="cpu")))
    first = questions.words(
        process.start(tdd, config, Inputs(data=questions.embedded)).learned["images"]
    )
    last = questions.words(steps[-1].state.learned["images"])
    kinds, shown, beginning = sentences.sentences_data(
        lab.world, lab.settings, lab.results
    ).values()
    assert (list(shown), list(beginning)) == (last, first)
    table = sentences.sentences_table(kinds, shown, beginning)
    new_words = [
        word
        for sentence, before in zip(last, first, strict=True)
        for word in sentence.split()
        if word not in before.split()
    ]
    assert table.count("<b>") == len(new_words) > 0
    assert f"Update 6 of 6: {len(new_words)} of " in lab.sentence
    scores = lab.world.scores(lab.world.run(lab.settings), watch=lambda *_: None)
    assert f"{scores[0]:.0%} of the test questions correctly from start 0" in lab.sentence
    lab.close()


def test_words_of_the_data_are_escaped() -> None:
    table = sentences.sentences_table(("<a>",), ("<b> it",), ("it",))
    assert "&lt;a&gt;" in table and "<b>&lt;b&gt;</b> it" in table
