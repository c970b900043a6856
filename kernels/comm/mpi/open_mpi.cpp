// SPDX-License-Identifier: Apache-2.0
//
// Open MPI's binary interface: a handle is the address of a symbol. Source: mpi.h of versions 4.1.4
// and 5.0.11.
#include "kernels/comm/mpi/mpi_library.h"
#include "kernels/comm/mpi/mpi_table_of.h"

namespace regatta::comm {

std::unique_ptr<MpiTable> open_mpi_table(void* library) {
  const auto symbol = [library](const char* name) { return mpi_symbol(library, name); };
  const MpiConstants<void*> constants{.world = symbol("ompi_mpi_comm_world"),
                                      .request_null = symbol("ompi_request_null"),
                                      .info_null = symbol("ompi_mpi_info_null"),
                                      .errors_return = symbol("ompi_mpi_errors_return"),
                                      .byte = symbol("ompi_mpi_byte"),
                                      .int64 = symbol("ompi_mpi_int64_t"),
                                      .uint16 = symbol("ompi_mpi_uint16_t"),
                                      .f32 = symbol("ompi_mpi_float"),
                                      .min = symbol("ompi_mpi_op_min"),
                                      .sum = symbol("ompi_mpi_op_sum"),
                                      .in_place = reinterpret_cast<void*>(1)};
  return std::make_unique<MpiTableOf<void*>>(library, constants);
}

}  // namespace regatta::comm
