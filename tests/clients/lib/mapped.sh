# shellcheck shell=bash
#
# Lanes of shops of others behind a mapping: makes the sample of the shop once, tries the rules of the contract on it, and
# runs the tests that start shops of their own on copies of the sample.

# Drafts a mapping from what the shop publishes: everything that is wrong with it has to be a hole with a name.
drafted() {
  "$UCP_GATEWAY_BIN" backend draft "$1" "$2" >"$LANE_DIR/draft.toml"
  "$UCP_GATEWAY_BIN" backend try "$LANE_DIR/draft.toml" 2>"$LANE_DIR/holes" && return 1
  cat "$LANE_DIR/holes"
  ! grep -v -e ' cannot be used:$' -e ': the hole `' "$LANE_DIR/holes"
}

# The name of the mapping in examples, and the origin that it names.
mapped() {
  local name=$1 origin=$2 upper=${1^^} status=0 port shop
  local start=UCP_${upper}_SHOP mapping=$LANE_DIR/$name.toml
  export UCP_"${upper}"_DATA="$LANE_DIR/data"
  port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
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
  sed "s|$origin|http://127.0.0.1:$port|" "$REPOSITORY/examples/$name.toml" >"$mapping"
  "$UCP_GATEWAY_BIN" backend check "$mapping" --allow-writes || status=$?
  published "http://127.0.0.1:$port" || status=$?
  kill "$shop"
  wait "$shop" || true
  # The whole workspace is named so that everything is built as it was for the other tests.
  (cd "$REPOSITORY" && cargo test --workspace --locked --test it -- "$name::") | tee "$LANE_DIR/cargo.log" || status=$?
  python3 lib/cargo_junit.py <"$LANE_DIR/cargo.log" >"$LANE_DIR/junit-cargo.xml"
  exit "$status"
}
