// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/shared_library.h"

#include <dlfcn.h>
#include <link.h>

#include <array>
#include <utility>

namespace regatta {
namespace {

/// Where CUDA's own installer puts libraries, which the loader need not know of.
constexpr std::array<const char*, 2> kFolders{"/usr/local/cuda/lib64/", "/usr/local/cuda/lib/"};

std::string path_of(void* handle) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) return {};
  return map->l_name;
}

}  // namespace

SharedLibrary::SharedLibrary(Name name) : name_(std::move(name)) {
  handle_ = dlopen(name_.soname.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) {
    const char* words = dlerror();
    const std::string reason = words == nullptr ? "no reason given" : words;
    for (const char* folder : kFolders) {
      handle_ = dlopen((folder + name_.soname).c_str(), RTLD_NOW | RTLD_LOCAL);
      if (handle_ != nullptr) break;
    }
    if (handle_ == nullptr) {
      throw RunError(ErrorKind::Unsupported,
                     name_.soname + " cannot be loaded: install " + name_.package +
                         " or put its folder into LD_LIBRARY_PATH; looked for it in the loader's" +
                         " path, " + kFolders[0] + " and " + kFolders[1] + " (" + reason + ")");
    }
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
