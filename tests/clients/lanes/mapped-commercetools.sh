#!/usr/bin/env bash
# The gateway in front of a project of commercetools, as a mock executes its API, by examples/commercetools.toml:
# `ucp-gateway backend check`, the rules that every backend has to pass, what tests/it/backends/shops.rs asks of shops of
# others, and lib/unreliable_shop.py.
#
# The lane's own gateway, in front of the sample shop, is not asked.
export UCP_COMMERCETOOLS_SHOP="$NODE $CLIENTS_DIR/upstreams/commercetools/shop.mjs"
export COMMERCETOOLS_CLIENT_SECRET=secret-of-the-client
source lib/others.sh
checked() { mapping commercetools http://127.0.0.1:18767 "$1"; }
configured() { mapped http://127.0.0.1:18767 commercetools; }
shop_of_others commercetools
