#!/bin/sh
# Writes the digest of a night: digest.sh 20261124013000 FOLDER
set -eu
mkdir -p "$2"
echo "digest of the night until $1" > "$2/$1"
