#!/bin/sh
# Counts the lines of input/HH.log, the log of this hour of the day.
#   count.sh 2026112309 FOLDER
set -eu
hour=${1#????????}
log=input/$hour.log
[ -e "$log" ] || exit 99 # nothing to do
mkdir -p "$2"
wc -l < "$log" > "$2/$1.$$"
mv "$2/$1.$$" "$2/$1.count" # whole, or not at all: an attempt may be repeated
echo "$(cat "$2/$1.count") lines in $log"
