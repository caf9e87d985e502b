"""`ddlab lessons grade`: submissions.py grades, sandbox.py confines a submission, watching.py holds it from outside, kernel.py runs it,
judge.py runs the hidden tests, and data.py is all that passes between the two.

Nothing is imported here: a process that is to be confined must be small, and have one thread, when it begins.
"""
