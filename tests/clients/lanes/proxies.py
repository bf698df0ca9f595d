"""Debian's nginx, Caddy and HAProxy, configured by docs/behind-a-proxy.md as it stands: platforms reach the gateway through them,
are told apart, and find their signatures verified."""

import http.client
import json
import os
import re
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from lib.gateway import RUNS, platform_profile
from lib.shop import CALLS

sys.path.append(str(Path(os.environ["REPOSITORY"], "crates/ucp-trust/tests/vectors")))

import make  # noqa: E402

PAGE = Path(os.environ["REPOSITORY"], "docs/behind-a-proxy.md").read_text()
NAME = "shop.example.com"
PROFILE = "https://agent.example.com/profile.json"
AGENT = f'profile="{PROFILE}"'
SEARCH = CALLS[0][1]


def block(name):
    """The block of the page that is called this."""
    [text] = re.findall(rf"^```\S+ {name}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return text


def free_address():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{free.getsockname()[1]}"


def until(what, found, seconds=60):
    end = time.monotonic() + seconds
    while not (value := found()):
        assert time.monotonic() < end, f"waited {seconds} s for {what}"
        time.sleep(0.1)
    return value


def started(command, log, answers):
    """A process that runs until the end of the module, once it answers."""
    with log.open("wb") as output:
        process = subprocess.Popen(list(map(str, command)), stdout=output, stderr=output)

    def is_up():
        assert process.poll() is None, log.read_text()
        try:
            return answers()
        except (OSError, http.client.HTTPException):
            return None

    until(f"{command[0]} to answer", is_up)
    return process


@pytest.fixture(scope="module")
def folder():
    return Path(tempfile.mkdtemp(dir=RUNS, prefix="proxies-"))


def certificate(folder):
    """A certificate for the shop that is its own authority: its file, that of its key, and that of both."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, NAME)])
    begun = datetime.now(UTC) - timedelta(hours=1)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(x509.random_serial_number()).not_valid_before(begun)
    builder = builder.not_valid_after(begun + timedelta(days=2))
    builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
    made = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True).sign(key, hashes.SHA256())
    files = [folder / "shop.crt", folder / "shop.key", folder / "shop.pem"]
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    for file, content in zip(files, [made.public_bytes(Encoding.PEM), secret], strict=False):
        file.write_bytes(content)
    files[2].write_bytes(files[0].read_bytes() + secret)
    return files


@pytest.fixture(scope="module")
def tls(folder):
    return certificate(folder)


class Place:
    """A gateway, and how to start one with more configuration."""

    def __init__(self, folder, name, more=""):
        self.address = free_address()
        config = folder / f"{name}.toml"
        config.write_text(block("gateway").replace("127.0.0.1:8080", self.address) + more)
        profile = f"http://{self.address}/.well-known/ucp"
        command = [os.environ["UCP_GATEWAY_BIN"], "serve", "--config", config, "--data-dir", folder / name]
        self.process = started(command, folder / f"{name}.log", lambda: urllib.request.urlopen(profile, timeout=5).status)


@pytest.fixture(scope="module")
def gateway(folder):
    """A gateway that knows a platform which signs, and serves strangers sparingly."""
    (folder / "profile.json").write_text(json.dumps(platform_profile("2026-08-25", keys=make.PUBLIC)))
    place = Place(
        folder,
        "gateway",
        f"""
[callers]
policy = "lenient"
[limits]
anonymous = {{ per_second = 1, burst = 40 }}
[[platform]]
name = "Example Agent"
profile = "{PROFILE}"
profile_file = "{folder}/profile.json"
""",
    )
    yield place
    place.process.terminate()
    place.process.wait(timeout=60)


def nginx(folder, address, tls, gateway, change=lambda text: text):
    port = address.split(":")[1]
    text = change(block("nginx")).replace("listen 443", f"listen {address}").replace("127.0.0.1:8080", gateway)
    text = re.sub(r"/etc/nginx/tls/\S+\.crt", str(tls[0]), re.sub(r"/etc/nginx/tls/\S+\.key", str(tls[1]), text))
    paths = "".join(f"{kind}_temp_path {folder}/{port}-{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    around = f"daemon off; pid {folder}/nginx-{port}.pid; error_log stderr; events {{}} http {{ access_log off; {paths}\n{text}}}\n"
    config = folder / f"nginx-{port}.conf"
    config.write_text(around)
    return ["nginx", "-c", config, "-e", "stderr"]


def caddy(folder, address, tls, gateway):
    text = block("caddy").replace(f"{NAME} {{", f"https://{NAME}:{address.split(':')[1]} {{\n tls {tls[0]} {tls[1]}", 1)
    config = folder / "Caddyfile"
    config.write_text("{\n auto_https off\n admin off\n}\n" + text.replace("127.0.0.1:8080", gateway))
    return ["caddy", "run", "--config", config, "--adapter", "caddyfile"]


def haproxy(folder, address, tls, gateway):
    text = block("haproxy").replace("bind :443", f"bind {address}").replace("127.0.0.1:8080", gateway)
    config = folder / "haproxy.cfg"
    config.write_text(re.sub(r"/etc/haproxy/tls/\S+\.pem", str(tls[2]), text))
    return ["haproxy", "-db", "-f", config]


class Proxy:
    def __init__(self, address, tls, log):
        self.address, self.log = address, log
        self.context = ssl.create_default_context(cafile=str(tls[0]))
        self.context.minimum_version = ssl.TLSVersion.TLSv1_3

    def connect(self, client="127.0.0.1"):
        host, port = self.address.split(":")
        plain = socket.create_connection((host, int(port)), timeout=40, source_address=(client, 0))
        connection = http.client.HTTPSConnection(NAME, timeout=40)
        connection.sock = self.context.wrap_socket(plain, server_hostname=NAME)
        return connection

    def send(self, method, path, headers=(), body=None, connection=None, client="127.0.0.1"):
        """The status of the answer, its headers, and its document."""
        own = connection is None
        connection = connection or self.connect(client)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        headers = dict(headers)
        for name, value in ({"Host": NAME} | headers).items():
            connection.putheader(name, value)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        answer = connection.getresponse()
        content = answer.read()
        if own:
            connection.close()
        return answer.status, answer.headers, content

    def search(self, path="/catalog/search", **more):
        headers = {"Content-Type": "application/json", "UCP-Agent": AGENT} | more.pop("headers", {})
        return self.send("POST", path, headers, json.dumps(SEARCH).encode(), **more)


@pytest.fixture(scope="module", params=[nginx, caddy, haproxy], ids=lambda proxy: proxy.__name__)
def proxy(request, folder, tls, gateway):
    address, log = free_address(), folder / f"{request.param.__name__}.log"
    proxy = Proxy(address, tls, log)
    command = request.param(folder, address, tls, gateway.address)
    process = started(command, log, lambda: proxy.send("GET", "/.well-known/ucp")[0] == 200)
    yield proxy
    process.terminate()
    process.wait(timeout=60)


def test_the_profile_has_the_addresses_that_clients_see(proxy):
    status, _, content = proxy.send("GET", "/.well-known/ucp")
    assert status == 200
    endpoints = [entry["endpoint"] for entries in json.loads(content)["ucp"]["services"].values() for entry in entries]
    assert endpoints
    assert all(endpoint.startswith(f"https://{NAME}") for endpoint in endpoints)


def test_calls_are_answered_over_both_transports(proxy):
    listing = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode()
    for slash in ("", "/"):
        status, _, content = proxy.search(f"/catalog/search{slash}", client="127.0.0.9")
        assert status == 200, content
        status, _, content = proxy.send("POST", f"/mcp{slash}", {"Content-Type": "application/json"}, listing, client="127.0.0.9")
        assert status == 200
        assert json.loads(content)["result"]["tools"]


def test_a_client_cannot_name_another_host(proxy):
    for name in ("X-Forwarded-Host", "Forwarded"):
        value = "evil.example" if name == "X-Forwarded-Host" else "for=1.2.3.4;host=evil.example"
        status, _, content = proxy.search(headers={name: value}, client="127.0.0.8")
        assert status == 200, content
    # Caddy has an empty answer for hosts that it does not know.
    status, _, content = proxy.search(headers={"Host": "evil.example"}, client="127.0.0.8")
    assert status != 200 or not content


def test_clients_are_counted_by_their_own_address(proxy):
    greedy, forged = "127.0.0.2", {"X-Forwarded-For": "203.0.113.7", "Forwarded": "for=203.0.113.8"}
    for number in range(200):
        status = proxy.search(headers=forged | {"X-Number": str(number)}, client=greedy)[0]
        if status == 429:
            break
    assert status == 429, "whoever names another address is counted by its own"
    assert proxy.search(client="127.0.0.3")[0] == 200, "others are not counted with it"


def test_signatures_are_verified_over_the_name_that_was_called(proxy):
    def signed(url):
        body = json.dumps(SEARCH).encode()
        lines = [("Host", NAME), ("Content-Type", "application/json"), ("UCP-Agent", AGENT)]
        message = make.Message("POST /catalog/search HTTP/1.1", lines, body, url=url)
        covered = [*make.TARGET, "ucp-agent", *make.BODY, "@target-uri", "@scheme"]
        message.sign("es256", covered, created=datetime.now(UTC).replace(microsecond=0))
        return dict(message.headers.items()), body

    headers, body = signed(f"https://{NAME}/catalog/search")
    status, _, content = proxy.send("POST", "/catalog/search", headers, body)
    assert status == 200, content
    headers, body = signed("https://elsewhere.example/catalog/search")
    headers["Host"] = NAME
    status, _, content = proxy.send("POST", "/catalog/search", headers, body)
    assert (status, json.loads(content)["code"]) == (401, "signature_invalid")


def test_answers_arrive_compressed(proxy):
    status, headers, content = proxy.send("GET", "/openapi.json", {"Accept-Encoding": "gzip"})
    assert (status, headers["Content-Encoding"]) == (200, "gzip")
    plain = proxy.send("GET", "/openapi.json")[2]
    assert len(content) * 3 < len(plain)


def test_a_connection_that_was_idle_is_used_again(proxy):
    connection = proxy.connect("127.0.0.4")
    assert proxy.search(connection=connection)[0] == 200
    # Longer than a header may take, and than the gateway once waited.
    time.sleep(18)
    assert proxy.search(connection=connection)[0] == 200
    connection.close()


def test_nginx_may_send_the_name_of_its_upstream_block(folder, tls, gateway):
    def without(*lines):
        return lambda text: "".join(line for line in text.splitlines(True) if not any(it in line for it in lines))

    host, forwarded = "proxy_set_header   Host ", "proxy_set_header   X-Forwarded-Host"
    for lines, expected in (((host,), 200), ((host, forwarded), 403)):
        address, log = free_address(), folder / "nginx-upstream.log"
        proxy = Proxy(address, tls, log)
        command = nginx(folder, address, tls, gateway.address, without(*lines))
        process = started(command, log, lambda proxy=proxy: proxy.send("GET", "/.well-known/ucp")[0] == 200)
        status, _, content = proxy.search(client="127.0.0.5")
        process.terminate()
        process.wait(timeout=60)
        assert status == expected, content
        assert expected == 200 or "server.hosts" in content.decode()


def test_a_restart_of_the_gateway_breaks_no_connection_of_the_proxy(folder, tls):
    """Many clients call through nginx while the gateway behind it is told to end: none gets half an answer."""
    place = Place(folder, "ending", '\n[callers]\npolicy = "lenient"\n[limits]\nanonymous = "none"\n')
    address, log = free_address(), folder / "nginx-ending.log"
    proxy = Proxy(address, tls, log)
    command = nginx(folder, address, tls, place.address)
    process = started(command, log, lambda: proxy.send("GET", "/.well-known/ucp")[0] == 200)
    ending, statuses = threading.Event(), []

    def call():
        while True:
            was_ending = ending.is_set()
            status = proxy.search()[0]
            # Once nobody listens any more, nginx says so.
            statuses.append(status)
            if status != 200 or was_ending:
                return

    clients = [threading.Thread(target=call) for _ in range(12)]
    for client in clients:
        client.start()
    until("some answers", lambda: len(statuses) > 100)
    place.process.terminate()
    assert place.process.wait(timeout=60) == 0
    ending.set()
    for client in clients:
        client.join(timeout=60)
    process.terminate()
    process.wait(timeout=60)
    told = log.read_text()
    assert set(statuses) <= {200, 502}
    assert "prematurely closed" not in told, told
    assert "reset by peer" not in told, told
