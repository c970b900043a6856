// SPDX-License-Identifier: Apache-2.0
//
// Tests libraries that are found at run time or are missing.
#include "kernels/runtime/shared_library.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>

#include "kernels/base/error_for_test.h"

namespace regatta {
namespace {

namespace fs = std::filesystem;

std::string refusal(const std::function<void()>& body) {
  return testing_support::error_of(body, ErrorKind::Unsupported);
}

TEST(SharedLibrary, SaysWhatToInstallAndWhereItLooked) {
  const std::string text =
      refusal([] { const SharedLibrary absent({.soname = "libabsent.so.1", .package = "some"}); });
  EXPECT_EQ(text.find("libabsent.so.1 cannot be loaded: install some or put its folder into "
                      "LD_LIBRARY_PATH; looked for it in the loader's path, "
                      "/usr/local/cuda/lib64/, /usr/local/cuda/lib/ and what pip installed "
                      "(nvidia/*/lib) ("),
            0U)
      << text;
}

TEST(SharedLibrary, SaysWhichFunctionOrVersionIsMissing) {
  const SharedLibrary library({.soname = "libm.so.6", .package = "a newer libc"});
  double (*cosine)(double) = nullptr;
  library.find(cosine, "cos");
  EXPECT_EQ(cosine(0), 1);
  EXPECT_NE(refusal([&] { library.find(cosine, "cosine_of"); }).find("has no function cosine_of"),
            std::string::npos);
  library.require(2, 2, "2");
  EXPECT_NE(refusal([&] {
              library.require(1, 2, "2.0");
            }).find("is version 1, too old: install a newer libc 2.0 or newer"),
            std::string::npos);
}

/// A temporary folder for each test.
class Wheels : public testing::Test {
 protected:
  Wheels() : folder_(mkdtemp(name_.data())), path_(std::getenv("PATH")) {}
  ~Wheels() override {
    unsetenv("VIRTUAL_ENV");
    setenv("PATH", path_.c_str(), 1);
    fs::remove_all(folder_);
  }

  /// Makes a library as pip places it below `prefix`; fails if it was found before.
  fs::path made_below(const fs::path& prefix, const SharedLibrary::Name& name) {
    EXPECT_NE(refusal([&] { const SharedLibrary none(name); }), "");
    const fs::path library = prefix / "lib/python3.99/site-packages/nvidia/made/lib" / name.soname;
    fs::create_directories(library.parent_path());
    fs::copy_file(SharedLibrary({.soname = "libm.so.6", .package = "libc"}).path(), library);
    return library;
  }
  /// Makes a python3 in the folder `bin` of `prefix`.
  static fs::path python_in(const fs::path& prefix) {
    fs::create_directories(prefix / "bin");
    fs::copy_file("/bin/true", prefix / "bin/python3");
    return prefix / "bin/python3";
  }

  std::array<char, 32> name_{"/tmp/regatta-wheels-XXXXXX"};
  fs::path folder_;
  std::string path_;
};

TEST_F(Wheels, AreLookedIntoForLibraries) {
  const SharedLibrary::Name made{.soname = "libregatta_made.so.1", .package = "regatta-made"};
  const fs::path library = made_below(folder_, made);
  setenv("VIRTUAL_ENV", folder_.c_str(), 1);
  EXPECT_EQ(SharedLibrary(made).path(), library);
}

TEST_F(Wheels, OfAnEnvironmentThatIsNotActiveAreThoseOfThePythonOnPath) {
  const SharedLibrary::Name made{.soname = "libregatta_made.so.2", .package = "regatta-made"};
  const fs::path environment = folder_ / "environment";
  const fs::path library = made_below(environment, made);
  fs::create_directories(environment / "bin");
  fs::create_symlink(python_in(folder_ / "base"), environment / "bin/python3");
  std::ofstream(environment / "pyvenv.cfg") << "home = " << (folder_ / "base/bin").string() << '\n';
  setenv("PATH", ("/nowhere:" + (environment / "bin").string() + ":" + path_).c_str(), 1);
  EXPECT_EQ(SharedLibrary(made).path(), library);
}

TEST_F(Wheels, OfThePythonOnPathAreWhereItIsALinkTo) {
  const SharedLibrary::Name made{.soname = "libregatta_made.so.3", .package = "regatta-made"};
  const fs::path library = made_below(folder_ / "base", made);
  fs::create_directories(folder_ / "links");
  fs::create_symlink(python_in(folder_ / "base"), folder_ / "links/python3");
  setenv("PATH", (folder_ / "links").c_str(), 1);
  EXPECT_EQ(SharedLibrary(made).path(), library);
}

}  // namespace
}  // namespace regatta
