"""What is to be sent to a far machine, in turn for all calls, so that a long one holds up none."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence

from pi_kernel.tools._remote_frames import PART_BYTES, pack_frame

__all__ = ("Outbox", "Upload")


class Outbox:
    """What is to be written: short messages first, then the frames of all calls in turn."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._control: deque[bytes] = deque()
        self._calls: OrderedDict[int, Upload] = OrderedDict()
        self._is_closed = False

    def put(self, call_id: int, upload: Upload) -> None:
        """Add the frames of a call."""
        with self._changed:
            self._calls[call_id] = upload
            self._changed.notify()

    def put_control(self, frame: bytes) -> None:
        """Add a frame that goes ahead of all others."""
        with self._changed:
            self._control.append(frame)
            self._changed.notify()

    def drop(self, call_id: int) -> Upload | None:
        """Take back and return what is left of a call; None when all of it was written."""
        with self._changed:
            return self._calls.pop(call_id, None)

    def close(self) -> None:
        """Write no more."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()

    def frames(self) -> Iterator[bytes]:
        """Yield frames as they come, until the outbox is closed."""
        while True:
            with self._changed:
                while not (self._is_closed or self._control or self._calls):
                    self._changed.wait()
                if self._is_closed:
                    return
                frame = self._control.popleft() if self._control else self._next_of_calls()
            yield frame

    def _next_of_calls(self) -> bytes:
        call_id, upload = self._calls.popitem(last=False)
        frame = upload.next_frame()
        if not upload.is_complete:
            self._calls[call_id] = upload
        return frame


class Upload:
    """What one call sends: a frame that begins it, and then its data."""

    def __init__(
        self, call_id: int, operation: str, arguments: Sequence[object], data: bytes
    ) -> None:
        self._head = {"id": call_id, "op": operation, "args": arguments, "size": len(data)}
        self._data = memoryview(data)
        self.is_begun = False

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left to send."""
        return self.is_begun and not self._data

    def next_frame(self) -> bytes:
        """Return what comes next; there is something left."""
        if not self.is_begun:
            self.is_begun = True
            return pack_frame(self._head)
        part, self._data = self._data[:PART_BYTES], self._data[PART_BYTES:]
        return pack_frame({"id": self._head["id"]}, part)
