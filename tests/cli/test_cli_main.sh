#!/usr/bin/env bash
# The program's frame: help from the table, exit codes 0, 1 and 2 (M-156), errors on standard
# error with the words of the official program.
. "$(dirname "$0")/lib.sh"
version=$(sed -n 's/^#define TINKC_VERSION  *"\(.*\)"/\1/p' include/tinkc/version.h)

try --help
expect "help succeeds" [ $status -eq 0 ]
expect "help lists commands" has "$out" "  version  "
expect "help is not an error" [ -z "$err" ]
help=$out
try -h
expect "-h is --help" [ "$out" = "$help" ]
try
expect "no command is a usage error" [ $status -eq 2 ]

try --version
expect "--version" [ "$out" = "tinkc $version" ]
try version
expect "version" [ "$status $out" = "0 tinkc $version" ]
try --format json version
expect "version as JSON" has "$out" '"version": "'"$version"'"'
try -fjson version
expect "a short option with its value" has "$out" '"version"'
try version -f jsonl
expect "a global option after the command" has "$out" '{"version": "'
try version --help
expect "a command's help" has "$out" "Usage: tinkc version [OPTIONS]"

usage_error() { # WHAT IN-THE-ERROR ARGS...
    local what=$1 words=$2
    shift 2
    try "$@"
    expect "$what: status" [ $status -eq 2 ]
    expect "$what: words" has "$err" "Error: $words"
    expect "$what: nothing on standard output" [ -z "$out" ]
}
usage_error "unknown command" "No such command 'nosuch'." nosuch
usage_error "empty command" "No such command ''." ""
usage_error "unknown option" "No such option: --nosuch" version --nosuch
usage_error "unknown letter" "No such option: -x" version -x
usage_error "unknown global option" "No such option: --nosuch" --nosuch version
usage_error "extra operand" "Got unexpected extra argument (more)." version more
usage_error "operand after --" "Got unexpected extra argument (-h)." version -- -h
usage_error "bad choice" "Invalid value for '--format': 'xml' is not one of table|json|jsonl." \
    --format xml version
usage_error "value missing" "Option '--format' requires an argument." --format
usage_error "flag with a value" "Option '--version' takes no value." --version=1

if [ -e /dev/full ]; then
    "$TINKC" --help >/dev/full 2>"$dir/.err"
    status=$?
    expect "a full disk is an error" [ $status -eq 1 ]
fi
finish
