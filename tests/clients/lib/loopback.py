"""Runs a web server in Python as it is, but on the loopback interface alone, whatever address it names.

usage: loopback.py PROGRAM [ARGUMENT...]

PROGRAM is a file, or a module that is installed. `LOOPBACK_STUBS` names modules that PROGRAM imports and does not use.
"""

import os
import runpy
import sys
import types
from pathlib import Path


def stub(name):
    """A module that has every name."""
    module = types.ModuleType(name)
    module.__getattr__ = lambda attribute: type(attribute, (), {})
    sys.modules[name] = module


def bound(run):
    """`run` with another address to listen on."""
    return lambda *arguments, **options: run(*arguments, **{**options, "host": "127.0.0.1"})


# A program's modules may have the names of those beside this file.
sys.path.pop(0)
for name in os.environ.get("LOOPBACK_STUBS", "").split():
    stub(name)
try:
    import uvicorn

    uvicorn.run = bound(uvicorn.run)
except ImportError:
    import flask

    flask.Flask.run = bound(flask.Flask.run)

program = sys.argv[1]
sys.argv = sys.argv[1:]
if Path(program).is_file():
    sys.path.insert(0, str(Path(program).parent))
    runpy.run_path(program, run_name="__main__")
else:
    runpy.run_module(program, run_name="__main__")
