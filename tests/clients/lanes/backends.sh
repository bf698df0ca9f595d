#!/usr/bin/env bash
# The gateway in front of shops that implement the backend contract in other languages: the starters of examples/backend in
# TypeScript and Python. The type checker reads the one, OpenAPI tools the contract; both are checked by
# `ucp-gateway backend check` and by the rules that every backend has to pass.
#
# The lane's own gateway, in front of the sample shop, is not asked.
starters=$REPOSITORY/examples/backend
status=0
tried() { echo "+ $*"; "$@" || status=$?; }

tried "$CLIENTS_DIR/node_modules/.bin/tsc" --noEmit --strict --noImplicitAny false --target es2023 --module nodenext \
  --typeRoots "$CLIENTS_DIR/node_modules/@types" --types node "$starters/starter.ts"
tried "$CLIENTS_DIR/node_modules/.bin/redocly" lint --extends=minimal "$REPOSITORY/openapi/backend-contract.json"

secret=$LANE_DIR/secret
echo starter-secret >"$secret"
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
start() {
  local name=$1 port
  port=$(free_port)
  BACKEND_SECRET=$(<"$secret") PORT=$port "${@:2}" >"$LANE_DIR/$name.log" 2>&1 &
  for _ in $(seq 100); do
    curl --silent --output /dev/null --max-time 5 "http://127.0.0.1:$port/backend" && break
    sleep 0.2
  done
  url=http://127.0.0.1:$port
}

start typescript "$NODE" --disable-warning=ExperimentalWarning "$starters/starter.ts"
export UCP_STARTER_TYPESCRIPT_URL=$url
start python "$VENV/bin/python" "$starters/starter.py"
export UCP_STARTER_PYTHON_URL=$url
for url in "$UCP_STARTER_TYPESCRIPT_URL" "$UCP_STARTER_PYTHON_URL"; do
  tried "$UCP_GATEWAY_BIN" backend check "$url" --signing-secret-file "$secret" --allow-writes
done

# The whole workspace is named so that everything is built as it was for the other tests.
(cd "$REPOSITORY" && cargo test --workspace --locked --test it -- starter_in_) | tee "$LANE_DIR/cargo.log" || status=$?
python3 lib/cargo_junit.py <"$LANE_DIR/cargo.log" >"$LANE_DIR/junit-cargo.xml"
exit "$status"
