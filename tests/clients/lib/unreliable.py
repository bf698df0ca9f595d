"""A proxy in front of a shop that misbehaves as it is told: it caps pages, throttles, refuses, hangs, and lies.

usage: unreliable.py ORIGIN [SECRET]

Hands on what comes for the shop at ORIGIN, and prints where it listens and where it is told what to do, as JSON. It
signs what it changes as the backend contract does, with SECRET. `PUT /` there, with a list of rules, replaces those in force;
`GET /` tells what was asked since, and `DELETE /` forgets it. A rule is an object:

  about     an expression that is found in the address and body of the requests that it is for; all, if absent
  method    their method
  only      how many of them; all, if absent
  cap       names of numbers in the address or the JSON of a request, with what they are lowered to
  answer    what is answered in place of the shop: `status`, `headers`, `body`
  hang      seconds after which the connection is closed, without the shop
  late      seconds that the shop's answer is held back
  lost      the shop is asked, and its answer lost
  lie       places in a JSON answer, such as `lines.*.quantity`, with what is there instead
  twice     a member of a JSON answer that is named twice
"""

import hashlib
import hmac
import http.client
import json
import re
import sys
import threading
import time
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

# How long a shop may take for an answer.
ANSWERS = 60
# Headers that are about one connection, and what a changed body makes wrong.
OWN = {"connection", "content-length", "date", "keep-alive", "server", "transfer-encoding"}


@dataclass
class Call:
    """A request to the shop, and the answer."""

    method: str
    path: str
    headers: dict
    body: bytes
    status: int = 0
    answer: bytes = b""
    # Whether the shop was asked.
    arrived: bool = False

    def header(self, name):
        return next((value for each, value in self.headers.items() if each.lower() == name.lower()), None)

    def json(self):
        return json.loads(self.body)

    def text(self):
        """Address and body, as rules look at them."""
        return f"{self.method} {unquote(self.path)}\n{self.body.decode(errors='replace')}"

    def __str__(self):
        headers = "".join(f"{name}: {value}\n" for name, value in self.headers.items())
        answer = self.answer.decode(errors="replace")
        return f"{self.method} {self.path}\n{headers}\n{self.body.decode()}\n-> {self.status} {answer}\n"


def lowered(value, cap):
    """A JSON value with the numbers that `cap` names at most as large as it says."""
    if isinstance(value, dict):
        return {name: lowered(own, cap) if name not in cap else min(own, cap[name]) for name, own in value.items()}
    return [lowered(own, cap) for own in value] if isinstance(value, list) else value


def replace(document, place, value):
    """Puts `value` at every `place` that there is in a document."""
    step, *rest = place
    inside = document if isinstance(document, dict) else dict(enumerate(document)) if isinstance(document, list) else {}
    for name in [name for name in inside if step in ("*", str(name))]:
        if not rest:
            document[name] = value
        else:
            replace(document[name], rest, value)
    if not rest and isinstance(document, dict) and step != "*":
        document[step] = value


