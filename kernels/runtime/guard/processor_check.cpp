// SPDX-License-Identifier: Apache-2.0
//
// Ends a program that needs extensions which its processor lacks, with a line that names them and
// how to build a program that runs; otherwise the program would die of "Illegal instruction". The
// check runs before every constructor and is compiled for any x86-64. It must not call inline
// functions that other files use: the linker keeps one copy, which may need missing extensions.
#include <unistd.h>
#include <cstring>

#include "kernels/runtime/guard/built_for.h"

namespace regatta {
namespace {

void print(const char* text) {
  // Where standard error is closed, the exit code remains.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text, strlen(text));
}

struct Extension {
  const char* name;
  bool present;
};

/// False for an extension that only built_for.cpp lists.
bool has(const char* name) {
  const Extension extensions[] = {
      {"sse4.2", __builtin_cpu_supports("sse4.2") != 0},
      {"popcnt", __builtin_cpu_supports("popcnt") != 0},
      {"avx2", __builtin_cpu_supports("avx2") != 0},
      {"bmi", __builtin_cpu_supports("bmi") != 0},
      {"bmi2", __builtin_cpu_supports("bmi2") != 0},
      {"f16c", __builtin_cpu_supports("f16c") != 0},
      {"fma", __builtin_cpu_supports("fma") != 0},
      {"lzcnt", __builtin_cpu_supports("lzcnt") != 0},
      {"movbe", __builtin_cpu_supports("movbe") != 0},
      {"avx512f", __builtin_cpu_supports("avx512f") != 0},
      {"avx512bw", __builtin_cpu_supports("avx512bw") != 0},
      {"avx512cd", __builtin_cpu_supports("avx512cd") != 0},
      {"avx512dq", __builtin_cpu_supports("avx512dq") != 0},
      {"avx512vl", __builtin_cpu_supports("avx512vl") != 0},
      {"avx512bf16", __builtin_cpu_supports("avx512bf16") != 0},
      {"avx512bitalg", __builtin_cpu_supports("avx512bitalg") != 0},
      {"avx512ifma", __builtin_cpu_supports("avx512ifma") != 0},
      {"avx512vbmi", __builtin_cpu_supports("avx512vbmi") != 0},
      {"avx512vbmi2", __builtin_cpu_supports("avx512vbmi2") != 0},
      {"avx512vnni", __builtin_cpu_supports("avx512vnni") != 0},
      {"avx512vpopcntdq", __builtin_cpu_supports("avx512vpopcntdq") != 0},
      {"avx512fp16", __builtin_cpu_supports("avx512fp16") != 0},
      {"avx512vp2intersect", __builtin_cpu_supports("avx512vp2intersect") != 0},
      {"avxvnni", __builtin_cpu_supports("avxvnni") != 0},
      {"gfni", __builtin_cpu_supports("gfni") != 0},
      {"vaes", __builtin_cpu_supports("vaes") != 0},
      {"vpclmulqdq", __builtin_cpu_supports("vpclmulqdq") != 0},
  };
  for (const Extension& extension : extensions) {
    if (strcmp(extension.name, name) == 0) return extension.present;
  }
  return false;
}

void check_processor(int, char**, char**) {
  __builtin_cpu_init();
  bool missing = false;
  for (const char* const* name = kBuiltFor.extensions; *name != nullptr; ++name) {
    if (has(*name)) continue;
    print(missing ? ", " : "regatta: this processor lacks ");
    print(*name);
    missing = true;
  }
  if (!missing) return;
  print("; this program was built for ");
  print(kBuiltFor.arch);
  print(
      ". To build one for this processor: cmake --preset release -D REGATTA_ARCH=native && "
      "cmake --build --preset release\n");
  _exit(1);
}

[[gnu::section(".preinit_array"), gnu::used]] void (*const kCheck)(int, char**,
                                                                   char**) = check_processor;

}  // namespace
}  // namespace regatta
