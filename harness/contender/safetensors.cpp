// SPDX-License-Identifier: Apache-2.0
#include "harness/contender/safetensors.h"

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "kernels/base/error.h"

namespace regatta::contender {

std::int64_t TensorEntry::bytes() const {
  std::int64_t bytes = dtype == "I64" ? 8 : 4;
  for (const std::int64_t extent : shape) bytes *= extent;
  return bytes;
}

std::int64_t bytes_of(std::span<const TensorEntry> tensors) {
  std::int64_t sum = 0;
  for (const TensorEntry& each : tensors) sum += each.bytes();
  return sum;
}

SafetensorsFile::SafetensorsFile(std::filesystem::path path,
                                 const std::vector<TensorEntry>& tensors)
    : path_(std::move(path)), file_(path_, std::ios::binary | std::ios::trunc) {
  constexpr std::size_t kAlignment = 8;
  nlohmann::ordered_json header;
  std::int64_t at = 0;
  for (const TensorEntry& each : tensors) {
    header[each.name] = {
        {"dtype", each.dtype}, {"shape", each.shape}, {"data_offsets", {at, at + each.bytes()}}};
    next_.push_back(at);
    end_.push_back(at += each.bytes());
  }
  std::string text = header.dump();
  text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  const std::uint64_t length = text.size();
  file_.write(reinterpret_cast<const char*>(&length), sizeof length);
  file_ << text;
  for (std::int64_t& each : next_) each += static_cast<std::int64_t>(sizeof length + length);
  for (std::int64_t& each : end_) each += static_cast<std::int64_t>(sizeof length + length);
}

void SafetensorsFile::add(std::size_t tensor, std::span<const std::byte> bytes) {
  file_.seekp(next_.at(tensor));
  file_.write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
  next_[tensor] += std::ssize(bytes);
}

void SafetensorsFile::close() {
  check(next_ == end_, "every tensor of a file is written");
  errno = 0;
  file_.close();
  if (file_) return;
  throw RunError(ErrorKind::Io, "cannot write " + path_.string() + ": " + std::strerror(errno));
}

}  // namespace regatta::contender
