"""Write a glob as the graph of an automaton, for globs that `re` might take forever with."""

from __future__ import annotations

from collections.abc import Sequence

from pi_kernel.tools._search.automaton import Automaton, Graph
from pi_kernel.tools._search.glob_regex import to_regex
from pi_kernel.tools._search.glob_tokens import (
    ANY,
    ANY_BYTE,
    NO_SLASH,
    RECURSIVE_PREFIX,
    RECURSIVE_SUFFIX,
    SLASH,
    STAR,
    Alternates,
    CharClass,
    Literal,
    Token,
    encode,
)

__all__ = ("to_automaton",)

MAX_NODES = 100_000
"""With more each step would take too long."""


def to_automaton(tokens: Sequence[Token], *, ignore_case: bool) -> Automaton:
    """Return what matches as the expression of `to_regex` does; alone, ``**`` matches all.

    Raises:
        OverflowError: If the glob is too large.
    """
    writer = _Writer(ignore_case=ignore_case)
    if tuple(tokens) == (RECURSIVE_PREFIX,):
        start = writer.graph.loop(ANY_BYTE, Graph.END)
    else:
        start = writer.add_series(tokens, Graph.END)
    return Automaton(writer.graph, start)


class _Writer:
    """Adds tokens to a graph, the last one first."""

    def __init__(self, *, ignore_case: bool) -> None:
        self.graph = Graph()
        self._ignore_case = ignore_case

    def add_series(self, tokens: Sequence[Token], after: int) -> int:
        """Add the nodes of a series before a node; return the first one."""
        for token in reversed(tokens):
            after = self._add(token, after)
            if len(self.graph.after) > MAX_NODES:
                raise OverflowError("it has too many alternatives")
        return after

    def _add(self, token: Token, after: int) -> int:
        match token:
            case Literal(char):
                for byte in reversed(encode(char)):
                    after = self.graph.take(self._cases({byte}), after)
                return after
            case CharClass(negated, _):
                listed = self._cases({b for b in ANY_BYTE if token.matches(b) != negated})
                taken = set(ANY_BYTE) - listed if negated else listed
                return self.graph.take(taken, after)
            case Alternates(branches):
                starts = [self.add_series(b, after) for b in branches if to_regex(b)]
                return self.graph.fork(*starts) if starts else after
            case _:
                return self._add_wildcard(token, after)

    def _add_wildcard(self, token: Token, after: int) -> int:
        graph, slash = self.graph, (SLASH,)
        if token == ANY:
            return graph.take(NO_SLASH, after)
        if token == STAR:
            return graph.loop(NO_SLASH, after)
        if token == RECURSIVE_SUFFIX:
            return graph.take(slash, graph.loop(ANY_BYTE, after))
        folders = graph.fork(after, graph.loop(ANY_BYTE, graph.take(slash, after)))
        return folders if token == RECURSIVE_PREFIX else graph.take(slash, folders)

    def _cases(self, listed: set[int]) -> set[int]:
        if not self._ignore_case:
            return listed
        return listed | set(bytes(listed).swapcase())
