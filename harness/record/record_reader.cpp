// SPDX-License-Identifier: Apache-2.0
#include "harness/record/record_reader.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "harness/record/record_fields.h"
#include "harness/system/command_text.h"
#include "harness/system/input_file.h"
#include "kernels/base/error.h"
#include "kernels/base/random.h"
#include "strategies/strategy.h"

namespace regatta::record {
namespace {

constexpr std::uintmax_t kMostBytes = std::uintmax_t{8} << 30;  // limit for a file of records
constexpr std::size_t kMostLineBytes = std::size_t{64} << 20;   // the longest known has 115 kB

/// A line that is no record.
class NotARecord : public RunError {
 public:
  explicit NotARecord(const std::string& text) : RunError(ErrorKind::Data, text) {}
};

[[noreturn]] void fail(const std::string& path, const char* wanted) {
  throw NotARecord((path.empty() ? "it" : path) + " is not " + wanted);
}

void read(const nlohmann::json& json, const std::string& path, std::string& value) {
  if (!json.is_string()) fail(path, "a string");
  json.get_to(value);
}

void read(const nlohmann::json& json, const std::string& path, bool& value) {
  if (!json.is_boolean()) fail(path, "true or false");
  json.get_to(value);
}

void read(const nlohmann::json& json, const std::string& path, double& value) {
  if (!json.is_number()) fail(path, "a number");
  json.get_to(value);
}

template <std::integral T>
void read(const nlohmann::json& json, const std::string& path, T& value) {
  const bool fits = json.is_number_unsigned()
                        ? std::in_range<T>(json.get<std::uint64_t>())
                        : json.is_number_integer() && std::in_range<T>(json.get<std::int64_t>());
  if (!fits) fail(path, "an integer, or not one of its range");
  json.get_to(value);
}

void read(const nlohmann::json& json, const std::string& path, Status& value) {
  for (const Status each : {Status::Reached, Status::Missed, Status::Failed}) {
    if (json.is_string() && json.get<std::string>() == to_string(each)) {
      value = each;
      return;
    }
  }
  fail(path, "reached, missed or failed");
}

void read(const nlohmann::json& json, const std::string& path, OptionValue& value) {
  if (json.is_string()) {
    read(json, path, value.emplace<std::string>());
  } else if (json.is_number_float()) {
    read(json, path, value.emplace<double>());
  } else {
    read(json, path, value.emplace<std::int64_t>());
  }
}

template <typename... Of>
void read(const nlohmann::json& json, const std::string& path, std::map<Of...>& values) {
  if (!json.is_object()) fail(path, "an object");
  for (const auto& [name, value] : json.items()) read(value, path + '.' + name, values[name]);
}

template <typename T>
void read(const nlohmann::json& json, const std::string& path, std::optional<T>& value);
template <typename T>
void read(const nlohmann::json& json, const std::string& path, std::vector<T>& values);
template <HasFields T>
void read(const nlohmann::json& json, const std::string& path, T& part) {
  if (!json.is_object()) fail(path, "an object");
  for_each_field(part, [&](const char* name, auto& value, const auto&...) {
    const auto found = json.find(name);
    if (found != json.end()) read(*found, path.empty() ? name : path + '.' + name, value);
  });
}

template <typename T>
void read(const nlohmann::json& json, const std::string& path, std::optional<T>& value) {
  if (json.is_null()) {
    value.reset();
  } else {
    read(json, path, value.emplace());
  }
}

template <typename T>
void read(const nlohmann::json& json, const std::string& path, std::vector<T>& values) {
  if (!json.is_array()) fail(path, "an array");
  values.resize(json.size());
  for (std::size_t i = 0; i < json.size(); ++i) {
    read(json[i], fmt::format("{}[{}]", path, i), values[i]);
  }
}

/// Requires the fields without which a line is no evidence of a run.
void require_essentials(const nlohmann::json& json) {
  if (!json.is_object()) fail("", "an object");
  for (const char* path : {"/cell/workload", "/cell/strategy", "/status"}) {
    if (!json.contains(nlohmann::json::json_pointer(path))) {
      throw NotARecord("it has no " + std::string(path + 1));
    }
  }
}

/// Takes the run's length from the command, the only place where older records have it.
void read_length_of_old(const std::string& command, Cell& into) {
  const std::vector<std::string> words = system::words_of(command);
  for (std::size_t i = 0; i < words.size(); ++i) {
    for (const std::string flag : {"--steps", "--epochs"}) {
      std::string value;
      if (words[i].starts_with(flag + '=')) value = words[i].substr(flag.size() + 1);
      if (words[i] == flag && i + 1 < words.size()) value = words[i + 1];
      if (value.empty()) continue;
      const double length = std::strtod(value.c_str(), nullptr);
      if (!(std::abs(length) < 0x1p63)) continue;  // skips non-numbers, too: no run was given one
      if (flag == "--steps") into.steps = static_cast<std::int64_t>(length);
      if (flag == "--epochs") into.epochs = length;
    }
  }
}

/// Reads options from the cell's fields, where older records have them for all strategies.
void read_options_of_old(const nlohmann::json& cell, Cell& into) {
  for (const strategies::Strategy* strategy : strategies::all_strategies()) {
    const std::string parts = '+' + into.strategy + '+';
    if (parts.find('+' + std::string(strategy->name) + '+') == parts.npos) continue;
    for (const Option* option : strategy->options) {
      const auto found = cell.find(option->name);
      if (found == cell.end() || found->is_null()) continue;
      read(*found, "cell." + std::string(option->name), into.options[std::string(option->name)]);
    }
  }
}

/// Drops a run without a result if its command ran again later.
void drop_repeated(std::vector<Record>& records) {
  std::set<std::string> later;  // commands
  std::vector<Record> kept;
  for (auto record = records.rbegin(); record != records.rend(); ++record) {
    const bool is_repeated = !later.insert(record->command).second;
    if (!is_repeated || !is_to_run_again(*record)) kept.push_back(std::move(*record));
  }
  std::reverse(kept.begin(), kept.end());
  records = std::move(kept);
}

struct CloseGz {
  void operator()(gzFile file) const { gzclose(file); }
};

/// The lines of a file, which gzip may have compressed.
class Lines {
 public:
  /// Throws: as open_input() does.
  explicit Lines(const std::filesystem::path& path) {
    system::open_input(path, kMostBytes);
    file_.reset(gzopen(path.c_str(), "rb"));
    if (!file_) throw RunError(ErrorKind::Data, "cannot read " + path.string());
  }

