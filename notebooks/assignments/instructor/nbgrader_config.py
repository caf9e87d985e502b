"""nbgrader settings for the assignments: copy it into the folder of your course."""

from nbconvert.preprocessors import CSSHTMLHeaderPreprocessor
from nbgrader.preprocessors import ClearHiddenTests, GetGrades


class HideTests(ClearHiddenTests):
    """Takes hidden tests out of what students get back; of a failure its message stays."""

    def preprocess_cell(self, cell, resources, index):
        cell, resources = super().preprocess_cell(cell, resources, index)
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                output.traceback = [f"{output.ename}: {output.evalue}"]
        return cell, resources


c = get_config()  # noqa: F821 - nbgrader puts it there

# The exchange, which `release_assignment` and `collect` go through, has a folder for each course.
c.CourseDirectory.course_id = "ddlab"

# One cell trains fifteen students; nbgrader stops a cell after 30 seconds if nothing else is said.
c.Execute.timeout = 600

c.GenerateFeedback.preprocessors = [HideTests, GetGrades, CSSHTMLHeaderPreprocessor]
