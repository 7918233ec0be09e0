#!/usr/bin/env python3
"""Writes src/base/json_pow10.c: powers of ten as normalised 128-bit integers, cut off.

Usage: scripts/gen-pow10.py > src/base/json_pow10.c
"""

FIRST, LAST = -342, 324


def significand(exponent):
    """The first 128 bits of 10**exponent, rounded down."""
    if exponent >= 0:
        value = 10**exponent
        extra = value.bit_length() - 128
        return value >> extra if extra > 0 else value << -extra
    divisor = 10**-exponent
    return (1 << (divisor.bit_length() + 127)) // divisor


def entry(exponent):
    bits = significand(exponent)
    assert bits.bit_length() == 128, exponent
    return "{0x%016x, 0x%016x}," % (bits >> 64, bits & (2**64 - 1))


def main():
    print("/* Powers of ten for reading and writing doubles; see json_pow10.h.")
    print(" * Written by scripts/gen-pow10.py: do not edit. */")
    print('#include "base/json_pow10.h"\n')
    print("/* clang-format off */")
    print("const tk_json_pow10 tk_json_pow10_table[] = {")
    exponents = list(range(FIRST, LAST + 1))
    for i in range(0, len(exponents), 2):
        print("    " + " ".join(entry(e) for e in exponents[i : i + 2]))
    print("};")
    print("/* clang-format on */")


if __name__ == "__main__":
    main()
