#!/bin/sh
# Every policy key, flag and subcommand stands in the manual: check-man.sh CORDON
# The command's own tables are the truth; the pages are read as plain text, as a user sees them.
set -eu
cordon=$1
status=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for page in cordon.1 cordon-policy.5; do
	mandoc -T utf8 -O width=1000 "man/$page" | col -bx >"$work/$page"
done
want() { # WORD PAGE
	grep -qE -- "(^|[^a-z0-9_.-])$1($|[^a-z0-9_-])" "$work/$2" && return
	echo "man/$2: no word on $1" >&2
	status=1
}
"$cordon" help options | awk 'NR > 1 { print $1, $2 }' >"$work/options"
while read -r key flag; do
	want "$key" cordon-policy.5
	[ "$flag" = - ] || want "$flag" cordon.1
done <"$work/options"
for command in run code plan policy config doctor languages image help version; do
	"$cordon" completion words "$command" - | grep -o '^--[a-z-]*' || true
done | sort -u >"$work/flags"
while read -r flag; do
	want "$flag" cordon.1
done <"$work/flags"
"$cordon" completion words | cut -f1 >"$work/commands"
while read -r command; do
	want "$command" cordon.1
done <"$work/commands"
exit $status
