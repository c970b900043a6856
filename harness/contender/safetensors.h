// SPDX-License-Identifier: Apache-2.0
//
// Writes a file of tensors in the format safetensors: eight bytes with the length of the header, as
// a little-endian integer; the header, a JSON object {name: {"dtype", "shape", "data_offsets"}};
// the bytes of all tensors, one after the other. Source: github.com/huggingface/safetensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

namespace regatta::contender {

struct TensorEntry {
  std::string name;
  std::string dtype;  ///< F32, I32 or I64
  std::vector<std::int64_t> shape;

  std::int64_t bytes() const;
};

/// A file whose tensors are written piece by piece, side by side. Throws: RunError(Io).
class SafetensorsFile {
 public:
  SafetensorsFile(std::filesystem::path path, const std::vector<TensorEntry>& tensors);
  /// Writes the next values of the tensor at this position in the list.
  template <typename Values>
  void add(std::size_t tensor, const Values& values) {
    write(tensor, std::as_bytes(std::span(values)));
  }
  /// Ends the file. Aborts unless every tensor is complete.
  void close();

 private:
  void write(std::size_t tensor, std::span<const std::byte> bytes);

  std::filesystem::path path_;
  std::ofstream file_;
  std::vector<std::int64_t> next_, end_;  ///< by tensor: positions in the file
};

}  // namespace regatta::contender
