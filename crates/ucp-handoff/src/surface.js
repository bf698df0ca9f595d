// A page that a platform shows while a buyer is authenticated: says that it is ready, does its work once the platform has
// agreed, and says when that is over (UCP Payment Authentication, surface rendering and notifications).
(() => {
  "use strict";
  const main = document.querySelector("main");
  const { action, version, step, begin, page, wait } = main.dataset;
  const native =
    window.EmbeddedActionProtocolConsumer ?? window.webkit?.messageHandlers?.EmbeddedActionProtocolConsumer;
  const peer = window.parent !== window ? window.parent : window.opener;
  const send = (message) => {
    const whole = { jsonrpc: "2.0", ...message };
    if (native) native.postMessage(JSON.stringify(whole));
    else peer.postMessage(whole, "*");
  };
  // Kept while the bank's page is in this window.
  const remember = (id) => {
    window.name = `ucp-action:${id}`;
    try {
      sessionStorage.setItem("ucp-action", id);
    } catch {
      // A browser may keep nothing for pages in frames.
    }
  };
  const remembered = () => {
    if (window.name.startsWith("ucp-action:")) return window.name.slice("ucp-action:".length);
    try {
      return sessionStorage.getItem("ucp-action");
    } catch {
      return null;
    }
  };
  let over = false;
  const end = (message) => {
    if (over) return;
    over = true;
    send(message);
  };
  const done = (id) => end({ method: "action.done", params: { id } });
  const failed = (code, content) =>
    end({
      method: "action.error",
      params: {
        id: action,
        error: {
          ucp: { version, status: "error" },
          messages: [{ type: "error", code, content, severity: "recoverable" }],
        },
      },
    });

  if (!native && !peer) {
    // Opened by a buyer: the page of the purchase says how to go on.
    location.replace(page);
    return;
  }
  if (step === "returned") {
    done(remembered() ?? "");
    return;
  }

  const start = () => {
    if (!begin) return failed("action_expired", "The authentication is not outstanding any more.");
    if (step === "challenge") {
      remember(action);
      location.replace(begin);
      return;
    }
    const frame = document.createElement("iframe");
    frame.hidden = true;
    frame.title = "";
    frame.referrerPolicy = "no-referrer";
    addEventListener("message", ({ source, origin: from, data }) => {
      if (source === frame.contentWindow && from === location.origin && data?.method === "action.done") done(action);
    });
    frame.src = begin;
    document.body.append(frame);
    // What became of it, the processor says.
    setTimeout(() => done(action), Number(wait));
  };
  let begun = false;
  const answered = (answer) => {
    if (begun || answer?.jsonrpc !== "2.0" || answer.id !== "ready") return;
    begun = true;
    const refused = !("result" in answer) || answer.result?.ucp?.status === "error";
    if (!refused) start();
  };
  if (native) {
    window.EmbeddedActionProtocol = {
      postMessage: (message) => answered(typeof message === "string" ? JSON.parse(message) : message),
    };
  } else {
    addEventListener("message", ({ source, data }) => {
      if (source === peer) answered(data);
    });
  }
  send({ id: "ready", method: "action.ready", params: { id: action, version } });
})();
