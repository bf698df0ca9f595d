"""The shopper that every agent of the lanes is, and the model that it runs on.

`decide` is the whole of it: from what the tools have said so far it makes the next call. The shopper searches with a
mistake, is refused, reads why, corrects itself, and buys. It goes on only with what it has read: a client that hides
the refusal from its model ends with a sentence that says so.

    python shopper.py LOG

serves the shopper on a port of this machine, which it prints, to clients that think they speak to a model:

    POST /v1/chat/completions    OpenAI's chat completions, whole and in pieces
    POST /v1/responses           OpenAI's responses, whole and in pieces
    POST /v1/messages            Anthropic's messages, whole and in pieces
    POST /v1beta/models/...      Google's generateContent, whole and in pieces
    POST /decide                 {"results": [...]}, for clients without a model

LOG gets a line of JSON for each request: what the model read of its tools, and what it said.
"""

import json
import re
import sys
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PROFILE = "https://platform.example/profiles/lane.json"
META = {"ucp-agent": {"profile": PROFILE}}
QUERY = "sunrise filter"
BUYER = {"email": "buyer@example.com", "first_name": "Bea", "last_name": "Buyer"}
DESTINATION = {
    "street_address": "1 Main St",
    "address_locality": "Eugene",
    "address_region": "OR",
    "postal_code": "97401",
    "address_country": "US",
}
# What the refusal of the mistake has to say: where it was, and what would be accepted.
TOLD = ("$.pagination.limit", "at least 1")
# The words that the shopper begins its last sentence with.
BOUGHT = "Bought"


def document(text):
    """The document of UCP in what a client makes of a result, however deep it is wrapped."""
    for _ in range(4):
        start = text.find('{"ucp"')
        if start >= 0:
            try:
                return json.JSONDecoder().raw_decode(text[start:])[0]
            except ValueError:
                pass
        # A text within a text, as JSON or as a list of parts writes it.
        text = text.replace('\\"', '"').replace("\\\\", "\\")
    raise ValueError("there is no document of the shop")


def decide(results):
    """The next call, as (tool, arguments), or (None, the last sentence)."""
    try:
        return step(results)
    except Exception as error:  # whatever the client made of the result
        return None, f"Lost ({error}): {results[-1][:600]}"


def step(results):
    count = len(results)
    if count == 0:
        return "search_catalog", {"meta": META, "catalog": {"query": QUERY, "pagination": {"limit": 0}}}
    if count == 1:
        hidden = [words for words in TOLD if words not in results[0]]
        if hidden:
            return None, f"Blind to {hidden}: {results[0][:600]}"
        return "search_catalog", {"meta": META, "catalog": {"query": QUERY, "pagination": {"limit": 3}}}
    if count == 2:
        [variant, *_] = document(results[1])["products"][0]["variants"]
        checkout = {
            "line_items": [{"item": {"id": variant["id"]}, "quantity": 1}],
            "buyer": BUYER,
            "fulfillment": {"methods": [{"type": "shipping", "destinations": [DESTINATION]}]},
        }
        return "create_checkout", {"meta": META, "checkout": checkout}
    if count == 3:
        checkout = document(results[2])
        assert checkout["status"] == "ready_for_complete", checkout["messages"]
        [[handler]] = checkout["ucp"]["payment_handlers"].values()
        card = {
            "id": "card_1",
            "type": "card",
            "handler_id": handler["id"],
            "selected": True,
            "display": {"brand": "visa", "last_digits": "1111"},
            "credential": {"type": "token", "token": "success_token"},
        }
        meta = META | {"idempotency-key": f"pay-{checkout['id']}"}
        return "complete_checkout", {"meta": meta, "id": checkout["id"], "checkout": {"payment": {"instruments": [card]}}}
    completed = document(results[3])
    assert completed["status"] == "completed", completed
    return None, f"{BOUGHT} {completed['order']['id']}"


