#!/bin/sh
# The shared library exports what cordon.h declares, and nothing else: check-exports.sh LIBRARY HEADER
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
nm -D --defined-only "$1" | awk '{ print $3 }' | sort -u >"$work/exported"
sed -n '/^CORDON_API/s/.*[ *]\(cordon_[a-z_]*\)(.*/\1/p' "$2" | sort -u >"$work/declared"
if ! diff "$work/declared" "$work/exported" >"$work/diff"; then
	echo "$1: exports (>) and $2 (<) differ:" >&2
	grep '^[<>]' "$work/diff" >&2
	exit 1
fi
