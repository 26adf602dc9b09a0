#!/bin/sh
# Functions that this code does without: check-ban.sh FILE…
set -eu
unbounded='strcpy|strcat|stpcpy|sprintf|vsprintf|gets|alloca|strdupa|strndupa'
unchecked='strtok|atoi|atol|atoll|atof' # hidden state; no way to tell an error
unsafe='system|popen|mktemp|tmpnam|tempnam|tmpfile'
if grep -nE "(^|[^A-Za-z0-9_.>\"'\`])($unbounded|$unchecked|$unsafe)[[:space:]]?\(" "$@" | grep -vE '^[^:]+:[0-9]+:[[:space:]]*(\*|/\*|//)'; then
	echo 'banned functions; see tools/check-ban.sh' >&2
	exit 1
fi
