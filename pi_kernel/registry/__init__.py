"""Definitions of tools, the four sets they are in, and the door for every call."""
