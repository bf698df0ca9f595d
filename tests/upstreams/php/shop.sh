#!/usr/bin/env bash
# The starter of the backend contract in PHP, examples/backend/starter.php, by PHP's own server.
#
#   shop.sh DIRECTORY PORT
#
# What it keeps is in the directory. The shop says where it listens once it does. The secret is BACKEND_SECRET.
set -euo pipefail
export STARTER_DATA=$1
address=127.0.0.1:$2
mkdir -p "$STARTER_DATA"
# Ends by itself if the server does not come.
(
  for _ in {1..300}; do
    if curl --silent --output /dev/null --max-time 5 "http://$address/backend"; then
      echo "http://$address"
      exit
    fi
    sleep 0.1
  done
) &
exec php -q -S "$address" "$(dirname "$0")/../../../examples/backend/starter.php"
