#!/bin/bash
# The body of `make test-vm`: what suite.sh chooses (VM_TESTS), one boot for each user, all results counted together, all within VM_TIMEOUT seconds.
set -euo pipefail

here=$(dirname "$(readlink -f "$0")")
log=$(mktemp)
trap 'rm -f "$log" "$log.one"' EXIT
env=()
for name in CORDON_MUST VM_TESTS TEST_TIMEOUT JOBS; do
	[ -z "${!name:-}" ] || env+=(--env "$name=${!name}")
done

broken=0
for user in ${VM_USERS:-root tester tester-nodelegate}; do
	echo "# vm: as $user"
	rc=0
	left=$((${VM_TIMEOUT:-600} - SECONDS))
	"$here/run.sh" --user "$user" --timeout "$((left > 0 ? left : 1))" "${env[@]}" -- tests/vm/suite.sh "$user" |
		tee "$log.one" | sed -u -E '/^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$/d' || rc=$?
	# A suite that ends badly without naming a failed test is itself one.
	if [ $rc != 0 ] && ! grep -q '^not ok' "$log.one"; then
		echo "not ok - vm $user: the suite ended with status $rc" | tee -a "$log.one"
	fi
	[ $rc = 0 ] || broken=1
	cat "$log.one" >> "$log"
done

awk -v broken=$broken '
	/^ok/ { if (/# [Ss][Kk][Ii][Pp]/) skipped++; else passed++ }
	/^not ok/ { failed++ }
	END {
		printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
		exit broken || failed || !passed
	}' "$log"
