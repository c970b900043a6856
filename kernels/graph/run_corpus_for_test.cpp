// SPDX-License-Identifier: Apache-2.0
//
// The main() of a fuzz target (NAME_fuzz.cpp) in a build without libFuzzer: runs the target on a
// file, or on each file of a folder, as libFuzzer's main() does.
// usage: NAME_fuzz FOLDER|FILE
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> inputs_at(const fs::path& path) {
  if (!fs::is_directory(path)) return {path};
  std::vector<fs::path> inputs;
  for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
    inputs.push_back(entry.path());
  }
  std::sort(inputs.begin(), inputs.end());
  return inputs;
}

/// Runs the target on a buffer of exactly the file's size, so that the address sanitizer catches a
/// read beyond it.
void run(const fs::path& input) {
  const std::size_t size = fs::file_size(input);
  const auto bytes = std::make_unique<std::uint8_t[]>(size);
  std::ifstream file(input, std::ios::binary);
  file.exceptions(std::ios::failbit | std::ios::badbit);
  file.read(reinterpret_cast<char*>(bytes.get()), static_cast<std::streamsize>(size));
  LLVMFuzzerTestOneInput(bytes.get(), size);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: " << argv[0] << " FOLDER|FILE\n";
    return 1;
  }
  const std::vector<fs::path> inputs = inputs_at(argv[1]);
  for (const fs::path& input : inputs) {
    std::cout << input.string() << std::endl;  // the last line names the file that crashed
    run(input);
  }
  std::cout << inputs.size() << " inputs\n";
  return inputs.empty() ? 1 : 0;
}
