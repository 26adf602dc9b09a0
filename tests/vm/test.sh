#!/bin/bash
# The body of `make test-vm`: what suite.sh chooses (VM_TESTS), for each user in turn (VM_USERS), in one boot; all results counted together,
# all within VM_TIMEOUT seconds. VM_UNTIL: what has not begun when the machine has been up for so many is skipped.
# test.sh systemd: that of `make test-systemd`: systemd.sh, in a boot with systemd. VM_SHORT=1: without its second half.
set -euo pipefail

here=$(dirname "$(readlink -f "$0")")
log=$(mktemp)
trap 'rm -f "$log"' EXIT
pass=()
TEST_UNTIL=${VM_UNTIL:-}
for name in CORDON_MUST VM_TESTS VM_SHORT TEST_TIMEOUT TEST_UNTIL JOBS; do
	[ -z "${!name:-}" ] || pass+=("$name=${!name}")
done
read -ra users <<<"${VM_USERS:-root tester tester-nodelegate}"

# In the guest, as root. A suite whose tests failed ends with 1; anything else is a failure of its own.
# shellcheck disable=SC2016 # for the guest's shell
each='users=$1 rc=0
shift
for user in $users; do
	echo "# vm: as $user, up for $(cut -d. -f1 /proc/uptime) s"
	vm-as "$user" env "$@" tests/vm/suite.sh "$user" || { status=$? rc=1; [ $status = 1 ] || echo "not ok - vm $user: the suite ended with status $status"; }
done
exit $rc'
rc=0
what=(--timeout "${VM_TIMEOUT:-600}" -- bash -c "$each" bash "${users[*]}" "${pass[@]}")
[ "${1:-}" != systemd ] || what=(--systemd --timeout "${VM_TIMEOUT:-400}" -- env "${pass[@]}" bash tests/vm/systemd.sh)
"$here/run.sh" "${what[@]}" | tee "$log" || rc=$?
if [ $rc != 0 ] && ! grep -q '^not ok' "$log"; then
	echo "not ok - vm: it ended with status $rc" | tee -a "$log"
fi

awk -v broken=$rc '
	/^ok/ { if (/# [Ss][Kk][Ii][Pp]/) skipped++; else passed++ }
	/^not ok/ { failed++ }
	END {
		printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
		exit broken || failed || !passed
	}' "$log"
