"""What a task is, where its files are, and how a split is read."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from chinese.clue.encoding import TextSettings
from chinese.clue.examples import Example, Score
from chinese.clue.features import Feature

if TYPE_CHECKING:
    from chinese.clue.encoding import TextTokenizer

Files = tuple[tuple[str, ...], ...]
"""Ways to find a split: each is some file names that belong together, the first found is taken."""


def any_of(*names: str) -> Files:
    """Gives files of which any one will do.

    >>> any_of("train.json", "train.partial.json")
    (('train.json',), ('train.partial.json',))
    """
    return tuple((name,) for name in names)


class Family(Protocol):
    """What all families of tasks can do; the runner knows no more, and asks for no task by name.

    Attributes:
        head: the head a model needs: `classification`, `choice`, `span`, `tagging`.
        metric: the number that counts.
        baseline_name: what `baseline` does, in words.
    """

    head: str
    metric: str
    baseline_name: str

    def read(self, paths: Sequence[Path], has_labels: bool) -> list[Example]:
        """Gives every row of some files."""

    def encode(
        self, examples: Iterable[Example], tokenizer: TextTokenizer, settings: TextSettings
    ) -> Iterator[Feature]:
        """Yields the features of examples, in their order."""

    def decode(
        self,
        examples: Sequence[Example],
        features: Sequence[Feature],
        outputs: Any,
        settings: TextSettings,
    ) -> list[Any]:
        """Gives one prediction an example, from what the head gave for every feature."""

    def score(self, examples: Sequence[Example], predictions: Sequence[Any]) -> Score:
        """Scores predictions, one an example; those without a label do not count."""

    def baseline(self, train: Sequence[Example], examples: Sequence[Example]) -> list[Any]:
        """Predicts without reading: what a model must beat."""

    def notes(self, examples: Sequence[Example]) -> tuple[str, ...]:
        """Gives what a reader should know about examples."""

    def answer(self, example: Example, prediction: Any) -> Any:
        """Gives a prediction as the JSON value of a submission."""

    def answer_defect(self, answer: Any, example: Example | None = None) -> str | None:
        """Says what is wrong with such a value; None where nothing is."""


class Round(NamedTuple):
    """One training with its development set. `name` is "" where there is only one."""

    name: str
    train: str
    dev: str


ONE_ROUND = (Round("", "train", "dev"),)


@dataclass(frozen=True)
class Task:
    """One task: an entry of the table, or one's own.

    Attributes:
        name: lower case, as submissions call it.
        title: what it is, in a few words.
        suite: whose task it is: `clue`, `fewclue`, `hfl`, `own`.
        family: how it is read, encoded, decided and scored.
        folders: where its files may lie within a folder of data.
        files: split → ways to find it.
        settings: lengths of the published baseline.
        unlabelled: splits whose labels are hidden.
        sizes: split → rows of the official file, where they are known.
        rounds: what is trained; FewCLUE trains five times, and once on all.
        submissions: split → name of the file one uploads, without `.json`.
        form: one JSON object a line, in the order of the test file; or one object of all answers.
        answer_key: what the answer is called in such a line.
        id_pattern: how the keys of such an object look; None where that is not known.
    """

    name: str
    title: str
    suite: Literal["clue", "fewclue", "hfl", "own"]
    family: Family
    folders: tuple[str, ...]
    files: Mapping[str, Files]
    settings: TextSettings
    unlabelled: frozenset[str] = frozenset()
    sizes: Mapping[str, int] = field(default_factory=dict)
    rounds: tuple[Round, ...] = ONE_ROUND
    submissions: Mapping[str, str] = field(default_factory=dict)
    form: Literal["lines", "object"] = "lines"
    answer_key: str = "label"
    id_pattern: str | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        """The classes in their order: labels, or tags; () where the choice is the class."""
        return getattr(self.family, "labels", getattr(self.family, "tags", ()))


class Split(NamedTuple):
    """A split as read.

    Fields:
      task: its task.
      name: `train`, `dev`, `test` …
      paths: the files.
      examples: every row, in the order of the files; none is left out.
      notes: sentences for the reader: labels that are missing, another size than the official one.
    """

    task: Task
    name: str
    paths: tuple[Path, ...]
    examples: list[Example]
    notes: tuple[str, ...]

    def labelled(self) -> list[Example]:
        """Gives the examples one can train on."""
        return [example for example in self.examples if example.is_labelled]


def find_folder(task: Task, data: Path | str) -> Path | None:
    """Gives the folder within a folder of data that holds files of a task; None where none does."""
    for name in task.folders:
        folder = Path(data) / name
        if any(find_files(task, folder, split) for split in task.files):
            return folder
    return None


def find_files(task: Task, folder: Path | str, split: str) -> tuple[Path, ...] | None:
    """Gives the files of a split, the first way in which all are there; None where there is none.

    Raises:
        ValueError: the task has no such split.
    """
    if split not in task.files:
        raise ValueError(f"{task.name} has no split {split!r}; it has {', '.join(task.files)}")
    for names in task.files[split]:
        paths = tuple(Path(folder) / name for name in names)
        if all(path.is_file() for path in paths):
            return paths
    return None


def read_split(task: Task, folder: Path | str, split: str) -> Split:
    """Reads a split of a task.

    Args:
        task: an entry of the table, or one's own.
        folder: that holds the files.
        split: a key of `task.files`.

    Raises:
        ValueError: no such split, no such files, or what cannot be read, by path and line.
    """
    paths = find_files(task, folder, split)
    if paths is None:
        wanted = "; or ".join(" and ".join(names) for names in task.files[split])
        raise ValueError(f"{task.name}, {split}: {folder} has no {wanted}")
    has_labels = split not in task.unlabelled
    examples = task.family.read(paths, has_labels)
    if not examples:
        raise ValueError(f"{paths[0]}: no examples in it")
    return Split(task, split, paths, examples, _notes(task, split, examples, has_labels))


def _notes(task: Task, split: str, examples: list[Example], has_labels: bool) -> tuple[str, ...]:
    notes = []
    official = task.sizes.get(split)
    if official is not None and official != len(examples):
        notes.append(f"{len(examples):,} examples; the official {split} has {official:,}")
    missing = sum(not example.is_labelled for example in examples)
    if has_labels and missing:
        notes.append(f"{missing:,} without a label: neither trained on nor scored")
    return (*notes, *task.family.notes(examples))


def nearest_names(name: str, known: Iterable[str]) -> str:
    """Gives the end of a message about a name that is not known."""
    known = list(known)
    near = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
