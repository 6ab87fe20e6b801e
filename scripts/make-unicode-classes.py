#!/usr/bin/env python3
"""Writes train/tokens/unicode_ranges.cpp: the letters (L) and numbers (N) of Unicode, from the tables
of this Python. usage: scripts/make-unicode-classes.py > train/tokens/unicode_ranges.cpp"""
import sys
import unicodedata


def ranges(major):
    out = []
    for code in range(sys.maxunicode + 1):
        if unicodedata.category(chr(code))[0] != major:
            continue
        if out and out[-1][1] == code - 1:
            out[-1][1] = code
        else:
            out.append([code, code])
    return out


def table(name, major):
    print(f"constexpr CodeRange {name}[] = {{")
    line = "   "
    for first, last in ranges(major):
        item = f" {{0x{first:X}, 0x{last:X}}},"
        if len(line) + len(item) > 98:
            print(line)
            line = "   "
        line += item
    print(line)
    print("};")


print("// Made by scripts/make-unicode-classes.py from Unicode " + unicodedata.unidata_version + ".")
print('#include "train/tokens/unicode_ranges.h"\n')
print("namespace assay::train::tokens {\n")
print("namespace {\n")
print("// clang-format off")
table("kLetters", "L")
print()
table("kNumbers", "N")
print("// clang-format on")
print("\n}  // namespace\n")
print("std::span<const CodeRange> letter_ranges() noexcept {\n  return kLetters;\n}\n")
print("std::span<const CodeRange> number_ranges() noexcept {\n  return kNumbers;\n}")
print("\n}  // namespace assay::train::tokens")