def text_of(content):
    """The text of a message, whose content is a text or a list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(text_of(part.get("text", part.get("content", part)) if isinstance(part, dict) else part) for part in content)
    return json.dumps(content)


def tool_named(name, offered):
    """The name under which a client offers a tool: some put that of the server before it."""
    return next((own for own in offered if own == name or own.endswith(name)), None)


class Turn:
    """One request to the model: what it reads of its tools, and what it says."""

    def __init__(self, results, offered):
        self.results, self.offered = results, offered
        self.tool, said = decide(results)
        self.text = said if self.tool is None else ""
        self.arguments = said if self.tool else None
        if self.tool:
            own = tool_named(self.tool, offered)
            if own is None:
                self.tool, self.text = None, f"Without {self.tool}: {', '.join(offered)}"
            else:
                self.tool = own
        # Agents that end with a tool of their own.
        elif (last := tool_named("final_answer", offered)) is not None:
            self.tool, self.arguments = last, {"answer": self.text}
        self.id = f"call_{uuid.uuid4().hex[:12]}"


def chat(body):
    """OpenAI's chat completions."""
    results = [text_of(message["content"]) for message in body["messages"] if message["role"] in ("tool", "function")]
    if not results:
        # Agents that tell their model about tools in words.
        told = [text_of(message["content"]) for message in body["messages"] if message["role"] == "user"]
        results = [text for text in told if text.lstrip().startswith("Observation:")]
    turn = Turn(results, [tool["function"]["name"] for tool in body.get("tools", [])])
    message = {"role": "assistant", "content": turn.text or None}
    if turn.tool:
        function = {"name": turn.tool, "arguments": json.dumps(turn.arguments)}
        message["tool_calls"] = [{"id": turn.id, "type": "function", "function": function}]
    finish = "tool_calls" if turn.tool else "stop"
    head = {"id": f"chatcmpl-{turn.id}", "created": 1, "model": body.get("model", "shopper")}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    if not body.get("stream"):
        choice = {"index": 0, "message": message, "finish_reason": finish, "logprobs": None}
        return turn, head | {"object": "chat.completion", "choices": [choice], "usage": usage}
    for number, call in enumerate(message.get("tool_calls", [])):
        call["index"] = number
    piece = head | {"object": "chat.completion.chunk"}
    pieces = [
        piece | {"choices": [{"index": 0, "delta": message, "finish_reason": None}]},
        piece | {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
        piece | {"choices": [], "usage": usage},
    ]
    return turn, [(None, piece) for piece in pieces] + [(None, "[DONE]")]


def responses(body):
    """OpenAI's responses."""
    items = body["input"] if isinstance(body["input"], list) else []
    results = [text_of(item["output"]) for item in items if item.get("type") == "function_call_output"]
    offered, spaces = [], {}
    for tool in body.get("tools", []):
        # Some put the tools of a server into a namespace.
        for own in tool.get("tools", [tool]):
            if "name" in own:
                offered.append(own["name"])
                spaces[own["name"]] = tool["name"] if "tools" in tool else None
    turn = Turn(results, offered)
    if turn.tool:
        item = {
            "type": "function_call",
            "id": f"fc_{turn.id}",
            "call_id": turn.id,
            "name": turn.tool,
            "arguments": json.dumps(turn.arguments),
            "status": "completed",
        }
        if spaces[turn.tool]:
            item["namespace"] = spaces[turn.tool]
    else:
        content = [{"type": "output_text", "text": turn.text, "annotations": [], "logprobs": []}]
        item = {"type": "message", "id": f"msg_{turn.id}", "role": "assistant", "status": "completed", "content": content}
    usage = {
        "input_tokens": 1,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 1,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 2,
    }
    response = {
        "id": f"resp_{turn.id}",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": body.get("model", "shopper"),
        "output": [item],
        "parallel_tool_calls": False,
        "tool_choice": "auto",
        "tools": [],
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "usage": usage,
    }
    if not body.get("stream"):
        return turn, response
    begun = response | {"status": "in_progress", "output": []}
    events = [
        {"type": "response.created", "response": begun},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": response},
    ]
    if turn.text:
        place = {"item_id": item["id"], "output_index": 0, "content_index": 0}
        events.insert(2, {"type": "response.output_text.delta", "delta": turn.text, "logprobs": []} | place)
    return turn, [(event["type"], event | {"sequence_number": number}) for number, event in enumerate(events)]


def messages(body):
    """Anthropic's messages."""
    parts = [part for message in body["messages"] if isinstance(message["content"], list) for part in message["content"]]
    results = [text_of(part.get("content", "")) for part in parts if part.get("type") == "tool_result"]
    turn = Turn(results, [tool["name"] for tool in body.get("tools", [])])
    if turn.tool:
        content = {"type": "tool_use", "id": f"toolu_{turn.id}", "name": turn.tool, "input": turn.arguments}
    else:
        content = {"type": "text", "text": turn.text}
    stop = "tool_use" if turn.tool else "end_turn"
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {
        "id": f"msg_{turn.id}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model", "shopper"),
        "content": [content],
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": usage,
    }
    if not body.get("stream"):
        return turn, message
    if turn.tool:
        begun, delta = content | {"input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(turn.arguments)}
    else:
        begun, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": turn.text}
    events = [
        {"type": "message_start", "message": message | {"content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": begun},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
    ]
    return turn, [(event["type"], event) for event in events]


def contents(body, pieces):
    """Google's generateContent."""
    parts = [part for content in body["contents"] for part in content.get("parts", [])]
    results = [json.dumps(part["functionResponse"]["response"]) for part in parts if "functionResponse" in part]
    declared = [own for tool in body.get("tools", []) for own in tool.get("functionDeclarations", [])]
    turn = Turn(results, [own["name"] for own in declared])
    part = {"functionCall": {"name": turn.tool, "args": turn.arguments}} if turn.tool else {"text": turn.text}
    candidate = {"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    answer = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "shopper"}
    return turn, [(None, answer)] if pieces else answer


class Model(ThreadingHTTPServer):
    """The shopper as a server. `turns` has what was read and said, in the order of the requests."""

    daemon_threads = True

    def __init__(self, log=None):
        self.turns, self.log, self.lock = [], log, threading.Lock()
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"

    def __enter__(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()

    def keep(self, path, turn):
        said = {"path": path, "results": turn.results, "tool": turn.tool, "arguments": turn.arguments, "text": turn.text}
        with self.lock:
            self.turns.append(said)
            if self.log:
                with self.log.open("a") as log:
                    log.write(json.dumps(said) + "\n")

    def saw_the_refusal(self):
        """Whether some request to the model had the whole of the refusal."""
        return any(all(words in result for words in TOLD) for turn in self.turns for result in turn["results"])


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.answer({"object": "list", "data": [{"id": "shopper", "object": "model", "created": 1, "owned_by": "lane"}]})

    def do_HEAD(self):
        self.answer({})

    def do_POST(self):
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = self.path.split("?")[0]
        body = json.loads(raw or b"{}")
        if path == "/decide":
            tool, said = decide(body["results"])
            return self.answer({"tool": tool, "arguments": said} if tool else {"text": said})
        if path.endswith("/chat/completions"):
            turn, answer = chat(body)
        elif path.endswith("/responses"):
            turn, answer = responses(body)
        elif path.endswith("/messages"):
            turn, answer = messages(body)
        elif path.endswith(":generateContent") or path.endswith(":streamGenerateContent"):
            turn, answer = contents(body, path.endswith(":streamGenerateContent"))
        elif path.endswith("count_tokens") or path.endswith(":countTokens"):
            return self.answer({"input_tokens": 1, "totalTokens": 1})
        else:
            return self.answer({})
        self.server.keep(path, turn)
        if isinstance(answer, dict):
            return self.answer(answer)
        lines = []
        for event, data in answer:
            data = data if isinstance(data, str) else json.dumps(data)
            lines.append((f"event: {event}\n" if event else "") + f"data: {data}\n\n")
        self.send("text/event-stream", "".join(lines).encode())

    def answer(self, body):
        self.send("application/json", json.dumps(body).encode())

    def send(self, media_type, body):
        self.send_response(200)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_):
        pass


def shop_with(call, attempts=6):
    """Lets a client without a model shop: `call` calls a tool and gives its text. Returns the last sentence."""
    results = []
    for _ in range(attempts):
        tool, said = decide(results)
        if tool is None:
            return said
        results.append(call(tool, said))
    raise AssertionError("the shopper came to no end")


async def shop_with_async(call, attempts=6):
    """The same for clients that have to be awaited."""
    results = []
    for _ in range(attempts):
        tool, said = decide(results)
        if tool is None:
            return said
        results.append(await call(tool, said))
    raise AssertionError("the shopper came to no end")


if __name__ == "__main__":
    with Model(Path(sys.argv[1])) as model:
        print(model.url, flush=True)
        # Ends with the program that started it.
        sys.stdin.read()
