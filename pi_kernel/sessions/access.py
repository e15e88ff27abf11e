"""What a session has to call, and who is told of what happens."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, overload

from pi_kernel.errors import PiKernelError
from pi_kernel.registry.definition import ToolDefinition
from pi_kernel.registry.registry import ToolRegistry
from pi_kernel.runtime.events import EventSink, Handler, Unsubscribe
from pi_kernel.sessions.options import check_callback, check_handler, check_names

__all__ = ("ToolAccess",)


class ToolAccess:
    """The registry of a session and its events, as people use them."""

    def __init__(self, registry: ToolRegistry, events: EventSink) -> None:
        self._registry = registry
        self._events = events
        self._closed = False
        self._warned: set[str] = set()

    @property
    def registry(self) -> ToolRegistry:
        """The registry, for extenders."""
        return self._registry

    def _check_open(self) -> None:
        if self._closed:
            raise PiKernelError("this session is closed; make a new ToolSession")

    def register(self, definition: ToolDefinition) -> ToolDefinition:
        """Add a tool, or replace the one of this name; a shadowed built-in gives one warning.

        Returns:
            The definition, so that this works as a decorator of one.
        """
        self._check_open()
        name = getattr(definition, "name", "")
        held = self._registry.source_of(name)
        if held is not None and held[0] == "builtin" and name not in self._warned:
            self._warned.add(name)
            warnings.warn(f'tool "{name}" replaces the built-in tool', stacklevel=2)
        self._registry.register(definition)
        return definition

    def set_active(self, names: Iterable[str]) -> None:
        """Replace the active set; ``+name`` and ``-name`` change it instead.

        A model sees the change from its next request on, nested calls at once.
        """
        self._check_open()
        self._registry.set_active(check_names("names", names))

    def refresh(self, names: Iterable[str] | None = None) -> None:
        """Compute the active set again, from the given names or the current ones."""
        self._check_open()
        self._registry.refresh(None if names is None else check_names("names", names))

    @property
    def registered(self) -> Mapping[str, ToolDefinition]:
        """Every tool, hidden ones included."""
        return MappingProxyType(self._registry.registered)

    @property
    def active(self) -> Mapping[str, ToolDefinition]:
        """The tools that are on, in order."""
        return MappingProxyType(self._registry.active)

    @property
    def callable(self) -> Mapping[str, ToolDefinition]:
        """The tools that tools and scripts can call."""
        return MappingProxyType(self._registry.callable)

    @property
    def declared(self) -> Mapping[str, ToolDefinition]:
        """The tools that the next model request shows."""
        return MappingProxyType(self._registry.declared)

    @overload
    def on(self, event_type: str) -> Callable[[Handler], Handler]: ...
    @overload
    def on(self, event_type: str, handler: Handler) -> Unsubscribe: ...
    def on(self, event_type: str, handler: Handler | None = None) -> Any:
        """Call ``handler(event)`` for each event of one type; usable as a decorator too.

        ``tool_call`` handlers may change or block a call, ``tool_result`` handlers may change its
        result; the other types are told only.
        """
        check_handler(event_type, handler)
        if handler is None:

            def decorate(function: Handler) -> Handler:
                self._events.on(event_type, function)
                return function

            return decorate
        return self._events.on(event_type, handler)

    def subscribe(self, callback: Handler) -> Unsubscribe:
        """Call ``callback(event)`` for every event, in order."""
        check_callback(callback)
        return self._events.subscribe(callback)
