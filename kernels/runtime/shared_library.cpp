// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/shared_library.h"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

namespace regatta {
namespace {

namespace fs = std::filesystem;

/// Folders of CUDA's own installer, which the loader may not know.
constexpr std::array<const char*, 2> kFolders{"/usr/local/cuda/lib64/", "/usr/local/cuda/lib/"};

/// The first python3 on PATH; empty if there is none.
fs::path python_on_path() {
  const char* value = std::getenv("PATH");
  std::istringstream folders(value == nullptr ? "" : value);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const fs::path python = fs::path(folder) / "python3";
    if (access(python.c_str(), X_OK) == 0) return python;
  }
  return {};
}

/// The folders of that python3's packages: its virtual environment, active or not, and the one that
/// it was made from. Source: PEP 405.
std::vector<std::string> prefixes_of_python() {
  const fs::path python = python_on_path();
  if (python.empty()) return {};
  std::vector<std::string> prefixes;
  std::error_code ignored;
  const fs::path folder = python.parent_path();
  for (const fs::path& each : {folder, folder.parent_path()}) {
    if (fs::exists(each / "pyvenv.cfg", ignored)) prefixes.push_back(each);
  }
  prefixes.push_back(fs::weakly_canonical(python, ignored).parent_path().parent_path());
  return prefixes;
}

/// Paths of the library in pip's folders: of the active environment, of the python3 on PATH, of the
/// user, of the machine.
std::vector<std::string> in_wheels(const std::string& soname) {
  std::vector<std::string> prefixes;
  constexpr std::array<std::array<const char*, 2>, 3> kVariables{
      {{"VIRTUAL_ENV", ""}, {"CONDA_PREFIX", ""}, {"HOME", "/.local"}}};
  for (const auto& [variable, folder] : kVariables) {
    const char* value = std::getenv(variable);
    if (value != nullptr && *value != '\0') prefixes.push_back(std::string(value) + folder);
  }
  for (const std::string& prefix : prefixes_of_python()) prefixes.push_back(prefix);
  prefixes.insert(prefixes.end(), {"/usr/local", "/usr"});
  std::vector<std::string> found;
  for (const std::string& prefix : prefixes) {
    const std::string pattern = prefix + "/lib/python3*/*-packages/nvidia/*/lib/" + soname;
    glob_t paths{};
    if (glob(pattern.c_str(), 0, nullptr, &paths) == 0) {
      found.insert(found.end(), paths.gl_pathv, paths.gl_pathv + paths.gl_pathc);
    }
    globfree(&paths);
  }
  return found;
}

std::string path_of(void* handle) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) return {};
  return map->l_name;
}

}  // namespace

SharedLibrary::SharedLibrary(Name name) : name_(std::move(name)) {
  std::vector<std::string> places = {name_.soname};
  for (const char* folder : kFolders) places.push_back(folder + name_.soname);
  std::string reason;
  const auto open_one_of = [&](const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
      handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (handle_ != nullptr) return true;
      const char* words = dlerror();
      if (reason.empty() && words != nullptr) reason = words;
    }
    return false;
  };
  if (!open_one_of(places) && !open_one_of(in_wheels(name_.soname))) {
    throw RunError(ErrorKind::Unsupported,
                   name_.soname + " cannot be loaded: install " + name_.package +
                       " or put its folder into LD_LIBRARY_PATH; looked for it in the loader's" +
                       " path, " + kFolders[0] + ", " + kFolders[1] +
                       " and what pip installed (nvidia/*/lib) (" + reason + ")");
  }
  path_ = path_of(handle_);
}

void* SharedLibrary::address(const char* symbol) const {
  void* found = dlsym(handle_, symbol);
  if (found == nullptr) {
    throw RunError(ErrorKind::Unsupported,
                   path_ + " has no function " + symbol + ": install a newer " + name_.package);
  }
  return found;
}

void SharedLibrary::require(std::int64_t found, std::int64_t needed,
                            const std::string& needed_text) const {
  if (found >= needed) return;
  throw RunError(ErrorKind::Unsupported, path_ + " is version " + std::to_string(found) +
                                             ", too old: install " + name_.package + " " +
                                             needed_text + " or newer");
}

std::string version_text(std::size_t number) {
  return std::to_string(number / 10000) + "." + std::to_string(number / 100 % 100) + "." +
         std::to_string(number % 100);
}

void call_failed(std::string_view call, const std::string& words,
                 const std::source_location& where) {
  throw RunError(ErrorKind::Device, std::string(call) + " at " + where.file_name() + ":" +
                                        std::to_string(where.line()) + ": " + words);
}

}  // namespace regatta
