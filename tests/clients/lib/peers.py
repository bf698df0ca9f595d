"""Shops that speak UCP and that nobody here wrote, each as it comes, with a gateway in front of it.

Between the gateway and the shop everything is written down: `Peer.calls` says what was asked and answered, and so does
`calls-SHOP.log` in the lane's folder.
"""

import json
import os
import shutil
import sqlite3
import subprocess
import time
import urllib.request
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from socket import socket

from lib.gateway import RUNS, run, serving
from lib.unreliable import Unreliable

ROOT = Path(os.environ["CLIENTS_DIR"])
LOOPBACK = Path(__file__).with_name("loopback.py")
# How long a shop may take to start, and the gateway for an answer of the shop.
STARTS, ANSWERS = 60, 30


@dataclass
class Peer:
    """A shop, what can be bought there, and the gateway in front of it."""

    name: str
    release: str
    # Where the shop is, as the gateway sees it, and by itself.
    url: str
    shop: str
    gateway: str = ""
    item: str = ""
    price: int = 0
    # A payment handler that takes any token, and one that declines some.
    handler: str = ""
    declining: str | None = None
    # Where the shop's own REST API is below its address.
    base: str = ""
    proxy: Unreliable | None = None
    log: Path | None = None
    # Where it keeps its checkouts, if that is a file.
    store: Path | None = None

    @property
    def calls(self):
        """What the shop was asked."""
        return self.proxy.calls

    def forget(self, id):
        """Has the shop forget a checkout."""
        with closing(sqlite3.connect(self.store, timeout=ANSWERS)) as store, store:
            assert store.execute("DELETE FROM checkouts WHERE id = ?", [id]).rowcount == 1

    def checkout(self, id):
        """What the shop itself says about a checkout."""
        headers = {"UCP-Agent": 'profile="http://127.0.0.1:9/none"', "Request-Signature": "test", "Request-Id": "1"}
        request = urllib.request.Request(f"{self.shop}{self.base}/checkout-sessions/{id}", headers=headers)
        with urllib.request.urlopen(request, timeout=ANSWERS) as response:
            return json.load(response)


def free_port():
    with socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def recorder(name, port):
    """A proxy before the shop at `port`, which hands everything on and writes it down, and misbehaves as it is told."""
    log = RUNS / f"calls-{name}.log"
    log.unlink(missing_ok=True)
    return Unreliable(f"http://127.0.0.1:{port}", log=log)


@contextmanager
def shop(name, venv, port, program, *arguments, folder, environment=None):
    """A shop that runs in `folder` with the packages of `venv`."""
    log = RUNS / f"{name}.log"
    command = [ROOT / "venv" / venv / "bin/python", LOOPBACK, program, *arguments]
    with log.open("wb") as output:
        process = subprocess.Popen(
            list(map(str, command)), cwd=folder, env=os.environ | (environment or {}), stdout=output, stderr=output
        )
    try:
        until = time.monotonic() + STARTS
        while True:
            assert process.poll() is None, f"the shop {name} ended:\n{log.read_text()}"
            assert time.monotonic() < until, f"the shop {name} did not answer within {STARTS} s:\n{log.read_text()}"
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/.well-known/ucp", timeout=2).close()
                break
            except OSError:
                time.sleep(0.1)
        yield log
    finally:
        process.terminate()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(timeout=10)


@contextmanager
def sample(release):
    """The flower shop of the protocol's own samples, as a check-out of a release has it."""
    name = f"ucp-peers-{release}"
    root = Path(os.environ[f"UCP_SAMPLES_{release.replace('-', '_')}_DIR"], "rest/python")
    data = RUNS / f"flowers-{release}"
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir(parents=True)
    stores = [f"--{kind}_db_path={data / kind}.db" for kind in ("products", "transactions")]
    fill = [ROOT / "venv" / name / "bin/python", "import_csv.py", *stores, f"--data_dir={root / 'test_data/flower_shop'}"]
    filled = subprocess.run(list(map(str, fill)), cwd=root / "server", capture_output=True, timeout=STARTS, check=False)
    assert filled.returncode == 0, filled.stderr.decode()
    port = free_port()
    proxy = recorder(name, port)
    program = root / "server/server.py"
    with shop(f"flowers-{release}", name, port, program, *stores, f"--port={port}", folder=root / "server") as log:
        yield Peer(
            name,
            release,
            proxy.url,
            f"http://127.0.0.1:{port}",
            item="bouquet_roses",
            price=3500,
            handler="google_pay",
            # Not in its profile.
            declining="mock_payment_handler",
            proxy=proxy,
            log=log,
            store=data / "transactions.db",
        )


@contextmanager
def ucpify(_release):
    """PyPI `ucpify`, with a shop of two goods."""
    folder = RUNS / "ucpify"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    port = free_port()
    proxy = recorder("ucpify", port)
    config = {
        "name": "Two goods",
        "domain": proxy.url,
        "currency": "USD",
        "tax_rate": 0.08,
        "items": [
            {"id": "lamp", "title": "Lamp", "price": 2500},
            {"id": "chair", "title": "Chair", "price": 5999},
        ],
        "shipping_options": [
            {"id": "standard", "title": "Standard", "price": 500},
            {"id": "express", "title": "Express", "price": 1500},
        ],
        "payment_handlers": [{"namespace": "com.stripe", "id": "stripe_handler", "config": {"publishable_key": "pk_test"}}],
    }
    (folder / "shop.json").write_text(json.dumps(config))
    # It imports a payment service's SDK under a name that no package has.
    stubs = {"LOOPBACK_STUBS": "paypalserversdk"}
    arguments = ["serve", "shop.json", "--port", port, "--no-db"]
    with shop("ucpify", "ucp-peers-ucpify", port, "ucpify.cli", *arguments, folder=folder, environment=stubs) as log:
        yield Peer(
            "ucpify",
            "2026-01-11",
            proxy.url,
            f"http://127.0.0.1:{port}",
            item="lamp",
            price=2500,
            handler="stripe_handler",
            base="/ucp/v1",
            proxy=proxy,
            log=log,
        )


@contextmanager
def fronted(peer):
    """The shop with a gateway in front of it, which signs what it asks."""
    data = RUNS / f"front-{peer.name}"
    shutil.rmtree(data, ignore_errors=True)
    run("keys", "generate", "--data-dir", data)
    with serving(data, f'[upstream]\nbackend = "ucp"\nurl = "{peer.url}"\n') as url:
        peer.gateway = url
        yield peer
