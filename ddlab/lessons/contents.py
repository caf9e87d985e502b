"""The lessons and their index, which the start page and the README show."""

from dataclasses import dataclass

from ..core.errors import check_text


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A lesson in the index.

    Attributes:
        folder: the lesson's, in `ddlab.lessons`; its `checks` has one function for each exercise.
        title, finds: `finds` says in one line what a reader finds out.
        minutes: to read.
    """

    folder: str
    title: str
    finds: str
    minutes: int


# In the order of the course: 50 explains what 40 differentiates; 10 and 90, a world that is known
# exactly, are its appendices, and 95 is for an evening.
LESSONS: dict[str, Entry] = {
    "00_start": Entry(
        folder="start_page",
        title="What does the work, the images or the labels?",
        finds="what fifty images teach, and how much of it is the labels",
        minutes=29,
    ),
    "05_matching": Entry(
        folder="matching",
        title="Ten images that win",
        finds="how ten learned images beat real ones (DM, DC, DSA)",
        minutes=44,
    ),
    "20_inverting_a_network": Entry(
        folder="inverting_a_network",
        title="Inverting a network",
        finds="what a teacher's batch norm remembers; labels against images (SRe2L)",
        minutes=45,
    ),
    "21_diversity": Entry(
        folder="diversity",
        title="Diversity",
        finds="what pulls images of one class apart (DWA)",
        minutes=44,
    ),
    "30_data_residuals": Entry(
        folder="data_residuals",
        title="Data residuals",
        finds="whether mixing the real image back in helps (FADRM)",
        minutes=41,
    ),
    "50_kernels": Entry(
        folder="kernels",
        title="Kernels: images that learn while you watch",
        finds="what a closed form learns in a second: images (KIP), labels (LS)",
        minutes=39,
    ),
    "40_bases": Entry(
        folder="bases",
        title="Images with vectors, bases and views",
        finds="what few floats are best spent on, without labels (KRR-ST, Boost)",
        minutes=42,
    ),
    "45_representations": Entry(
        folder="representations",
        title="Representations: a network's answers as targets",
        finds="whom the answers of an untrained network help (ReLA)",
        minutes=44,
    ),
    "60_learning_through_training": Entry(
        folder="learning_through_training",
        title="Learning through training",
        finds="whom ten images teach that are learned through N steps of training (DD, SLDD)",
        minutes=44,
    ),
    "62_trajectories": Entry(
        folder="trajectories",
        title="Trajectories",
        finds="how far ten images lead along an expert's path (MTT)",
        minutes=44,
    ),
    "65_learned_labels": Entry(
        folder="learned_labels",
        title="Learned labels",
        finds="whether pictures without a digit teach digits, if labels learn (LD)",
        minutes=44,
    ),
    "70_generators": Entry(
        folder="generators",
        title="Generators",
        finds="whether invented steps need their order (GTN)",
        minutes=45,
    ),
    "75_memories": Entry(
        folder="memories",
        title="Memories",
        finds="what to keep of classes that are gone (Mnemonics)",
        minutes=44,
    ),
    "80_arena": Entry(
        folder="arena",
        title="Which method, when, at what price?",
        finds="all methods side by side on equal ground, and yours among them",
        minutes=45,
    ),
    "85_at_work": Entry(
        folder="at_work",
        title="At work",
        finds="whether ten images can choose a network",
        minutes=35,
    ),
    "10_ideal_data": Entry(
        folder="ideal_data",
        title="Ideal data",
        finds="which samples and targets teach fastest (ReLA)",
        minutes=43,
    ),
    "90_theorems_on_trial": Entry(
        folder="theorems_on_trial",
        title="Theorems on trial",
        finds="which printed theorems hold, and what is right instead",
        minutes=45,
    ),
    "95_at_paper_scale": Entry(
        folder="paper_scale",
        title="At paper scale",
        finds="whether the number that you get is the number that is printed",
        minutes=33,
    ),
}


TWO_HOURS = ("00_start", "05_matching", "50_kernels")
"""Lessons for a reader who has no more time."""


def index(folder: str = "") -> str:
    """Return the lessons as a Markdown table with links: what a reader finds out, and minutes to read.

    Args:
        folder: where the notebooks are, seen from the page that shows the table: "" beside them,
            "notebooks/" from the README.
    """
    check_text("folder", folder)
    lines = ["| | lesson | you find out | read |", "|---|---|---|---|"]
    for name, lesson in LESSONS.items():
        number = name.partition("_")[0]
        lines.append(
            f"| {number} | [{lesson.title}]({folder}{name}.ipynb) | {lesson.finds} | "
            f"{lesson.minutes} min |"
        )
    return "\n".join(lines)
