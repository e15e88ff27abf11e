"""`Trace`: the calls of a session, in start order and as a tree."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from pi_kernel.protocol.json import JsonObject
from pi_kernel.runtime.call import Call
from pi_kernel.traces.record import CallRecord, parent_of, record_of

__all__ = ("Trace", "TraceNode")


@dataclass
class TraceNode:
    """A call and the calls it made, in start order."""

    call: CallRecord
    children: list[TraceNode] = field(default_factory=list)

    def walk(self) -> Iterator[TraceNode]:
        """Give this node and everything below it, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()


class Trace:
    """A live view of a session's calls; records are made when they are asked for."""

    def __init__(self, calls: Sequence[Call]) -> None:
        self._calls = calls

    def calls(self) -> list[CallRecord]:
        """Return one record a call, in start order."""
        calls = list(self._calls)
        below: defaultdict[int, list[Call]] = defaultdict(list)
        for call in calls:
            higher = parent_of(call)
            while higher is not None:
                below[id(higher)].append(call)
                higher = parent_of(higher)
        return [record_of(call, below[id(call)]) for call in calls]

    def tree(self) -> list[TraceNode]:
        """Return the root calls with their nested calls."""
        calls = list(self._calls)
        nodes = [TraceNode(record) for record in Trace(calls).calls()]
        node_of = {id(call): node for call, node in zip(calls, nodes, strict=True)}
        roots: list[TraceNode] = []
        for call, node in zip(calls, nodes, strict=True):
            parent = node_of.get(id(parent_of(call)))
            (roots if parent is None else parent.children).append(node)
        return roots

    def to_rows(self) -> list[JsonObject]:
        """Return one dict a call with the wire's keys."""
        return [record.to_wire() for record in self.calls()]

    def __len__(self) -> int:
        return len(self._calls)

    def __iter__(self) -> Iterator[CallRecord]:
        return iter(self.calls())

    def __repr__(self) -> str:
        failed = sum(1 for call in self._calls if call.is_error)
        noun = "call" if len(self._calls) == 1 else "calls"
        return f"<Trace: {len(self._calls)} {noun}, {failed} failed>"