  /// False at the end. Throws: RunError(Data) where a line is longer than kMostLineBytes, or the
  /// compressed file is damaged.
  bool next(std::string& line) {
    line.clear();
    for (int byte = gzgetc(file_.get()); byte != EOF; byte = gzgetc(file_.get())) {
      if (byte == '\n') return true;
      if (line.size() == kMostLineBytes) {
        throw RunError(ErrorKind::Data, fmt::format("the line has more than the {} bytes that are "
                                                    "read; fix: take it out of the file",
                                                    kMostLineBytes));
      }
      line += static_cast<char>(byte);
    }
    int status = Z_OK;
    const char* reason = gzerror(file_.get(), &status);
    if (status != Z_OK && status != Z_STREAM_END) {
      throw RunError(ErrorKind::Data, fmt::format("{}; fix: compress the records anew", reason));
    }
    return !line.empty();
  }

 private:
  std::unique_ptr<gzFile_s, CloseGz> file_;
};

/// A line that holds a record.
struct Where {
  std::filesystem::path file;
  int line = 0;
};

/// Adds the records of one file. `seen`: where each run was found, by run ID.
void read_file(const std::filesystem::path& path, std::map<std::string, Where>& seen,
               ReadRecords& result) {
  Lines lines(path);
  std::string line;
  for (int number = 1;; ++number) {
    const std::string where = fmt::format("{}:{}", path.string(), number);
    try {
      if (!lines.next(line)) break;
      if (line.find_first_not_of(" \t\r") == line.npos) continue;
      Record record = record_from_json(line);
      const auto [first, is_new] = seen.emplace(record.run_id, Where{path, number});
      if (is_new) {
        result.records.push_back(std::move(record));
        continue;
      }
      const auto& [file, first_line] = first->second;
      result.warnings.push_back(fmt::format("{}: the same run as line {}{}; skipped", where,
                                            first_line,
                                            file == path ? "" : " of " + file.string()));
    } catch (const NotARecord& error) {
      result.warnings.push_back(where + ": no record: " + error.what() + "; skipped");
    } catch (const RunError& error) {
      throw RunError(error.kind(), where + ": " + error.what());
    }
  }
}

}  // namespace

Record record_from_json(std::string_view line) {
  const nlohmann::json json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) throw NotARecord("it is not JSON, or cut short");
  require_essentials(json);
  std::int64_t schema = Record::kSchema;
  if (json.contains("schema")) read(json["schema"], "schema", schema);
  if (schema < 1 || schema > Record::kSchema) {
    throw RunError(ErrorKind::Data,
                   fmt::format("schema {}, but this program knows 1 to {}; use the commit that "
                               "wrote it, named in its software.git_commit",
                               schema, Record::kSchema));
  }
  Record record;
  record.cell.fusion = "off";  // older records lack the field
  read(json, "", record);
  if (record.run_id.empty()) record.run_id = fmt::format("{:016x}", fnv1a(line));
  if (schema == 1) record.checksums.data_order.clear();  // it depended on the seed alone
  if (!json["cell"].contains("options")) read_options_of_old(json["cell"], record.cell);
  if (!json["cell"].contains("steps")) read_length_of_old(record.command, record.cell);
  if (record.status != Status::Reached) {  // older failed runs may have an earlier target time
    record.training_time_to_target_ns.reset();
    record.full_time_to_target_ns.reset();
    record.result_time_to_target_ns.reset();
    record.examples_to_target.reset();
  }
  return record;
}

