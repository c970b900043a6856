// SPDX-License-Identifier: Apache-2.0
#include "harness/ranks/loopback_library.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "harness/ranks/loopback_preload.inc.h"
#include "kernels/graph/error.h"

namespace regatta {

LoopbackLibrary::LoopbackLibrary() : descriptor_(memfd_create("loopback_preload", MFD_CLOEXEC)) {
  for (std::size_t written = 0; descriptor_ >= 0 && written < sizeof kLoopbackPreload;) {
    const ssize_t bytes =
        write(descriptor_, kLoopbackPreload + written, sizeof kLoopbackPreload - written);
    if (bytes < 0) {
      close(descriptor_);
      descriptor_ = -1;
    }
    written += static_cast<std::size_t>(bytes);
  }
  if (descriptor_ >= 0) return;
  throw RunError(ErrorKind::Io, std::string("cannot keep in memory the library by which mpirun "
                                            "listens on loopback only: ") +
                                    std::strerror(errno));
}

LoopbackLibrary::~LoopbackLibrary() { close(descriptor_); }

}  // namespace regatta
