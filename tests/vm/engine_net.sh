#!/bin/bash
# A network by name of a box of crun, on this kernel: the namespace and the gateway behind it are made before the runtime is called. Run by suite.sh,
# in the guest.
CORDON_ENGINE=crun
export CORDON_ENGINE
. "$(dirname "$0")/../egress/lib.sh"
need crun
is "$(web --allow api.example.com -- https://api.example.com/x)" "ok GET /x" "crun: an allowed name is reached"
isnt "$(to 192.0.2.10)" 0 "crun: at its own address"
result --allow api.example.com -- curl -sS -m 20 https://other.example.com/
expect "crun: another name is not even resolved" status=error exit_code=6 isolation.engine=crun 'denials=~other.example.com'
is "$(asked other.example.com)" 0 "crun: and nobody was asked for it"
status 0 "control: outside it can be reached" curl -sS -m 5 https://other.example.com/
is "$(ip -o link | wc -l)" 1 "crun: no link is left but the loopback"
done_testing
