"""Ids that may stand only once."""

from chinese.clue.examples import Id
from chinese.clue.files import Node


class Ids:
    """The ids of some files, none of them twice: an answer is told by its id."""

    def __init__(self) -> None:
        self._first: dict[Id, Node] = {}

    def add(self, node: Node, id_: Id) -> None:
        """Notes an id.

        Args:
            node: where it stands.
            id_: a number or a string.

        Raises:
            ValueError: it stood there before.
        """
        if id_ in self._first:
            first = self._first[id_]
            raise node.error(
                f"id {id_!r} stands there a second time (first: {first.source.path}:{first.line})"
            )
        self._first[id_] = node