class Unreliable:
    """The proxy, in front of the shop at `origin`. `log` is a file to which every call is written."""

    def __init__(self, origin, secret=None, log=None):
        self.host, self.prefix = urlsplit(origin).netloc, urlsplit(origin).path
        self.secret, self.log = secret, log
        self.calls, self.rules, self.lock = [], [], threading.Lock()
        self.url = self.served(self.hand_on, "GET", "POST", "PUT", "PATCH", "DELETE")
        self.control = self.served(self.told, "GET", "PUT", "DELETE")

    @staticmethod
    def served(work, *methods):
        """A server that has `work` done for each request; gives its address."""

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

        for method in methods:
            setattr(Handler, f"do_{method}", lambda self: work(self))
        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{server.server_port}"

    def told(self, handler):
        body = handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
        with self.lock:
            if handler.command == "PUT":
                self.rules = json.loads(body)
            elif handler.command == "DELETE":
                self.calls.clear()
            calls = [{"text": call.text(), "status": call.status, "arrived": call.arrived} for call in self.calls]
        said = json.dumps(calls).encode() if handler.command == "GET" else b"{}"
        self.say(handler, 200, [("Content-Type", "application/json")], said)

    @contextmanager
    def misbehaves(self, *rules):
        """The shop is as the rules say while this is open."""
        try:
            self.tell("DELETE")
            self.tell("PUT", rules)
            yield
        finally:
            self.tell("PUT", [])

    def tell(self, method, rules=()):
        request = urllib.request.Request(self.control, json.dumps(rules).encode(), method=method)
        urllib.request.urlopen(request, timeout=ANSWERS).close()

    def rule(self, call):
        """The first rule that a call is for."""
        with self.lock:
            self.calls.append(call)
            for rule in self.rules:
                if rule.get("only", 1) <= 0 or rule.get("method", call.method) != call.method:
                    continue
                if re.search(rule.get("about", ""), call.text()):
                    if "only" in rule:
                        rule["only"] -= 1
                    return rule
        return {}

    def hand_on(self, handler):
        # Nothing is compressed that may have to be changed.
        headers = {name: value for name, value in handler.headers.items() if name.lower() != "accept-encoding"}
        body = handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
        call = Call(handler.command, handler.path, headers, body)
        rule = self.rule(call)
        if "hang" in rule:
            time.sleep(rule["hang"])
            return self.hang_up(handler)
        if "answer" in rule:
            answer = rule["answer"]
            call.status, call.answer = answer["status"], answer.get("body", "").encode()
            return self.say(handler, call.status, answer.get("headers", {}).items(), call.answer)
        if "cap" in rule:
            self.cap(call, rule["cap"])
        try:
            headers = self.ask(call)
        except OSError:
            return self.hang_up(handler)
        finally:
            if self.log:
                with self.lock, self.log.open("a") as written:
                    print(call, file=written)
        time.sleep(rule.get("late", 0))
        if rule.get("lost"):
            return self.hang_up(handler)
        if "instead" in rule:
            return self.say(handler, rule["instead"]["status"], (), b"")
        answer = call.answer
        if "lie" in rule:
            document = json.loads(answer)
            for place, value in rule["lie"].items():
                replace(document, place.split("."), value)
            answer = json.dumps(document).encode()
        if "twice" in rule:
            member = json.dumps(rule["twice"]).encode()
            answer = re.sub(re.escape(member) + rb"\s*:", lambda _: member + b':"first",' + member + b":", answer, count=1)
        return self.say(handler, call.status, headers, answer)

    def ask(self, call):
        """Asks the shop, and gives the headers of its answer."""
        shop = http.client.HTTPConnection(self.host, timeout=ANSWERS)
        try:
            # With the `Host` that was asked for: shops write it into their profiles.
            shop.request(call.method, self.prefix + call.path, call.body or None, call.headers)
            call.arrived = True
            answer = shop.getresponse()
            call.status, call.answer = answer.status, answer.read()
            return answer.getheaders()
        finally:
            shop.close()

    def cap(self, call, cap):
        for name, most in cap.items():
            pattern = rf"(?<=[?&]{re.escape(name)}=)\d+"
            call.path = re.sub(pattern, lambda found, most=most: str(min(int(found[0]), most)), call.path)
        if call.body:
            call.body = json.dumps(lowered(call.json(), cap)).encode()
        headers = {name.lower(): value for name, value in call.headers.items()} | {"content-length": str(len(call.body))}
        if self.secret and "x-signature" in headers:
            parts = [headers["x-signature-timestamp"].encode(), call.method.encode(), call.path.encode(), call.body]
            digest = hmac.new(self.secret.encode(), b"\n".join(parts), hashlib.sha256).hexdigest()
            headers["x-signature"] = f"sha256={digest}"
        call.headers = headers

    @staticmethod
    def hang_up(handler):
        handler.close_connection = True

    @staticmethod
    def say(handler, status, headers, body):
        # Whoever does not wait any more hears nothing.
        try:
            handler.send_response(status)
            for name, value in headers:
                if name.lower() not in OWN:
                    handler.send_header(name, value)
            handler.send_header("Content-Length", str(len(body)))
            handler.end_headers()
            handler.wfile.write(body)
        except OSError:
            handler.close_connection = True


if __name__ == "__main__":
    proxy = Unreliable(*sys.argv[1:])
    print(json.dumps({"url": proxy.url, "control": proxy.control}), flush=True)
    # It ends with whoever holds its standard input.
    sys.stdin.read()
