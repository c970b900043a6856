// SPDX-License-Identifier: Apache-2.0
#include "workloads/data/text.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "kernels/base/error.h"

namespace regatta::workloads {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kHeaderBytes = 1024;
constexpr std::uint32_t kMagic = 20240520, kSwappedMagic = 0x88D83401;  // little-endian, big-endian
constexpr std::uint32_t kVersion = 1;

constexpr std::string_view kGetText =
    "; fix: pass a folder of plain files with `--data-dir DIR`, get one with `ci/fetch_text DIR`, "
    "or train on generated tokens with `--dataset pairs`";

constexpr const char* kUnread = "cannot be read; fix: allow it, or get it again";

[[noreturn]] void fail(const std::string& problem) {
  throw RunError(ErrorKind::Data, "text: " + problem);
}
[[noreturn]] void fail(const fs::path& file, const std::string& problem) {
  fail(file.string() + " " + problem);
}

struct TokenFile {
  fs::path path;
  std::int64_t header = 0;      ///< bytes before the first token
  std::int64_t token_size = 1;  ///< bytes
  std::int64_t tokens = 0;
};

bool is_bin(const fs::path& file) { return file.extension() == ".bin"; }

std::vector<std::uint8_t> read_bytes(const fs::path& path, std::int64_t offset,
                                     std::int64_t count) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(count));
  std::ifstream file(path, std::ios::binary);
  file.seekg(offset);
  if (!file.read(reinterpret_cast<char*>(bytes.data()), count)) fail(path, kUnread);
  return bytes;
}

std::uint32_t number_at(std::span<const std::uint8_t> bytes, std::size_t index) {
  const auto own = bytes.subspan(4 * index, 4);
  return own[0] | std::uint32_t{own[1]} << 8 | std::uint32_t{own[2]} << 16 |
         std::uint32_t{own[3]} << 24;
}

/// Returns the length of llm.c's header; 0 if the file has none.
std::int64_t header_of(const fs::path& path, std::int64_t size) {
  if (size < kHeaderBytes) return 0;
  const std::vector<std::uint8_t> header = read_bytes(path, 0, kHeaderBytes);
  const std::uint32_t magic = number_at(header, 0), tokens = number_at(header, 2);
  if (magic == kSwappedMagic) {
    fail(path, "has a header of the wrong byte order; fix: write its numbers little-endian");
  }
  if (magic != kMagic) return 0;
  if (number_at(header, 1) != kVersion) {
    fail(path, "has a header of version " + std::to_string(number_at(header, 1)) +
                   "; fix: write version 1, with tokens of 16 bits");
  }
  if (kHeaderBytes + 2 * std::int64_t{tokens} != size) {
    fail(path, "has " + std::to_string(size - kHeaderBytes) + " bytes of tokens, but its header " +
                   "promises " + std::to_string(tokens) + " tokens of 16 bits; fix: get it again");
  }
  return kHeaderBytes;
}

TokenFile look_at(const fs::path& path) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  if (error) fail(path, kUnread);
  TokenFile file{.path = path};
  if (is_bin(path)) {
    file.token_size = 2;
    file.header = header_of(path, static_cast<std::int64_t>(size));
  }
  const std::int64_t bytes = static_cast<std::int64_t>(size) - file.header;
  if (bytes == 0) fail(path, "is empty; fix: remove it, or get it again");
  if (bytes % file.token_size != 0) {
    fail(path, "has an odd number of bytes, not 16-bit tokens; fix: rename it if it is text");
  }
  file.tokens = bytes / file.token_size;
  return file;
}

std::vector<TokenFile> files_in(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> paths;
  for (fs::directory_iterator each(folder, error), end; !error && each != end;
       each.increment(error)) {
    std::error_code ignored;
    const bool hidden = each->path().filename().string().starts_with('.');
    if (!hidden && each->is_regular_file(ignored)) paths.push_back(each->path());
  }
  if (error) fail("cannot read the folder " + folder.string() + std::string(kGetText));
  if (paths.empty()) fail("there is no file in " + folder.string() + std::string(kGetText));
  if (std::any_of(paths.begin(), paths.end(), is_bin)) std::erase_if(paths, std::not_fn(is_bin));
  std::sort(paths.begin(), paths.end());
  std::vector<TokenFile> files;
  for (const fs::path& path : paths) files.push_back(look_at(path));
  return files;
}

