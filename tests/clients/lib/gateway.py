"""One more gateway than the lane has anyway, and a place for the profiles of platforms."""

import json
import os
import socket
import subprocess
import tempfile
import threading
import time
import urllib.request
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

RUNS = Path(os.environ["LANE_DIR"])


def run(*arguments, message=None):
    """Runs a command of the gateway, and returns its exit code and what it printed."""
    done = subprocess.run(
        [os.environ["UCP_GATEWAY_BIN"], *map(str, arguments)], input=message, capture_output=True, timeout=30, check=False
    )
    assert done.returncode in (0, 2), done.stderr.decode()
    return done.returncode, done.stdout


@contextmanager
def serving(data, toml, tls=None):
    """A gateway over the directory `data`, configured by `toml`; gives its address.

    It speaks TLS if `tls` is a context that trusts its certificate.
    """
    config, log = data.with_suffix(".toml"), data.with_suffix(".log")
    config.write_text(toml)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    url = f"{'https' if tls else 'http'}://{address}"
    command = ["serve", "--config", config, "--listen", address, "--public-url", url, "--data-dir", data]
    with log.open("wb") as output:
        process = subprocess.Popen([os.environ["UCP_GATEWAY_BIN"], *map(str, command)], stdout=output, stderr=output)
    try:
        until = time.monotonic() + 60
        while True:
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < until, "it did not answer within a minute"
            try:
                urllib.request.urlopen(f"{url}/.well-known/ucp", timeout=2, context=tls).close()
                break
            except OSError:
                time.sleep(0.1)
        yield url
        assert process.poll() is None, log.read_text()
    finally:
        process.terminate()
        process.wait(timeout=20)


def published_profile(path):
    """The profile at `path` of a gateway that has a key."""
    data = Path(tempfile.mkdtemp(dir=RUNS, prefix="keys-"))
    run("keys", "generate", "--data-dir", data)
    with serving(data, "") as url, urllib.request.urlopen(url + path, timeout=20) as response:
        return json.load(response)


# How a gateway is configured that fetches profiles from this machine, and serves nobody whose profile it cannot have.
FETCHING = """
[callers]
policy = "require"

[profiles]
loopback = true
# All platforms share one address here, and so one share of the fetches.
fetches = { per_second = 1000, burst = 1000 }
"""


def platform_profile(version, **members):
    """The profile of a platform of a release, as that release writes it, with all that the catalog needs."""
    names = [f"dev.ucp.shopping.catalog.{name}" for name in ("search", "lookup")]
    if version == "2026-01-11":
        capabilities = [{"name": name, "version": version} for name in names]
    else:
        capabilities = {name: [{"version": version}] for name in names}
    return {"ucp": {"version": version, "capabilities": capabilities}, **members}


class Host:
    """Where platforms have their profiles: serves what `pages` has, and counts the visits."""

    def __init__(self):
        pages, visits = self.pages, self.visits = {}, []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                visits.append(self.path)
                body = json.dumps(pages.get(self.path)).encode()
                self.send_response(200 if self.path in pages else 404)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def put(self, path, page):
        """Puts a JSON document at `path` and gives its address."""
        self.pages[path] = page
        return self.url + path
