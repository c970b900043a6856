// SPDX-License-Identifier: Apache-2.0
//
// A program for processor_check_test.py; it prints that a constructor ran.
#include <cstdio>

namespace {
const int kPrinted = std::puts("ran");
}

int main() { return kPrinted < 0 ? 1 : 0; }
