#!/bin/bash
# A corporate network: everything goes through a proxy, by name, and only what a rule allows.
. "$(dirname "$0")/lib.sh"
proxy=(--upstream-proxy http://192.0.2.99:3128)

is "$(web "${proxy[@]}" --allow api.example.com -- https://api.example.com/x)" "ok GET /x" "TLS through the proxy"
is "$(seen proxy '"asked": "api.example.com:443"')" 1 "which is asked for the name as the box said it"
is "$(asked api.example.com)" 0 "and resolves it: no question leaves"
is "$(web "${proxy[@]}" --allow api.example.com -- http://api.example.com/x)" "ok GET /x" "plain HTTP, too"
is "$(seen proxy '"asked": "api.example.com:80"')" 1 "as a connection like any other"
before=$(asked api.example.com)
is "$(web --allow api.example.com -- https://api.example.com/x)" "ok GET /x" "the same without it"
like "$(($(asked api.example.com) - before))" '^[12]$' "asks for the address itself"
is "$(seen proxy '"asked": "api.example.com:443"')" 1 "and not the proxy"

policy <<'YAML'
network:
  mode: allow
  upstream_proxy: http://192.0.2.99:3128
  allow:
    - {host: api.example.com, ports: [443], methods: [GET], paths: ["/x"]}
YAML
is "$(web --policy "$WORK/policy.yaml" -- https://api.example.com/x)" "ok GET /x" "TLS that is looked into"
like "$(web --policy "$WORK/policy.yaml" -- https://api.example.com/y)" 'cordon' "whose path is refused before the proxy hears of it"
is "$(seen http /y)" 0 "and does not arrive"

refused "another name" web "${proxy[@]}" --allow api.example.com -- https://other.example.com/x
is "$(seen proxy other.example.com)$(asked other.example.com)" 00 "is neither asked for nor resolved"
refused "another port" web "${proxy[@]}" --allow api.example.com -- https://api.example.com:8443/x
refused "the proxy itself, by its address" web "${proxy[@]}" --allow api.example.com -- http://192.0.2.99:3128/
is "$(seen proxy 8443)$(seen proxy '"asked": ""')" 00 "do not come to it, either"

result "${proxy[@]}" --allow forbidden.example.com -- curl -sS -m 5 https://forbidden.example.com/x
expect "a proxy that refuses" status=error 'network=~forbidden.example.com.*403'
result "${proxy[@]}" --allow broken.example.com -- curl -sS -m 5 https://broken.example.com/x
expect "one that does not speak HTTP" status=error 'network=~broken.example.com.*(proxy|answer)'
result --upstream-proxy http://192.0.2.99:3129 --allow api.example.com -- curl -sS -m 5 https://api.example.com/x
expect "one that is not there" status=error 'network=~api.example.com.*refused'
done_testing
