#!/bin/sh
# Files want splitting past 700 lines (an error), functions past 80 (a remark): check-size.sh FILE…
# In this style a function starts with "{" and ends with "}" in the first column.
set -eu
awk '
	FNR == 1 { head = ""; start = 0 }
	FNR == 701 { print FILENAME ": more than 700 lines" > "/dev/stderr"; bad = 1 }
	/^[a-z_].*\(/ { head = $0 }
	/^\{/ { start = FNR }
	/^\}/ && start {
		size = FNR - start + 1
		count++
		if (size > 40) above40++
		if (size > 80) {
			sub(/\(.*/, "", head)
			print "remark: " FILENAME ":" start ": " head "() has " size " lines"
		}
		start = 0
	}
	END {
		printf "%d functions, %d above 40 lines\n", count, above40
		exit bad
	}
' "$@"