std::vector<std::filesystem::path> record_files(const std::filesystem::path& folder, Kept kept) {
  std::vector<std::filesystem::path> files;
  for (const char* ending : {".gz", ""}) {
    const std::filesystem::path path = folder / (file_of(kept) + std::string(ending));
    std::error_code ignored;
    const auto type = std::filesystem::status(path, ignored).type();
    if (type != std::filesystem::file_type::not_found) files.push_back(path);
  }
  return files;
}

ReadRecords records_in(const std::filesystem::path& folder, Kept kept) {
  ReadRecords result;
  std::map<std::string, Where> seen;
  for (const auto& path : record_files(folder, kept)) read_file(path, seen, result);
  drop_repeated(result.records);
  return result;
}

NewRecords::NewRecords(const std::filesystem::path& folder) : file_(folder / file_of(Kept::Real)) {
  std::ifstream file(file_);
  std::array<char, 1 << 16> part{};
  for (std::uintmax_t begin = 0; file.read(part.data(), part.size()) || file.gcount() > 0;) {
    const std::string_view text(part.data(), static_cast<std::size_t>(file.gcount()));
    if (const auto last = text.rfind('\n'); last != text.npos) read_bytes_ = begin + last + 1;
    begin += text.size();
  }
}

std::vector<Record> NewRecords::read() {
  std::vector<Record> records;
  std::ifstream file(file_);
  file.seekg(static_cast<std::streamoff>(read_bytes_));
  for (std::string line; std::getline(file, line) && !file.eof(); read_bytes_ += line.size() + 1) {
    try {
      records.push_back(record_from_json(line));
    } catch (const NotARecord&) {  // a writer was killed
    }
  }
  return records;
}

ReadRecords read_records(const std::filesystem::path& folder) {
  const std::string path = (folder / "records.jsonl").string();
  try {
    if (record_files(folder).empty()) system::open_input(path, kMostBytes);
  } catch (const RunError& error) {
    throw RunError(
        error.kind(),
        error.what() + std::string("; fix: name a folder that regatta run --out wrote to"));
  }
  ReadRecords result = records_in(folder);
  if (result.records.empty()) {
    throw RunError(ErrorKind::Data, path + " holds no whole record; fix: run regatta run --out " +
                                        folder.string() + " first");
  }
  return result;
}

ReadRecords read_all_records(const std::filesystem::path& folder) {
  ReadRecords simulated = records_in(folder, Kept::Simulated);
  ReadRecords result = simulated.records.empty() ? read_records(folder) : records_in(folder);
  std::ranges::move(simulated.records, std::back_inserter(result.records));
  std::ranges::move(simulated.warnings, std::back_inserter(result.warnings));
  return result;
}

}  // namespace regatta::record
