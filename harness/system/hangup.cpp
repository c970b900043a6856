// SPDX-License-Identifier: Apache-2.0
#include "harness/system/hangup.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace regatta {
namespace {

/// As Linux takes it on x86-64: libc's sigaction() is the sanitizers', which are not ready yet.
struct KernelAction {
  void (*handler)(int);
  unsigned long flags;
  void (*restorer)();
  unsigned long mask;
};

bool ignored_at_start = false;

/// Before the constructors of libraries.
[[gnu::no_sanitize("address", "thread", "undefined")]] void look(int, char**, char**) {
  KernelAction action = {};
  syscall(SYS_rt_sigaction, SIGHUP, nullptr, &action, sizeof action.mask);
  ignored_at_start = action.handler == SIG_IGN;
}

[[gnu::section(".preinit_array"), gnu::used]] void (*const kLook)(int, char**, char**) = look;

}  // namespace

void keep_hangup_ignored() {
  if (ignored_at_start) signal(SIGHUP, SIG_IGN);
}

}  // namespace regatta
