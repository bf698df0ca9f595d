"""Clients that generators make from the served OpenAPI documents: they are compiled, and buy something."""

import json
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import openapi_generator_cli
import pytest

from lib.purchase import GOODS
from lib.shop import PROFILE, RELEASES, URL, fetch

RUNS = Path(os.environ["LANE_DIR"])
DRIVERS = Path(__file__).parent / "generators"
MODULES = Path(os.environ["CLIENTS_DIR"]) / "node_modules"
NODE = os.environ["NODE"]
JAR = Path(openapi_generator_cli.__file__).parent / "openapi-generator.jar"
# Releases whose documents have a catalog and carts, which the programs use.
WHOLE = [release for release in RELEASES if release >= "2026-04-08"]


def succeed(*command, cwd=None, **variables):
    """What a program writes to its standard output."""
    environment = {**os.environ, **variables}
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=environment, capture_output=True, text=True, timeout=400, check=False
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return done.stdout


@cache
def document(release):
    """The file with the document of a release."""
    path = RUNS / f"{release}.json"
    status, served = fetch(f"/ucp/{release}/openapi.json")
    assert status == 200
    path.write_text(json.dumps(served))
    return path


@cache
def work(name, release):
    """An empty folder."""
    path = RUNS / f"{name}-{release}"
    path.mkdir()
    return path


def openapi_generator(language, release, folder, *options):
    succeed("java", "-jar", JAR, "generate", "-i", document(release), "-g", language, "-o", folder, *options)


def tsc(folder):
    shutil.copy(DRIVERS / "tsconfig.json", folder)
    (folder / "package.json").write_text('{"type": "module"}')
    succeed(NODE, MODULES / "typescript/bin/tsc", "--project", folder)


class Python:
    """`openapi-generator`, for Python."""

    def __init__(self, release):
        self.folder = work("python", release)
        openapi_generator("python", release, self.folder, "--additional-properties=packageName=ucp_client")
        succeed(sys.executable, "-c", "import ucp_client.api, ucp_client.models", PYTHONPATH=str(self.folder))

    def buy(self, *arguments):
        return succeed(sys.executable, DRIVERS / "openapi_generator.py", *arguments, PYTHONPATH=str(self.folder))


class PythonClient:
    """`openapi-python-client`."""

    def __init__(self, release):
        self.folder = work("python-client", release)
        generator = Path(sys.executable).parent / "openapi-python-client"
        target = self.folder / "ucp_client"
        log = succeed(generator, "generate", "--path", document(release), "--output-path", target, "--meta", "none", cwd=self.folder)
        assert "WARNING" not in log.upper(), log
        walk = "import pkgutil, importlib, ucp_client\nfor module in pkgutil.walk_packages(ucp_client.__path__, 'ucp_client.'): importlib.import_module(module.name)"
        succeed(sys.executable, "-c", walk, PYTHONPATH=str(self.folder))

    def buy(self, *arguments):
        return succeed(sys.executable, DRIVERS / "openapi_python_client.py", *arguments, PYTHONPATH=str(self.folder))


class TypeScriptFetch:
    """`openapi-generator`, for TypeScript with fetch."""

    driver = "openapi-generator"

    def __init__(self, release):
        self.folder = work("typescript-fetch", release)
        options = "--additional-properties=supportsES6=true,importFileExtension=.js"
        openapi_generator("typescript-fetch", release, self.folder / "client", options)
        if release in WHOLE:
            shutil.copy(DRIVERS / f"{self.driver}.ts", self.folder)
        tsc(self.folder)

    def buy(self, *arguments):
        return succeed(NODE, self.folder / f"{self.driver}.js", *arguments)


class HeyApi(TypeScriptFetch):
    """Hey API."""

    driver = "hey-api"

    def __init__(self, release):
        self.folder = work("hey-api", release)
        output = {"path": str(self.folder / "client"), "module": {"extension": ".js"}}
        options = {"input": str(document(release)), "output": output, "plugins": ["@hey-api/client-fetch", "@hey-api/typescript", "@hey-api/sdk"]}
        configuration = self.folder / "openapi-ts.config.mjs"
        configuration.write_text(f"export default {json.dumps(options)};")
        succeed(NODE, MODULES / "@hey-api/openapi-ts/bin/run.js", "-f", configuration, cwd=MODULES.parent)
        if release in WHOLE:
            shutil.copy(DRIVERS / f"{self.driver}.ts", self.folder)
        tsc(self.folder)


