# shellcheck shell=bash
#
# Lanes of shops that nobody here wrote: makes the sample of the shop once, tries the rules of the contract on it, and runs
# the tests that start shops of their own on copies of the sample.

# The mapping of a name in examples, with a shop at some origin instead of the one that it names.
mapping() {
  sed "s|$2|$3|" "$REPOSITORY/examples/$1.toml" >"$LANE_DIR/$1.toml"
  echo "$LANE_DIR/$1.toml"
}

# The configuration of a gateway with the mapping of a name, where the shop has another origin than the one that it names.
mapped() {
  export UNRELIABLE_MAPPING=$LANE_DIR/unreliable-$2.toml
  sed "s|$1|{origin}|" "$REPOSITORY/examples/$2.toml" >"$UNRELIABLE_MAPPING"
  printf '[upstream]\nbackend = "mapped"\n'
}

# A gateway in front of the shop NAME at ORIGIN, and between them a proxy that misbehaves. The function `configured` says what the
# gateway's configuration is up to the section `upstream`, with `{origin}` for where the shop is.
behind_a_proxy_that_misbehaves() {
  configured >"$LANE_DIR/unreliable-config.toml"
  UNRELIABLE_SHOP=$1 UNRELIABLE_ORIGIN=$2 UNRELIABLE_DATA=$LANE_DIR/data UNRELIABLE_CONFIG=$LANE_DIR/unreliable-config.toml \
    PYTHONPATH=$PWD "$CLIENTS_DIR/venv/unreliable/bin/python" -m pytest -q --tb=short -p no:cacheprovider --color=no \
    --junitxml="$LANE_DIR/junit-unreliable.xml" lib/unreliable_shop.py
}

# The name of the shop. `checked ORIGIN`, a function of the lane, says what `backend check` is told about a shop there.
shop_of_others() {
  local name=$1 upper=${1^^} status=0 port shop words
  local start=UCP_${upper}_SHOP
  export UCP_"${upper}"_DATA="$LANE_DIR/data"
  port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  start_shop
  read -ra words <<<"$(checked "http://127.0.0.1:$port")"
  "$UCP_GATEWAY_BIN" backend check "${words[@]}" --allow-writes || status=$?
  kill "$shop"
  wait "$shop" || true
  # The whole workspace is named so that everything is built as it was for the other tests.
  (cd "$REPOSITORY" && cargo test --workspace --locked --test it -- "$name::") | tee "$LANE_DIR/cargo.log" || status=$?
  python3 lib/cargo_junit.py <"$LANE_DIR/cargo.log" >"$LANE_DIR/junit-cargo.xml"
  start_shop
  behind_a_proxy_that_misbehaves "$name" "http://127.0.0.1:$port" || status=$?
  exit "$status"
}

# Starts the shop of `shop_of_others`, and waits until it listens.
start_shop() {
  # shellcheck disable=SC2086 # the words of a command
  ${!start} "$LANE_DIR/data" "$port" >"$LANE_DIR/shop.out" 2>"$LANE_DIR/shop.log" &
  shop=$!
  trap 'kill '"$shop"' 2>/dev/null || true' EXIT
  for _ in $(seq 240); do
    grep -q '^http' "$LANE_DIR/shop.out" && break
    kill -0 "$shop" || { cat "$LANE_DIR/shop.log"; return 1; }
    sleep 1
  done
  grep '^http' "$LANE_DIR/shop.out"
}
