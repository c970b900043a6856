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

SafetensorsFile::SafetensorsFile(std::filesystem::path path,
                                 const std::vector<TensorEntry>& tensors)
    : path_(std::move(path)), file_(path_, std::ios::binary) {
  nlohmann::ordered_json header;
  std::int64_t end = 0;
  for (const TensorEntry& each : tensors) {
    next_.push_back(std::exchange(end, end + each.bytes()));
    end_.push_back(end);
    header[each.name] = {
        {"dtype", each.dtype}, {"shape", each.shape}, {"data_offsets", {next_.back(), end}}};
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const std::uint64_t length = text.size();
  file_.write(reinterpret_cast<const char*>(&length), sizeof length);
  file_ << text;
  for (std::vector<std::int64_t>* all : {&next_, &end_}) {
    for (std::int64_t& each : *all) each += static_cast<std::int64_t>(sizeof length + length);
  }
}

void SafetensorsFile::write(std::size_t tensor, std::span<const std::byte> bytes) {
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
