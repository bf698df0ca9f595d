#!/usr/bin/env bash
# Schemathesis makes up calls from the served OpenAPI documents, good and bad, and holds every answer against them.
#
# Left out are the checks that say nothing here: use_after_free and ensure_resource_availability need operations that
# create and delete, ignored_auth and object_level_authorization need credentials. The phase `stateful` needs links.
# The documents of older releases are left to their own clients; UCP_SCHEMATHESIS_RELEASES names fewer.
#
# Bounded and the same in every run: a lane must not fail by luck.
export PYTHONPATH=. SCHEMATHESIS_HOOKS=lib.schemathesis_hooks
status=0
for release in ${UCP_SCHEMATHESIS_RELEASES:-2026-04-08 2026-08-25}; do
  "$VENV/bin/schemathesis" run "$UCP_GATEWAY_URL/ucp/$release/openapi.json" \
    --header 'UCP-Agent: profile="https://platform.example/profile.json"' \
    --phases examples,coverage,fuzzing --max-examples 100 --generation-deterministic --continue-on-failure \
    --request-timeout 20 --max-response-time 5 \
    --exclude-checks use_after_free,ensure_resource_availability,ignored_auth,object_level_authorization \
    --no-color --report junit --report-junit-path "$LANE_DIR/junit-$release.xml" || status=$?
done
exit "$status"
