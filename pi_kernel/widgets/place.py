"""The element in a display's static HTML that a live view stands in front of."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

__all__ = ("new_place", "placed")

PLACE_HEX_BYTES = 8


def new_place() -> str:
    """Return the class of an element that there is once."""
    return f"pi-at-{secrets.token_hex(PLACE_HEX_BYTES)}"


def placed(place: str, bundle: Mapping[str, Any]) -> dict[str, Any]:
    """Return a MIME bundle whose HTML is inside the element of a place."""
    return {**bundle, "text/html": f'<div class="{place}">{bundle["text/html"]}</div>'}
