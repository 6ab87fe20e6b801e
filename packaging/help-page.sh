#!/bin/sh
# Makes a manual page of a program's --help.
# usage: help-page.sh PROGRAM NAME 'what it is' > NAME.1
set -eu
program=$1 name=$2 what=$3
help=$("$program" --help)
printf '.TH %s 1\n.SH NAME\n%s \\- %s\n.SH DESCRIPTION\n.nf\n' "$(echo "$name" | tr a-z A-Z)" "$name" "$what"
printf '%s\n' "$help" | sed 's/\\/\\e/g; s/-/\\-/g; s/^\([.'\'']\)/\\\&\1/'
printf '.fi\n.SH SEE ALSO\nassay(1)\n'
