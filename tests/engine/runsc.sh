#!/bin/bash
# A box that runsc builds is as one of our own: statuses, files, rights, and nothing left.
. "$(dirname "$0")/lib.sh"
oci runsc
