from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from pi_kernel.errors import PiKernelError
from pi_kernel.widgets._assets import join_modules, source_folder, widget_source


def test_modules_become_functions_in_the_order_of_their_imports() -> None:
    modules = {
        "main.js": 'import { b } from "./b.js";\n\nexport default { run: () => b() };\n',
        "b.js": 'import {\n  A,\n} from "./a.js";\n\nconst own = 1;\nexport function b() {}\n',
        "a.js": "// Of a.\nconst own = 2; // kept\nexport const A = own;\n"
        "/**\n * Of C.\n */\nexport class C {\n  /** of x */\n  x = 'http://x';\n}\n",
        "unused.js": "export const U = 1;\n",
    }
    assert join_modules(modules) == (
        "// ---- a.js\n"
        "const { A, C } = (() => {\nconst own = 2; // kept\nconst A = own;\n"
        "class C {\n  x = 'http://x';\n}\n"
        "return { A, C };\n})();\n"
        "\n// ---- b.js\n"
        "const { b } = (() => {\n\nconst own = 1;\nfunction b() {}\nreturn { b };\n})();\n"
        "\n// ---- main.js\n"
        "\nexport default { run: () => b() };\n"
    )


@pytest.mark.parametrize(
    ("modules", "fault"),
    [
        ({"main.js": 'import { a } from "./a.js";\n'}, "main.js imports a.js, which is missing"),
        (
            {
                "main.js": 'import { a } from "./a.js";\n',
                "a.js": 'import { m } from "./main.js";\n',
            },
            "modules import each other in a circle: main.js > a.js > main.js",
        ),
        ({"main.js": 'import * as a from "./a.js";\n'}, "main.js: this cannot be joined: import"),
        ({"main.js": "export { a };\n"}, "main.js: this cannot be joined: export { a };"),
        ({"main.js": "export let a = 1;\n"}, "main.js: this cannot be joined: export let a = 1;"),
        (
            {"main.js": 'import { a as b } from "./a.js";\n', "a.js": "export const a = 1;\n"},
            "main.js: names are imported as they are, not as others:  a as b",
        ),
        (
            {
                "main.js": 'import { x } from "./a.js";\nimport { y } from "./b.js";\n',
                "a.js": "export const x = 1;\n",
                "b.js": "export const x = 1;\nexport const y = 1;\n",
            },
            "b.js: x is exported by a.js too",
        ),
    ],
)
def test_what_cannot_be_joined_is_refused(modules: dict[str, str], fault: str) -> None:
    with pytest.raises(PiKernelError) as error:
        join_modules(modules)
    assert fault in str(error.value)


def test_the_sources_are_one_module_with_the_styles_in_it() -> None:
    source = widget_source()
    assert source.count("export default") == 1
    assert "--pi-accent" in source
    assert len(source) < 200_000


def test_every_rule_of_the_styles_is_below_the_root() -> None:
    for path in source_folder().glob("*.css"):
        selectors = [
            part.strip()
            for line in path.read_text(encoding="utf-8").splitlines()
            if line.endswith(("{", ",")) and not line.strip().startswith(("@", "/*", "to", "50%"))
            for part in line.rstrip("{, ").split(", ")
        ]
        assert [one for one in selectors if one.startswith(".") and not one.startswith(".pi")] == []


@pytest.mark.needs("node")
def test_the_joined_module_is_valid(tmp_path: Path) -> None:
    path = tmp_path / "widget.mjs"
    path.write_text(widget_source(), encoding="utf-8")
    node = shutil.which("node") or "node"
    subprocess.run([node, "--check", str(path)], check=True)  # noqa: S603 - our own source