/// The numbers of tokens of the two parts.
DataSetSizes part_tokens(const fs::path& folder, std::span<const TokenFile> files,
                         std::int64_t context) {
  check(context > 0, "a workload that trains on text has a context");
  std::int64_t all = 0;
  for (const TokenFile& file : files) all += file.tokens;
  const DataSetSizes parts{.train = all * 9 / 10, .test = all - all * 9 / 10};
  if (parts.test > context) return parts;  // then the larger part is long enough, too
  fail(folder.string() + " has " + std::to_string(all) + " tokens; the last tenth, for " +
       "validation, has " + std::to_string(parts.test) + ", fewer than a context of " +
       std::to_string(context) + " and the next token; fix: add text, or use a smaller context");
}

void require_below(const TokenFile& file, std::span<const std::int32_t> tokens,
                   std::int64_t vocabulary) {
  const auto is_beyond = [vocabulary](std::int32_t token) { return token >= vocabulary; };
  const auto first = std::find_if(tokens.begin(), tokens.end(), is_beyond);
  if (first == tokens.end()) return;
  const auto swapped_is_below = [&](std::int32_t token) {
    return !is_beyond((token & 0xff) << 8 | token >> 8);
  };
  const bool swapped =
      file.token_size == 2 && std::all_of(tokens.begin(), tokens.end(), swapped_is_below);
  const std::int64_t largest = *std::max_element(tokens.begin(), tokens.end());
  fail(file.path,
       "has token " + std::to_string(*first) + " at position " +
           std::to_string(first - tokens.begin()) + ", but the vocabulary is " +
           std::to_string(vocabulary) +
           (swapped ? ": 16-bit tokens of the wrong byte order? fix: write them little-endian"
                    : "; fix: use a vocabulary of " + std::to_string(largest + 1) + " or more"));
}

std::vector<std::int32_t> read_tokens(const TokenFile& file, std::int64_t vocabulary) {
  const std::vector<std::uint8_t> bytes =
      read_bytes(file.path, file.header, file.tokens * file.token_size);
  std::vector<std::int32_t> tokens;
  if (file.token_size == 1) {
    tokens.assign(bytes.begin(), bytes.end());
  } else {
    tokens.reserve(bytes.size() / 2);
    for (std::size_t i = 0; i < bytes.size(); i += 2)
      tokens.push_back(bytes[i] | bytes[i + 1] << 8);
  }
  require_below(file, tokens, vocabulary);
  return tokens;
}

}  // namespace

DataSets load_text(const fs::path& folder, const Sequences& sequences) {
  const std::vector<TokenFile> files = files_in(folder);
  const DataSetSizes parts = part_tokens(folder, files, sequences.context);
  std::vector<std::int32_t> all;
  all.reserve(static_cast<std::size_t>(parts.train + parts.test));
  for (const TokenFile& file : files) {
    const std::vector<std::int32_t> tokens = read_tokens(file, sequences.vocabulary);
    all.insert(all.end(), tokens.begin(), tokens.end());
  }
  const auto part = [&](std::span<const std::int32_t> tokens) {
    DataSet data = cut_into_blocks("text", tokens,
                                   {.context = sequences.context, .stride = sequences.context});
    data.origin = DataOrigin::Unverified;
    return data;
  };
  const auto tokens = std::span<const std::int32_t>(all);
  const auto train = static_cast<std::size_t>(parts.train);
  return {.train = part(tokens.first(train)), .test = part(tokens.subspan(train))};
}

DataSetSizes sizes_of_text(const fs::path& folder, const Sequences& sequences) {
  const DataSetSizes parts = part_tokens(folder, files_in(folder), sequences.context);
  const Blocks blocks{.context = sequences.context, .stride = sequences.context};
  return {.train = count_of(blocks, parts.train), .test = count_of(blocks, parts.test)};
}

}  // namespace regatta::workloads
