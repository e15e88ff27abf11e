"""Match bytes against a pattern in one pass, whatever the pattern: no way is tried and taken back.

A graph of nodes is walked on all ways at once. Sets of nodes that were met are remembered with
where each byte leads, so most steps are one look-up. For patterns that Python's `re` could spend
forever on, with the interpreter lock held.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

__all__ = ("Automaton", "Graph")

MAX_REMEMBERED_NODES = 200_000
"""When the remembered sets have so many nodes together, all are forgotten."""

Bytes = Collection[int]


class Graph:
    """Nodes of two kinds: one byte of a set leads to the next node, or nothing leads to several.

    A pattern is added from its end to its start, because a node names the nodes after it.
    """

    END = 0
    """The node where a match is complete."""

    def __init__(self) -> None:
        self.taken: list[Bytes] = [()]
        """For each node the bytes that it takes."""
        self.after: list[tuple[int, ...]] = [()]
        """For each node where it leads to."""

    def take(self, taken: Bytes, after: int) -> int:
        """Add a node that takes a byte of the set; return it."""
        self.taken.append(taken)
        self.after.append((after,) if taken else ())
        return len(self.after) - 1

    def fork(self, *after: int) -> int:
        """Add a node that takes nothing and leads to all of these; return it."""
        self.taken.append(())
        self.after.append(after)
        return len(self.after) - 1

    def loop(self, taken: Bytes, after: int) -> int:
        """Add a node for any number of bytes of the set; return it."""
        node = self.fork()
        self.after[node] = (after, self.take(taken, node))
        return node


class _Set:
    """A set of nodes that take a byte, and where each byte leads."""

    __slots__ = ("is_end", "next", "nodes")

    def __init__(self, nodes: tuple[int, ...], *, is_end: bool) -> None:
        self.nodes = nodes
        self.is_end = is_end
        self.next: dict[int, _Set] = {}


class Automaton:
    """A pattern that is ready to be matched.

    Args:
        graph: What was added.
        start: The node where a match begins.
    """

    def __init__(self, graph: Graph, start: int) -> None:
        self._graph = graph
        self._start = start
        self._sets: dict[tuple[int, ...], _Set] = {}
        self._remembered_nodes = 0

    def fullmatch(self, path: bytes) -> bool | None:
        """Say whether all of the path matches: True or, as `re` does, None."""
        current = self._set_of((self._start,))
        for byte in path:
            following = current.next.get(byte)
            if following is None:
                following = self._step(current, byte)
            if not following.nodes and not following.is_end:
                return None
            current = following
        return True if current.is_end else None

    def _step(self, current: _Set, byte: int) -> _Set:
        graph = self._graph
        following = self._set_of(
            graph.after[node][0] for node in current.nodes if byte in graph.taken[node]
        )
        current.next[byte] = following
        return following

    def _set_of(self, starts: Iterable[int]) -> _Set:
        """Return the set that the nodes lead to without taking anything."""
        key = tuple(sorted(set(starts)))
        found = self._sets.get(key)
        if found is None:
            found = self._reach(key)
            self._remembered_nodes += len(key) + len(found.nodes)
            if self._remembered_nodes > MAX_REMEMBERED_NODES:
                self._sets.clear()
                self._remembered_nodes = len(key) + len(found.nodes)
            self._sets[key] = found
        return found

    def _reach(self, starts: tuple[int, ...]) -> _Set:
        graph = self._graph
        seen = set(starts)
        unread = list(starts)
        taking: list[int] = []
        while unread:
            node = unread.pop()
            if graph.taken[node]:
                taking.append(node)
                continue
            newcomers = [after for after in graph.after[node] if after not in seen]
            seen.update(newcomers)
            unread += newcomers
        return _Set(tuple(sorted(taking)), is_end=Graph.END in seen)
