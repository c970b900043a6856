// SPDX-License-Identifier: Apache-2.0
//
// One row for each run, after a header. RFC 4180: lines end in CR LF, and a value with a comma, a
// quote or a line break is quoted, with its quotes doubled. Columns are a record's fields by their
// names in results/schema.json, such as `cell.workload`; null is empty. Lists of single words are
// joined by "; ", and so are `kernels` (NODE=CHOICE), `environment` (NAME=VALUE) and the sums of a
// step (BYTES=ALGORITHM); stragglers are written as for --straggler. Evaluations, workers, clocks
// and training losses do not fit a row; only the last evaluation is included. A field that an older
// record lacks has its default. Failed and missed runs have rows, too.
#include <fmt/format.h>

#include <type_traits>

#include "harness/export/export.h"
#include "harness/record/record_fields.h"

namespace regatta::exports {
namespace {

template <typename T>
concept Number = std::is_arithmetic_v<T>;
template <typename T>
concept Word = Number<T> || std::same_as<T, std::string>;

/// A row under construction; all rows of all records have the same columns.
class Row {
 public:
  /// `path`: the prefix of these fields' part, with its dot.
  template <typename Part>
  void add_fields(const std::string& path, const Part& part) {
    for_each_field(part, [&](const char* name, const auto& value, const auto&...) {
      add(path + name, value);
    });
  }

  template <typename Part>
  void add_blanks(const std::string& path) {
    Row blanks;
    blanks.add_fields(path, Part{});
    for (const std::string& column : blanks.columns) add_text(column, "");
  }

  void add_text(const std::string& column, const std::string& value) {
    columns.push_back(column);
    values.push_back(value);
  }

  std::vector<std::string> columns;
  std::vector<std::string> values;

 private:
  void add(const std::string& column, const std::string& value) { add_text(column, value); }
  void add(const std::string& column, record::Status value) {
    add_text(column, std::string(to_string(value)));
  }
  template <Number T>
  void add(const std::string& column, T value) {
    add_text(column, fmt::format("{}", value));
  }
  template <Word T>
  void add(const std::string& column, const std::vector<T>& words) {
    add_text(column, fmt::format("{}", fmt::join(words, "; ")));
  }
  void add(const std::string& column, const std::vector<record::Straggler>& stragglers) {
    add_text(column, straggler_text(stragglers));
  }
  void add(const std::string& column, const std::map<std::string, std::string>& pairs) {
    std::vector<std::string> texts;
    for (const auto& [name, value] : pairs) texts.push_back(name + '=' + value);
    add_text(column, fmt::format("{}", fmt::join(texts, "; ")));
  }
  void add(const std::string& column, const OptionValues& options) {
    std::map<std::string, std::string> pairs;
    for (const auto& [name, value] : options) pairs.emplace(name, to_text(value));
    add(column, pairs);
  }
  void add(const std::string& column, const std::vector<KernelChoice>& kernels) {
    std::vector<std::string> texts;
    for (const auto& [node, choice] : kernels) texts.push_back(node + '=' + choice);
    add_text(column, fmt::format("{}", fmt::join(texts, "; ")));
  }
  void add(const std::string& column, const std::vector<record::SumRecord>& sums) {
    std::vector<std::string> texts;
    for (const record::SumRecord& sum : sums) {
      texts.push_back(fmt::format("{}={}{}{}", sum.bytes, sum.algorithm,
                                  sum.torus ? " " + *sum.torus : "",
                                  sum.between ? " between " + *sum.between : ""));
    }
    add_text(column, fmt::format("{}", fmt::join(texts, "; ")));
  }
  void add(const std::string&, const std::vector<record::Evaluation>& evaluations) {
    if (evaluations.empty()) {
      add_blanks<record::Evaluation>("last_evaluation.");
    } else {
      add_fields("last_evaluation.", evaluations.back());
    }
  }
  void add(const std::string&, const std::vector<record::WorkerRecord>&) {}
  void add(const std::string&, const std::vector<record::ClockRecord>&) {}
  void add(const std::string&, const std::vector<record::LossSample>&) {}
  template <HasFields T>
  void add(const std::string& column, const T& part) {
    add_fields(column + '.', part);
  }
  template <typename T>
  void add(const std::string& column, const std::optional<T>& value) {
    if (value) {
      add(column, *value);
    } else if constexpr (HasFields<T>) {
      add_blanks<T>(column + '.');
    } else {
      add_text(column, "");
    }
  }
};

Row row_of(const record::Record& record) {
  Row row;
  row.add_text("schema", fmt::format("{}", record::Record::kSchema));
  row.add_fields("", record);
  return row;
}

std::string quoted(const std::string& value) {
  if (value.find_first_of(",\"\r\n") == value.npos) return value;
  std::string text = "\"";
  for (const char c : value) text += c == '"' ? "\"\"" : std::string(1, c);
  return text + '"';
}

std::string line_of(const std::vector<std::string>& values) {
  std::string line;
  for (const std::string& value : values)
    line += (&value == &values.front() ? "" : ",") + quoted(value);
  return line + "\r\n";
}

}  // namespace

Export export_csv(std::span<const record::Record> records, const Submission&) {
  std::string text = line_of(row_of(record::Record{}).columns);
  for (const record::Record& record : records) text += line_of(row_of(record).values);
  return {.files = {{.path = {}, .text = text}}, .left_out = {}};
}

}  // namespace regatta::exports
