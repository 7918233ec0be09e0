#!/usr/bin/env bash
# A-146, M-173: the generated reference (errors, limits, options with their defaults and environment
# variables, messages) equals the code; A-076: the page of the failure table among it.
. "$(dirname "$0")/lib.sh"
expect "generated pages are up to date (else run scripts/gen-docs.py)" \
    python3 scripts/gen-docs.py --check
expect "every code of the header is in the page" test \
    "$(grep -c '^    TINKC_[A-Z_]* = [0-9]*' include/tinkc/error.h)" -eq \
    "$(grep -c '^| [0-9]* | `TINKC_' docs/errors.md)"
expect "every limit of the header is in the page" test \
    "$(grep -c '^#define TK_' src/base/limits.h)" -eq \
    "$(($(grep -c '^| `TK_' docs/limits.md) + 3))" # KIB, MIB, GIB are units
finish
