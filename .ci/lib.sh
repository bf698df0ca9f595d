# shellcheck shell=bash
#
# Shared by run and full: the environment of every step, and how long each took. Sourced from the root of the repository.

export CARGO_TERM_COLOR=never CARGO_INCREMENTAL=0
# Tests wait for processes, sockets and disks more than they compute.
export RUST_TEST_THREADS=${RUST_TEST_THREADS:-$((2 * $(nproc)))}
# Official schemas beside the checkout: answers are validated against them.
if [ -d ../shared/ucp ]; then
    UCP_SPEC_DIR=$(cd ../shared/ucp && pwd)
    export UCP_SPEC_DIR
fi
# Founding documents beside the checkout: their examples have to work.
if [ -d ../shared/founding ]; then
    UCP_FOUNDING_DIR=$(cd ../shared/founding && pwd)
    export UCP_FOUNDING_DIR
fi
target=$(realpath --canonicalize-missing "${CARGO_TARGET_DIR:-target}")

# The command in the documentation's code block `sh NAME`: what a reader finds is what is run.
documented() { awk -v info="\`\`\`sh $1" '$0 == info { on = 1; next } /^```/ { on = 0 } on' README.md docs/*.md; }

# Installs Debian packages of which a command is missing: `apt COMMAND PACKAGE...`.
apt() {
    # Debian keeps the programs of PostgreSQL elsewhere.
    [ -n "$(command -v "$1" || compgen -G "/usr/lib/postgresql/*/bin/$1" || compgen -G "/usr/sbin/$1")" ] && return
    apt-get update
    DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends "${@:2}"
}

# A row of the table "Build and proof" in bench/log.md: the seconds that were measured last for NAME.
last_measured() { awk -F'|' -v name="$1" '$2 ~ name { gsub(/[^0-9]/, "", $3); print $3; exit }' bench/log.md; }

# Prints the seconds of NAME beside those measured last and the promise.
figure() { # NAME SECONDS PROMISE
    local verdict=kept
    [ "$2" -le "$3" ] || verdict=BROKEN
    printf '%-46s %5s s (bench/log.md: %s s; at most %s s: %s)\n' "$1" "$2" "$(last_measured "$1")" "$3" "$verdict"
}
