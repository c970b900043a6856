// SPDX-License-Identifier: Apache-2.0
//
// A program for processor_check_test.py that prints a line if its constructors run.
#include <cstdio>

namespace {
const int kPrinted = std::puts("ran");
}

int main() { return kPrinted < 0 ? 1 : 0; }
