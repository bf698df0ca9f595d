"""Prints what a package of a `uv.lock` needs, with versions, as pip reads it.

    locked.py UV_LOCK PACKAGE [MORE...]
"""

import sys
import tomllib
from pathlib import Path

packages = {each["name"]: each for each in tomllib.loads(Path(sys.argv[1]).read_text())["package"]}
needed, to_see = set(), [(name, ()) for name in sys.argv[2:]]
while to_see:
    name, extras = to_see.pop()
    package = packages[name]
    optional = package.get("optional-dependencies", {})
    lists = [package.get("dependencies", []) if name not in needed else [], *(optional.get(extra, []) for extra in extras)]
    needed.add(name)
    linux = (each for listed in lists for each in listed if "== 'win32'" not in each.get("marker", ""))
    to_see += [(each["name"], each.get("extra", ())) for each in linux]
for name in sorted(needed - {sys.argv[2]}):
    print(f"{name}=={packages[name]['version']}")
