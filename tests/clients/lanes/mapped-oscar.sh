#!/usr/bin/env bash
# The gateway in front of a shop made with django-oscar, by examples/oscar.toml: `ucp-gateway backend check`, the rules that
# every backend has to pass, what tests/it/backends/shops.rs asks of shops of others, and lib/unreliable_shop.py.
#
# The lane's own gateway, in front of the sample shop, is not asked.
export UCP_OSCAR_SHOP="$VENV/bin/python $REPOSITORY/tests/upstreams/oscar/shop.py" OSCAR_STAFF_PASSWORD=staff-password
source lib/others.sh
checked() { mapping oscar http://127.0.0.1:18765 "$1"; }
configured() { mapped http://127.0.0.1:18765 oscar; }
shop_of_others oscar
