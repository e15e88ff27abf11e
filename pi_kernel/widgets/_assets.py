"""The sources of the live views, joined into the one module that a widget runs.

Each file below `widgets/src` is an ES module of its own for editors, checks and tests. A widget's
source is a single module, so each file becomes a function that is called at once and returns what
the file exports, what is imported before what imports it. Names that are not exported stay in
their file; exported ones exist once.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

from pi_kernel.errors import PiKernelError

__all__ = ("join_modules", "source_folder", "widget_source")

MAIN = "main.js"
STYLES = "styles.js"
FIRST_STYLES = "pi.css"
_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([a-z_]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:(?:async )?function\*?|const|class) (\w+))", re.MULTILINE)
_COMMENT = re.compile(r"^[ \t]*(?://[^\n]*|/\*(?:(?!\*/).)*\*/)[ \t]*\n", re.MULTILINE | re.DOTALL)
"""With lines of its own; every widget sends the whole source."""
_INDENT = re.compile(r"\n[ \t]+")
_LEFT_OVER = re.compile(r"^(?:import|export(?! default)).*", re.MULTILINE)


@cache
def widget_source() -> str:
    """Return the module of all live views, with the style sheets in it."""
    folder = source_folder()
    sheets = sorted(folder.glob("*.css"), key=lambda path: (path.name != FIRST_STYLES, path.name))
    styles = "".join(path.read_text(encoding="utf-8") for path in sheets)
    modules = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.js")}
    styles = _INDENT.sub("\n", _COMMENT.sub("", styles))
    modules[STYLES] = f"export const STYLES = {json.dumps(styles)};\n"
    return join_modules(modules)


def source_folder() -> Path:
    """Return where the sources are: in the installed package, or beside it in a checkout.

    Raises:
        PiKernelError: If they are in neither place.
    """
    here = Path(__file__).parent
    for folder in (here / "static", here.parents[1] / "widgets" / "src"):
        if (folder / MAIN).is_file():
            return folder
    raise PiKernelError("the sources of the live views are missing; install pi-kernel again")


def join_modules(modules: dict[str, str], main: str = MAIN) -> str:
    """Join modules into one.

    Args:
        modules: Their sources by file name.
        main: The one that nothing imports; only what it needs is taken.

    Raises:
        PiKernelError: If an import or export has another form than ours, a file is missing, files
            import each other in a circle, or two files export the same name.
    """
    order: list[str] = []
    _visit(main, modules, order, above=())
    owners: dict[str, str] = {}
    parts: list[str] = []
    for name in order:
        given = _COMMENT.sub("", _IMPORT.sub("", modules[name]))
        exported: list[str] = _EXPORT.findall(given)
        text = _EXPORT.sub("", given)
        if (left_over := _LEFT_OVER.search(text)) is not None:
            raise PiKernelError(f"{name}: this cannot be joined: {left_over[0]}")
        for declared in exported:
            if owners.setdefault(declared, name) != name:
                raise PiKernelError(f"{name}: {declared} is exported by {owners[declared]} too")
        if name != main:
            names = f"{{ {', '.join(exported)} }}"
            text = f"const {names} = (() => {{\n{text}return {names};\n}})();\n"
        parts.append(f"// ---- {name}\n{text}")
    return "\n".join(parts)


def _visit(name: str, modules: dict[str, str], order: list[str], above: tuple[str, ...]) -> None:
    if name in above:
        raise PiKernelError(f"modules import each other in a circle: {' > '.join((*above, name))}")
    if name in order:
        return
    if name not in modules:
        raise PiKernelError(f"{above[-1] if above else 'nothing'} imports {name}, which is missing")
    for names, imported in _IMPORT.findall(modules[name]):
        if " as " in names:
            raise PiKernelError(f"{name}: names are imported as they are, not as others: {names}")
        _visit(imported, modules, order, (*above, name))
    order.append(name)
