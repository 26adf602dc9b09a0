#!/bin/bash
# The caller's keyrings do not come along: the calls are refused, and the session keyring is a new one behind that.
. "$(dirname "$0")/../lib.sh"
levels container process
need keyctl
keyctl show >/dev/null 2>&1 || skip_all "this kernel has no keyrings"

# A session keyring of the test's own with a key in it, for everything that follows.
if [ -z "${CORDON_TEST_KEY:-}" ]; then
	CORDON_TEST_KEY=1 keyctl session - bash "$0" 2>/dev/null
	tap_done=1
	exit
fi
id=$(keyctl add user cordon-canary secret-payload @s)
is "$(keyctl print "$id")" secret-payload "control: the key can be read outside"
is "$(bare calls keyctl)" "keyctl ok" "control: keyctl works outside"
is "$(probe calls keyctl add_key request_key)" $'keyctl EPERM\nadd_key EPERM\nrequest_key EPERM' "the calls are refused"
unlike "$(box -- keyctl print "$id" 2>&1)" secret-payload "the key cannot be read by its number"
unlike "$(box -- keyctl search @s user cordon-canary 2>&1)" "^[0-9]+$" "nor found by its name"
unlike "$(box -- cat /proc/keys 2>&1)" cordon-canary "nor seen in /proc/keys"

# The second lock, looked at with the first one off. Where seccomp cannot be had, only container level goes on, and only when told to.
without=$(dirname "$PROBE")/without
weak=("$without" seccomp -- "$CORDON" run --level "$LEVEL" --degrade seccomp --)
if [ "$LEVEL" = process ]; then
	done_testing
fi
if ! "${weak[@]}" true 2>/dev/null; then
	skip "the session keyring is new" "no box without seccomp to look from"
	done_testing
fi
said=$("${weak[@]}" keyctl show @s 2>&1)
like "$said" "_ses|session" "control: without seccomp keyctl works"
unlike "$said" cordon-canary "the key is not in the session keyring: it is new"
unlike "$("${weak[@]}" keyctl print "$id" 2>&1)" secret-payload "nor can it be read by its number"
done_testing