class Go:
    """`openapi-generator`, for Go."""

    def __init__(self, release):
        self.folder = work("go", release)
        options = "--additional-properties=packageName=ucp,useOneOfDiscriminatorLookup=true"
        openapi_generator("go", release, self.folder / "client", options)
        (self.folder / "client/go.mod").write_text("module ucp.example/client\n\ngo 1.27\n")
        self.environment = {"GOPROXY": "off", "GOFLAGS": "-mod=mod", "GOPATH": str(RUNS / "gopath"), "GOCACHE": str(RUNS / "gocache")}
        self.go = Path(sys.executable).parent / "go"
        shutil.rmtree(self.folder / "client/test", ignore_errors=True)
        succeed(self.go, "build", "./...", cwd=self.folder / "client", **self.environment)

    def buy(self, *arguments):
        for name in ("go.mod", "main.go"):
            shutil.copy(DRIVERS / "go" / name, self.folder)
        return succeed(self.go, "run", ".", *arguments, cwd=self.folder, **self.environment)


class Java:
    """`openapi-generator`, for Java. The libraries that its clients need are among its own, but for annotations.

    Without `containerDefaultToNull` a client sends an empty list for each one that is not set, such as a method of delivery
    for no lines.
    """

    libraries = f"{JAR}:/usr/share/java/geronimo-annotation-1.3-spec.jar"

    def __init__(self, release):
        self.folder = work("java", release)
        openapi_generator("java", release, self.folder, "--additional-properties=library=native,openApiNullable=false,containerDefaultToNull=true")
        self.classes = self.folder / "classes"
        self.compile(*(self.folder / "src/main").rglob("*.java"))

    def compile(self, *sources):
        succeed("javac", "-nowarn", "-cp", f"{self.libraries}:{self.classes}", "-d", self.classes, *sources)

    def buy(self, *arguments):
        self.compile(DRIVERS / "java/Purchase.java")
        return succeed("java", "-cp", f"{self.classes}:{self.libraries}", "Purchase", *arguments)


CLIENTS = [Python, PythonClient, TypeScriptFetch, HeyApi, Go, Java]
made = cache(lambda client, release: client(release))


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_compiles(client, release):
    made(client, release)


@pytest.mark.parametrize("release", WHOLE)
@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_buys(client, release):
    told = json.loads(made(client, release).buy(f"{URL}/ucp/{release}", f'profile="{PROFILE}"', GOODS[0]["item"]["id"]))
    assert told == {
        "found": ["success", "Runner Pro"],
        "known": ["prod_abc123", told["known"][1]],
        "subtotal": told["subtotal"],
        "statuses": ["incomplete", "ready_for_complete", "completed"],
        # 2026-04-08 does not require the type that tells destinations apart, and Java takes the first alternative.
        "destination": None if (client, release) == (Java, "2026-04-08") else "Eugene",
        "bought": True,
        "missing": ["error", "not_found"],
        "refused": [400, "invalid_cursor"],
    }
    assert told["subtotal"] > 0 and "prod_unknown" in told["known"][1]


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("language", ["csharp", "kotlin", "php", "ruby", "rust", "swift5"])
def test_other_languages_are_generated(language, release):
    openapi_generator(language, release, work(language, release))


@pytest.mark.parametrize("release", RELEASES)
def test_linters_find_no_errors(release):
    succeed(NODE, MODULES / "@redocly/cli/bin/cli.js", "lint", "--extends", "recommended", document(release), REDOCLY_TELEMETRY="off")
    rules = RUNS / "spectral.yaml"
    rules.write_text('extends: ["spectral:oas"]\n')
    spectral = MODULES / "@stoplight/spectral-cli/dist/index.js"
    succeed(NODE, spectral, "lint", "--ruleset", rules, "--fail-severity", "error", document(release))
