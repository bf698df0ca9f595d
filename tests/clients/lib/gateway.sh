# shellcheck shell=bash disable=SC2154 # run sets what is not set here
#
# Builds, starts and stops the gateway that the lanes speak to.

gateway_pid=

# Takes UCP_GATEWAY_BIN as it is, or builds the binary.
build_gateway() {
  if [[ -z ${UCP_GATEWAY_BIN:-} ]]; then
    (cd "$root" && cargo build --quiet -p ucp-gateway)
    UCP_GATEWAY_BIN=$target/debug/ucp-gateway
  fi
  [[ -x $UCP_GATEWAY_BIN ]] || { echo "There is no gateway to test: $UCP_GATEWAY_BIN" >&2; exit 2; }
  UCP_GATEWAY_BIN=$(realpath "$UCP_GATEWAY_BIN")
  export UCP_GATEWAY_BIN
}

# Starts it on a free loopback port with an empty data directory below $1, and waits until it answers.
start_gateway() {
  local port
  port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  export UCP_GATEWAY_URL=http://127.0.0.1:$port
  "$UCP_GATEWAY_BIN" serve --listen "127.0.0.1:$port" --data-dir "$1/data" --public-url "$UCP_GATEWAY_URL" \
    >"$1/gateway.log" 2>&1 &
  gateway_pid=$!
  for _ in {1..600}; do
    curl --silent --fail --max-time 2 --output /dev/null "$UCP_GATEWAY_URL/.well-known/ucp" && return
    gateway_is_alive || return 1
    sleep 0.1
  done
  echo "The gateway did not answer $UCP_GATEWAY_URL/.well-known/ucp within a minute."
  return 1
}

# No client may bring it down.
gateway_is_alive() {
  kill -0 "$gateway_pid" 2>/dev/null || { echo "The gateway is not running (any more); see gateway.log."; return 1; }
}

# Lets it shut down gracefully, but not forever.
stop_gateway() {
  [[ -n $gateway_pid ]] || return 0
  kill "$gateway_pid" 2>/dev/null || true
  for _ in {1..100}; do
    kill -0 "$gateway_pid" 2>/dev/null || break
    sleep 0.1
  done
  kill -KILL "$gateway_pid" 2>/dev/null || true
  wait "$gateway_pid" 2>/dev/null || true
  gateway_pid=
}
