#!/bin/bash
# What Podman builds is in its hands and in the store, whole or not at all.
. "$(dirname "$0")/build_lib.sh"
builder podman
