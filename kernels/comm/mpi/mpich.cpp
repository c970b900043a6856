// SPDX-License-Identifier: Apache-2.0
//
// MPICH's binary interface: a handle is an int. Intel MPI, MVAPICH and Cray MPICH share it.
// Source: mpi.h of versions 4.0.2 and 5.0.2.
#include "kernels/comm/mpi/mpi_library.h"
#include "kernels/comm/mpi/mpi_table_of.h"

namespace regatta::comm {

std::unique_ptr<MpiTable> mpich_table(void* library) {
  if (dlsym(library, "ompi_mpi_comm_world") != nullptr) {  // soname of Open MPI 1.10, too
    throw RunError(ErrorKind::Unsupported, "it has ompi_mpi_comm_world");
  }
  constexpr std::intptr_t kInPlace = -1;
  const MpiConstants<int> constants{.world = 0x44000000,
                                    .request_null = 0x2c000000,
                                    .info_null = 0x1c000000,
                                    .errors_return = 0x54000001,
                                    .byte = 0x4c00010d,
                                    .int64 = 0x4c00083a,
                                    .uint16 = 0x4c00023c,
                                    .f32 = 0x4c00040a,
                                    .min = 0x58000002,
                                    .sum = 0x58000003,
                                    .in_place = reinterpret_cast<void*>(kInPlace),
                                    .status_ignore = reinterpret_cast<void*>(1),
                                    .comm_type_shared = 1,
                                    .tag_ub = 0x64400001};
  return std::make_unique<MpiTableOf<int>>(library, constants);
}

}  // namespace regatta::comm
