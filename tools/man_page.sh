#!/bin/sh
# Writes the manual page of the given program: what it and each of its verbs say to --help.
set -eu
program=$1

# Text as it stands, with what troff would take for its own.
verbatim() { sed -e 's/\\/\\e/g' -e 's/-/\\-/g' -e "s/^\([.']\)/\\\\\&\1/"; }
verbs() { "$program" "$@" --help | awk '/^Subcommands:/ { on = 1; next } !NF { on = 0 } on { print $1 }'; }

section() {
  printf '.SH "%s"\n.nf\n' "$(echo "$*" | tr '[:lower:]' '[:upper:]')"
  "$program" "$@" --help | fold -s -w 78 | verbatim
  printf '.fi\n'
  for verb in $(verbs "$@"); do section "$@" "$verb"; done
}

cat <<HEAD
.TH PANTOGRAPH 1 "" "$("$program" --version)" "User Commands"
.SH NAME
pantograph \\- make videos with PAN 2, decode and encode Wan2.2 VAE latents
.SH SYNOPSIS
.B pantograph
.I verb
.RI [ options ]
.SH DESCRIPTION
.nf
HEAD
"$program" --help | verbatim
printf '.fi\n'
for verb in $(verbs); do section "$verb"; done
cat <<'TAIL'
.SH EXIT STATUS
0 when all is done, 1 when something failed, 2 when the command itself has to be another one,
130 when it was interrupted (128 and the number of the signal).
TAIL
