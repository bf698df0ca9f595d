#!/usr/bin/env bash
# The gateway in front of a shop made with Salesman, by examples/salesman.toml: `ucp-gateway backend check`, the rules that
# every backend has to pass, what tests/it/backends/shops.rs asks of shops of others, and lib/unreliable_shop.py.
#
# The lane's own gateway, in front of the sample shop, is not asked.
export UCP_SALESMAN_SHOP="$VENV/bin/python $REPOSITORY/tests/upstreams/salesman/shop.py" SALESMAN_STAFF_PASSWORD=staff-password
source lib/others.sh
checked() { mapping salesman http://127.0.0.1:18768 "$1"; }
configured() { mapped http://127.0.0.1:18768 salesman; }
shop_of_others salesman
