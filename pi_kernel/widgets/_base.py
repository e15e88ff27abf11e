"""`PiWidget`: the kernel's side of a live view."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextvars import copy_context
from typing import Any, ClassVar

import anywidget
import traitlets

from pi_kernel.protocol.json import JsonObject
from pi_kernel.widgets._assets import widget_source

__all__ = ("PiWidget",)

BUSY_SECONDS = 0.1
"""Between two looks at what changed, while something is going on."""
IDLE_SECONDS = 1.0
STATIC_TYPES = ("text/html", "text/plain")


class PiWidget(anywidget.AnyWidget):
    """A widget whose state goes to its views in messages.

    Belongs to the running event loop: it sends from there, and handles there what it receives.

    Args:
        place: The class of the elements that its views stand in.
        bundle: Returns the static form, for whoever displays the widget object itself.
        on_idle: Called when nothing is going on any more.
    """

    view_kind: ClassVar[str]
    """The name in ``KINDS`` of `widgets/src/main.js`."""

    _esm = traitlets.Unicode().tag(sync=True)
    kind = traitlets.Unicode().tag(sync=True)
    place = traitlets.Unicode().tag(sync=True)
    layout = traitlets.Any(None, allow_none=True).tag(sync=True)
    """No model of its own: a view's size is the page's business."""

    def __init__(
        self,
        place: str,
        bundle: Callable[[], Mapping[str, Any]] | None = None,
        on_idle: Callable[[], object] | None = None,
    ) -> None:
        self._bundle = bundle
        self._on_idle = on_idle
        self._was_busy = True
        self._loop = asyncio.get_running_loop()
        self._context = copy_context()
        self._timer: asyncio.TimerHandle | None = None
        self._is_over = False
        self._next_pause: float | None = None
        self._page: object = None
        self.is_live = False
        """Whether a page has said hello."""
        super().__init__(_esm=widget_source(), kind=self.view_kind, place=place)
        self.on_msg(self._on_message)
        self._schedule()

    # -- what a subclass says ----------------------------------------------------------------

    def whole(self) -> Iterable[JsonObject]:
        """Return the messages that tell everything, to a page that knows nothing."""
        raise NotImplementedError

    def changes(self) -> Iterable[JsonObject]:
        """Return the messages that tell what is new since the last time."""
        raise NotImplementedError

    def receive(self, message: JsonObject) -> None:
        """Take what a person asked for; ``message["type"]`` names it."""
        raise NotImplementedError

    @property
    def is_busy(self) -> bool:
        """Whether something is going on that changes soon."""
        raise NotImplementedError

    # -- displays ----------------------------------------------------------------------------

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        bundle = super()._repr_mimebundle_()
        if bundle is None or self._bundle is None:
            return bundle
        static = self._bundle()
        return {**bundle[0], **{kind: static[kind] for kind in STATIC_TYPES}}, bundle[1]

    # -- messages ----------------------------------------------------------------------------

    def tell(self, messages: Iterable[JsonObject]) -> None:
        """Send messages to the pages; their texts must be well-formed."""
        for message in messages:
            self.send(message)

    def _on_message(self, _widget: object, content: Any, _buffers: object) -> None:
        """Hand over to the loop: this may be the main thread or that of a subshell."""
        if isinstance(content, dict) and not self._is_over:
            self._loop.call_soon_threadsafe(self._handle, content, context=self._context.copy())

    def _handle(self, message: JsonObject) -> None:
        if self._is_over:
            return
        if message.get("type") == "hello":
            self._greet(message.get("page"))
        elif message.get("type") == "hidden":
            self.is_live = False
        else:
            self.receive(message)

    def _greet(self, page: object) -> None:
        """Answer a page; one that has said hello before has got everything."""
        is_known = self.is_live and page is not None and page == self._page
        self.is_live = True
        self._page = page
        self.tell([{"type": "ack"}])
        if not is_known:
            self.tell(self.whole())
            self._schedule()

    def flush(self) -> None:
        """Send what is new now."""
        if self.is_live and not self._is_over:
            self.tell(self.changes())

    def look_again(self, seconds: float) -> None:
        """Look for changes again after so long, however long the pause else is."""
        self._next_pause = seconds

    def _schedule(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        pause, self._next_pause = self._next_pause, None
        if pause is None:
            pause = BUSY_SECONDS if self.is_busy else IDLE_SECONDS
        self._timer = self._loop.call_later(pause, self._tick, context=self._context.copy())

    def _tick(self) -> None:
        self.flush()
        self._schedule()
        was_busy, self._was_busy = self._was_busy, self.is_busy
        if was_busy and not self._was_busy and self._on_idle is not None:
            self._on_idle()

    # -- the end -----------------------------------------------------------------------------

    def unload(self) -> None:
        """Tell the views that nobody answers any more; they keep what they show."""
        if not self._is_over:
            self.tell([{"type": "unloaded"}])
        self._stop()

    def close(self) -> None:
        """Take the views away."""
        self._stop()
        super().close()

    def _stop(self) -> None:
        self._is_over = True
        self.is_live = False
        if self._timer is not None:
            self._timer.cancel()
