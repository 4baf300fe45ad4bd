#!/bin/sh
# Copies input/ to a disk: backup.sh FOLDER
set -eu
[ -d "$1" ] || {
    echo "the disk is not mounted: there is no folder $1" >&2
    exit 1
}
cp -R input "$1"
