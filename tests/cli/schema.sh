#!/bin/bash
# The schema says what the parser does: both are asked about some thousand policies, and give the same answer.
. "$(dirname "$0")/../lib.sh"
levels container
# Debian's package is for Debian's python3.
/usr/bin/python3 -c 'import jsonschema' 2>/dev/null || skip_all "no python3-jsonschema here"

ok "the schema takes what the parser takes, and nothing else" /usr/bin/python3 "$TOP/tests/cli/schema.py" "$CORDON"
done_testing
