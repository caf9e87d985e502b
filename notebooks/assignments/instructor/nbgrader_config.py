"""nbgrader settings for the assignments: copy it into the folder of your course."""

c = get_config()  # noqa: F821 - nbgrader puts it there

# One cell trains fifteen students; nbgrader stops a cell after 30 seconds if nothing else is said.
c.Execute.timeout = 600
