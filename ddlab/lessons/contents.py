"""What each lesson promises, and the index of lessons, which the start page and the README show."""

from __future__ import annotations

from dataclasses import dataclass

from ..core.errors import check_text


@dataclass(frozen=True, kw_only=True)
class Budget:
    """What a lesson promises: seconds of wall time on two CPU cores, CPU-seconds, MB resident at most; minutes to read.

    Attributes:
        folder: the lesson's, in `ddlab.lessons`; its `checks` has one function for each exercise.
        title, finds: for the index; `finds` says in one line what a reader finds out.
        threads: of PyTorch in the teaching preset on a CPU. For small networks one is fastest: waking a second one takes longer than
            what it does (100 recovery steps of ten 16-pixel images: .54 s with one, .74 to .93 s with two), and the browser has the
            other core.
        one_thread_seconds: of wall time where there is one core only, as on Binder; `tests/test_pages.py` measures it.
    """

    folder: str
    title: str
    finds: str
    wall_seconds: float
    cpu_seconds: float
    megabytes: float
    minutes: int
    threads: int = 1
    one_thread_seconds: float = 180

    def seconds(self, cores: int) -> float:
        """The wall time that is promised where so many cores are free."""
        return self.one_thread_seconds if cores == 1 else self.wall_seconds


LESSONS: dict[str, Budget] = {
    "00_start": Budget(
        folder="start_page",
        title="What does the work, the images or the labels?",
        finds="what fifty images teach, and how much of it is the labels",
        wall_seconds=90,
        cpu_seconds=180,
        megabytes=1200,
        minutes=15,
    ),
    "05_matching": Budget(
        folder="matching",
        title="Ten images that win",
        finds="how ten learned images beat real ones (DM, DC)",
        wall_seconds=90,
        cpu_seconds=180,
        megabytes=1200,
        minutes=41,
    ),
    "10_ideal_data": Budget(
        folder="ideal_data",
        title="Ideal data",
        finds="which samples and targets teach fastest (ReLA)",
        wall_seconds=60,
        cpu_seconds=120,
        megabytes=1100,
        minutes=42,
        one_thread_seconds=120,
    ),
    "20_inverting_a_network": Budget(
        folder="inverting_a_network",
        title="Inverting a network",
        finds="what a teacher's batch norm remembers; labels against images (SRe2L)",
        wall_seconds=90,
        cpu_seconds=180,
        megabytes=1200,
        minutes=40,
    ),
    "21_diversity": Budget(
        folder="diversity",
        title="Diversity",
        finds="what pulls images of one class apart (DWA)",
        wall_seconds=90,
        cpu_seconds=180,
        megabytes=1200,
        minutes=32,
    ),
    "30_data_residuals": Budget(
        folder="data_residuals",
        title="Data residuals",
        finds="whether mixing the real image back in helps (FADRM)",
        wall_seconds=60,
        cpu_seconds=120,
        megabytes=1200,
        minutes=35,
        one_thread_seconds=120,
    ),
    "40_bases": Budget(
        folder="bases",
        title="Images with vectors, bases and views",
        finds="what few floats are best spent on, without labels (KRR-ST, Boost)",
        wall_seconds=90,
        cpu_seconds=150,
        megabytes=1200,
        minutes=40,
    ),
    "45_representations": Budget(
        folder="representations",
        title="Representations: a network's answers as targets",
        finds="whom the answers of an untrained network help (ReLA)",
        wall_seconds=75,
        cpu_seconds=120,
        megabytes=1200,
        minutes=42,
    ),
    "50_kernels": Budget(
        folder="kernels",
        title="Kernels: images that learn while you watch",
        finds="what a closed form learns in a second: images (KIP), labels (LS)",
        wall_seconds=60,
        cpu_seconds=120,
        megabytes=1100,
        minutes=41,
    ),
    "60_learning_through_training": Budget(
        folder="learning_through_training",
        title="Learning through training",
        finds="whom ten images teach that are learned through N steps of training (DD, SLDD)",
        wall_seconds=90,
        cpu_seconds=180,
        megabytes=1100,
        minutes=36,
    ),
    "62_trajectories": Budget(
        folder="trajectories",
        title="Trajectories",
        finds="how far ten images lead along an expert's path (MTT)",
        wall_seconds=90,
        cpu_seconds=180,
        megabytes=1100,
        minutes=38,
    ),
    "65_learned_labels": Budget(
        folder="learned_labels",
        title="Learned labels",
        finds="whether pictures without a digit teach digits, if labels learn (LD)",
        wall_seconds=90,
        cpu_seconds=180,
        megabytes=1100,
        minutes=38,
    ),
    "70_generators": Budget(
        folder="generators",
        title="Generators",
        finds="whether invented steps need their order (GTN)",
        wall_seconds=90,
        cpu_seconds=180,
        megabytes=1100,
        minutes=40,
    ),
    "75_memories": Budget(
        folder="memories",
        title="Memories",
        finds="what to keep of classes that are gone (Mnemonics)",
        wall_seconds=90,
        cpu_seconds=180,
        megabytes=1100,
        minutes=45,
    ),
    "90_theorems_on_trial": Budget(
        folder="theorems_on_trial",
        title="Theorems on trial",
        finds="which printed theorems hold, and what is right instead",
        wall_seconds=60,
        cpu_seconds=180,
        megabytes=1000,
        minutes=35,
    ),
}


def index(folder: str = "") -> str:
    """The lessons as a Markdown table with links: what a reader finds out, and minutes to read.

    Args:
        folder: where the notebooks are, seen from the page that shows the table: "" beside them, "notebooks/" from the README.
    """
    check_text("folder", folder)
    lines = ["| | lesson | you find out | read |", "|---|---|---|---|"]
    for name, lesson in LESSONS.items():
        number = name.partition("_")[0]
        lines.append(f"| {number} | [{lesson.title}]({folder}{name}.ipynb) | {lesson.finds} | {lesson.minutes} min |")
    return "\n".join(lines)
