// SPDX-License-Identifier: Apache-2.0
#include "harness/system/before_main.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <initializer_list>

namespace regatta::system {
namespace {

/// Linux's struct, of x86-64 and arm64: libc's sigaction() is the sanitizers', not ready yet.
struct KernelAction {
  void (*handler)(int);
  unsigned long flags;
  void (*restorer)();
  unsigned long mask;
};

// Prefixes of names: `OMP_DYNAMIC_ALL` is a form of newer OpenMP. A plain array, because before
// main() std::array's functions would be the sanitizers', too.
constexpr const char* kHidden[] = {"OMP_DYNAMIC",   "OMP_NESTED", "OMP_MAX_ACTIVE_LEVELS",
                                   "OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY"};
constexpr std::size_t kMostHidden = 64;

bool ignored_at_start = false;
char* hidden_variables[kMostHidden];
std::size_t hidden = 0;

__attribute__((no_sanitize("address", "thread", "undefined"))) bool begins_with(const char* text,
                                                                                const char* begin) {
  while (*begin != '\0' && *text == *begin) ++text, ++begin;
  return *begin == '\0';
}

/// Hides a variable by changing its first letter, which allocates no memory.
__attribute__((no_sanitize("address", "thread", "undefined"))) void hide(char* variable) {
  for (const char* name : kHidden) {
    if (hidden == kMostHidden || !begins_with(variable, name)) continue;
    hidden_variables[hidden++] = variable;
    *variable = '_';
    return;
  }
}

/// Inspects the state before the constructors of libraries run.
__attribute__((no_sanitize("address", "thread", "undefined"))) void look(int, char**,
                                                                         char** variables) {
  KernelAction action = {};
  syscall(SYS_rt_sigaction, SIGHUP, nullptr, &action, sizeof action.mask);
  ignored_at_start = action.handler == SIG_IGN;
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
    if (syscall(SYS_fcntl, stream, F_GETFD) >= 0) continue;
    // This takes the lowest free descriptor. Reading and writing still fail, as on a closed stream.
    syscall(SYS_openat, AT_FDCWD, "/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
  for (char** variable = variables; *variable != nullptr; ++variable) hide(*variable);
}

[[noreturn, maybe_unused]] void refuse(const char* instructions) {
  dprintf(STDERR_FILENO,
          "regatta: this program is compiled for %s, which this processor lacks; fix: compile it "
          "on this machine\n",
          instructions);
  _exit(1);
}

/// Inspects the processor by instructions that each one has.
#if defined(__x86_64__)
__attribute__((target("general-regs-only,no-bmi,no-bmi2"), no_sanitize("address", "thread"))) void
check_processor() {
  __builtin_cpu_init();
#ifdef __AVX512BF16__
  if (!__builtin_cpu_supports("avx512bf16")) refuse("AVX512-BF16");
#endif
#ifdef __AVX512F__
  if (!__builtin_cpu_supports("x86-64-v4")) refuse("x86-64-v4 (AVX-512)");
#endif
#ifdef __AVX2__
  if (!__builtin_cpu_supports("x86-64-v3")) refuse("x86-64-v3 (AVX2)");
#endif
#ifdef __SSE4_2__
  if (!__builtin_cpu_supports("x86-64-v2")) refuse("x86-64-v2 (SSE4.2)");
#endif
}
#else
__attribute__((no_sanitize("address", "thread"))) void check_processor() {
#ifdef __ARM_FEATURE_SVE
  if (!(getauxval(AT_HWCAP) & HWCAP_SVE)) refuse("SVE");
#endif
#ifdef __ARM_FEATURE_ATOMICS
  if (!(getauxval(AT_HWCAP) & HWCAP_ATOMICS)) refuse("atomics of Armv8.1");
#endif
}
#endif

__attribute__((no_sanitize("address", "thread"))) void begin(int count, char** words,
                                                             char** variables) {
  check_processor();
  look(count, words, variables);
}

// One pointer: the linker would pad an array's alignment by a null pointer, which would be called.
[[gnu::section(".preinit_array"), gnu::used]] void (*const kBeforeAll)(int, char**, char**) = begin;

}  // namespace

void restore_surroundings() {
  for (std::size_t i = 0; i < hidden; ++i) {
    *hidden_variables[i] = begins_with(hidden_variables[i] + 1, "OMP_") ? 'G' : 'O';
  }
  if (ignored_at_start) signal(SIGHUP, SIG_IGN);
  if (getpid() != 1) return;
  for (const int number : {SIGHUP, SIGINT, SIGTERM}) {
    if (signal(number, end_by) == SIG_IGN) signal(number, SIG_IGN);
  }
}

void end_by(int signal) {
  ::signal(signal, SIG_DFL);
  sigset_t only{};
  sigaddset(&only, signal);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  raise(signal);
  _exit(128 + signal);  // process 1; the exit code that shells use
}

}  // namespace regatta::system
