// SPDX-License-Identifier: Apache-2.0
#include "harness/matrix/matrix_plan.h"

#include <fmt/format.h>

#include <toml++/toml.h>
#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <sstream>
#include <tuple>

#include "harness/matrix/matrix.h"
#include "harness/matrix/tiers.h"
#include "harness/plan/program_flags.h"
#include "harness/plan/race_flags.h"
#include "harness/system/input_file.h"
#include "kernels/base/error.h"
#include "kernels/base/names.h"

namespace regatta::matrix {
namespace {

constexpr std::uintmax_t kMostBytes = 64 << 10;  // in a file
constexpr std::size_t kMostLine = 4096;          // characters
constexpr std::int64_t kMostCells = 1000;

using Values = std::vector<std::string>;
using Block = std::vector<std::pair<std::string, Values>>;  // by key, in the file's order

class Reader {
 public:
  explicit Reader(std::string source) : source_(std::move(source)) {}

  MatrixPlan read(const toml::table& table) {
    for (const auto& [key, value] : table) {
      if (std::ranges::find(kKeys, key.str()) == kKeys.end()) {
        throw error(unknown_name("key", std::string(key.str()), kKeys).what());
      }
    }
    MatrixPlan plan{.seeds = seeds(table, "seeds", 1, 5), .cells = {}};
    const std::vector<Block> excluded = blocks(table, "exclude");
    const std::vector<Block> races = blocks(table, "race");
    require_few(races);
    for (const Block& block : races) {
      for (MatrixCell& cell : cross(block, excluded)) {
        const bool is_new = std::ranges::find(plan.cells, cell) == plan.cells.end();
        if (is_new) plan.cells.push_back(std::move(cell));
      }
    }
    require_use(excluded);
    if (plan.cells.empty())
      throw error("no cell is left; fix: add a [[race]] block with a workload");
    plan.tune = tune(table, plan);
    return plan;
  }

 private:
  static inline const std::vector<std::string> kKeys = {"seeds", "race",       "exclude",
                                                        "tune",  "tune_seeds", "tune_budget"};

  RunError error(const std::string& what) const {
    return {ErrorKind::Usage, source_ + ": " + what};
  }

  TunePlan tune(const toml::table& table, const MatrixPlan& race) {
    TunePlan plan{.blocks = {}, .seeds = seeds(table, "tune_seeds", plan::kMostSeeds + 1, 2)};
    const auto budget = table["tune_budget"].value_or<std::int64_t>(20);
    for (const Block& block : blocks(table, "tune")) {
      TuneBlock tune;
      std::size_t runs = plan.seeds.size();
      for (const auto& [flag, values] : block) {
        if (flag == "--workload") {
          tune.workloads = values;
        } else if (flag == "--strategy") {
          tune.strategies = values;
        } else {
          tune.choices.emplace_back(flag, values);
          runs *= values.size();
        }
      }
      plan.blocks.push_back(tune);
      const std::string number = fmt::format("[[tune]] number {}: ", plan.blocks.size());
      if (std::ranges::none_of(race.cells, [&](const auto& cell) { return is_for(tune, cell); })) {
        throw error(number + "no cell has its strategy and workload; fix: correct or remove it");
      }
      if (std::cmp_greater(runs, budget)) {
        throw error(
            fmt::format("{}{} runs of a cell are more than tune_budget = {}; fix: shorten "
                        "a list, or raise tune_budget",
                        number, runs, budget));
      }
    }
    return plan;
  }

  /// Reads a list of seeds, or a number of seeds that begin at `first`; `by_default` without the
  /// key.
  std::vector<std::uint64_t> seeds(const toml::table& table, const std::string& key,
                                   std::uint64_t first, std::int64_t by_default) const {
    const std::string seeds_are = fmt::format(
        "{} is a number from 1 to {}, or a list of up to as many seeds", key, plan::kMostSeeds);
    const toml::node* node = table.get(key);
    std::vector<std::uint64_t> result;
    if (const auto count = node == nullptr ? by_default : node->value_exact<std::int64_t>()) {
      if (*count < 1 || *count > plan::kMostSeeds) throw error(seeds_are);
      result.resize(static_cast<std::size_t>(*count));
      std::iota(result.begin(), result.end(), first);
      return result;
    }
    if (node->is_array()) {
      for (const toml::node& each : *node->as_array()) {
        const auto seed = each.value_exact<std::int64_t>();
        if (!seed || *seed < 0) throw error("a seed is a whole number from 0");
        result.push_back(static_cast<std::uint64_t>(*seed));
      }
    }
    if (result.empty() || std::ssize(result) > plan::kMostSeeds) throw error(seeds_are);
    return result;
  }

  std::vector<Block> blocks(const toml::table& table, const std::string& key) const {
    std::vector<Block> result;
    const toml::node* node = table.get(key);
    if (node == nullptr) return result;
    const toml::array* array = node->as_array();
    if (array == nullptr || !array->is_array_of_tables()) {
      throw error("write [[" + key + "]], in two brackets: there may be several");
    }
    for (const toml::node& each : *array) {
      // toml++ sorts keys; their positions have the file's order.
      std::vector<std::pair<toml::source_position, std::pair<std::string, Values>>> entries;
      for (const auto& [name, value] : *each.as_table()) {
        entries.emplace_back(value.source().begin, std::pair(flag_of(std::string(name.str())),
                                                             values(name.str(), value)));
      }
      std::stable_sort(entries.begin(), entries.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
      Block block;
      for (auto& entry : entries) block.push_back(std::move(entry.second));
      result.push_back(std::move(block));
    }
    return result;
  }

  /// Each flag of a cell has one spelling, so that no block sets it twice.
  std::string flag_of(std::string key) const {
    static const std::vector<std::string> kCellKeys = [] {
      std::vector<std::string> keys = plan::cell_flags();
      for (std::string& each : keys) std::ranges::replace(each = each.substr(2), '-', '_');
      return keys;
    }();
    if (std::ranges::find(kCellKeys, key) == kCellKeys.end()) {
      throw error(unknown_name("key", key, kCellKeys).what());
    }
    std::replace(key.begin(), key.end(), '_', '-');
    return "--" + key;
  }

  Values values(std::string_view key, const toml::node& node) const {
    Values result;
    if (const toml::array* array = node.as_array()) {
      for (const toml::node& each : *array) result.push_back(text_of(key, each));
      if (result.empty()) throw error(std::string(key) + " has no value");
      return result;
    }
    return {text_of(key, node)};
  }

  std::string text_of(std::string_view key, const toml::node& node) const {
    if (const auto text = node.value_exact<std::string>()) {
      if (text->empty())
        throw error(std::string(key) + " is empty; fix: leave it out or give a value");
      return *text;
    }
    if (const auto whole = node.value_exact<std::int64_t>()) return std::to_string(*whole);
    if (const auto real = node.value_exact<double>()) return fmt::format("{}", *real);
    throw error(std::string(key) + " is a text, a number, or a list of them");
  }

  /// Limits the number of cells before they are made.
  void require_few(const std::vector<Block>& races) const {
    double cells = 0;
    for (const Block& block : races) {
      double product = 1;
      for (const auto& [flag, values] : block) product *= static_cast<double>(values.size());
      cells += product;
    }
    if (cells <= kMostCells) return;
    throw error(fmt::format("{:.6g} cells, more than the {} of one matrix; fix: shorten a list",
                            cells, kMostCells));
  }

  /// Rejects a value that excludes no cell, because it is probably a typing error.
  void require_use(const std::vector<Block>& excluded) const {
    for (std::size_t i = 0; i < excluded.size(); ++i) {
      for (const auto& [flag, values] : excluded[i]) {
        for (const std::string& value : values) {
          if (used_.contains({i, flag, value})) continue;
          throw error(
              fmt::format("[[exclude]] number {}: no cell with {} = '{}' is excluded by it; "
                          "fix: correct it or take it out",
                          i + 1, flag.substr(2), value));
        }
      }
    }
  }

  std::vector<MatrixCell> cross(const Block& block, const std::vector<Block>& excluded) {
    std::vector<FlagValues> chosen(1);
    for (const auto& [flag, values] : block) {
      std::vector<FlagValues> next;
      for (const FlagValues& cell : chosen) {
        for (const std::string& value : values) {
          next.push_back(cell);
          next.back().emplace_back(flag, value);
        }
      }
      chosen = std::move(next);
    }
    std::vector<MatrixCell> cells;
    for (const FlagValues& cell : chosen) {
      if (!is_out(cell, excluded)) cells.push_back(cell_of(cell));
    }
    return cells;
  }

  static std::optional<std::string> value_of(const FlagValues& cell, std::string_view flag) {
    const auto found = std::ranges::find(cell, flag, &FlagValues::value_type::first);
    return found == cell.end() ? std::nullopt : std::optional(found->second);
  }

  bool is_out(const FlagValues& cell, const std::vector<Block>& excluded) {
    bool out = false;
    for (std::size_t i = 0; i < excluded.size(); ++i) {
      const bool matches = std::ranges::all_of(excluded[i], [&](const auto& entry) {
        const auto value = value_of(cell, entry.first);
        return value && std::ranges::count(entry.second, *value) > 0;
      });
      if (!matches) continue;
      out = true;
      for (const auto& [flag, values] : excluded[i]) used_.insert({i, flag, *value_of(cell, flag)});
    }
    return out;
  }

  static MatrixCell cell_of(const FlagValues& flags) {
    const auto value_or = [&](const char* flag, const std::string& otherwise) {
      return value_of(flags, flag).value_or(otherwise);
    };
    MatrixCell cell{.workload = value_or("--workload", value_or("--workload-name", "?")),
                    .strategy = value_or("--strategy", "single"),
                    .is_program = value_of(flags, "--program").has_value()};
    if (cell.is_program) {
      plan::ProgramRequest program{.command = value_or("--program", ""),
                                   .name = value_or("--program-name", "")};
      if (value_of(flags, "--strategy")) program.strategy = cell.strategy;
      cell.strategy = plan::contestant_name(program);
    }
    const std::string workers = value_or("--workers", "1");
    cell.settings = {workers + (workers == "1" ? " worker" : " workers")};
    return with_flags(std::move(cell), flags);
  }

  std::string source_;
  std::set<std::tuple<std::size_t, std::string, std::string>> used_;  ///< values of excludes
};

/// Limits line lengths, because toml++ recurses over a key's dots and a value's brackets.
void require_shallow(const std::string& text, const std::string& source) {
  std::istringstream lines(text);
  int number = 1;
  for (std::string line; std::getline(lines, line); ++number) {
    if (line.size() <= kMostLine) continue;
    throw RunError(ErrorKind::Usage, fmt::format("{}, line {}: it has {} characters, more than the "
                                                 "{} that are read",
                                                 source, number, line.size(), kMostLine));
  }
}

MatrixPlan named_plan(const MatrixRequest& request) {
  if (request.file.empty() == request.tier.empty()) {
    throw RunError(ErrorKind::Usage, "name either a TOML file or a --tier");
  }
  const bool is_tier = request.file.empty();
  const std::string text =
      is_tier ? tier_text(request.tier) : system::text_of(request.file, kMostBytes) + '\n';
  const std::string source = is_tier ? "tier " + request.tier : request.file;
  MatrixPlan plan = parse_matrix(text, source);
  const bool adds = request.tune == MatrixRequest::Tune::Always && plan.tune.blocks.empty();
  return adds ? parse_matrix(text + kTuneText, source + " with --tune") : plan;
}

/// Requires separate seeds for tuning, so that settings are not chosen by the runs that judge them.
void require_disjoint(const MatrixPlan& plan) {
  const auto seed = std::ranges::find_first_of(plan.tune.seeds, plan.seeds);
  if (plan.tune.blocks.empty() || seed == plan.tune.seeds.end()) return;
  throw RunError(ErrorKind::Usage,
                 fmt::format("seed {} is of the race and of tuning; fix: other tune_seeds", *seed));
}

}  // namespace

MatrixPlan plan_of(const MatrixRequest& request) {
  MatrixPlan plan = named_plan(request);
  if (request.seeds) {
    plan.seeds.resize(static_cast<std::size_t>(*request.seeds));
    std::iota(plan.seeds.begin(), plan.seeds.end(), 1U);
  }
  require_disjoint(plan);
  return plan;
}

MatrixCell with_flags(MatrixCell cell, const FlagValues& flags) {
  cell.key.clear();
  for (const auto& [flag, value] : flags) {
    cell.arguments.insert(cell.arguments.end(), {flag, value});
    static const std::set<std::string> kInName = {
        "--workload", "--workload-name", "--strategy", "--workers", "--program", "--program-name"};
    if (kInName.contains(flag)) continue;
    cell.settings.push_back(fmt::format("{}={}", flag.substr(2), value));
  }
  cell.name =
      fmt::format("{} {} ({})", cell.workload, cell.strategy, fmt::join(cell.settings, ", "));
  return cell;
}

bool is_for(const TuneBlock& block, const MatrixCell& cell) {
  const auto has = [](const std::vector<std::string>& names, const std::string& joined) {
    return names.empty() || std::ranges::any_of(names, [&](const std::string& name) {
             return ('+' + joined + '+').find('+' + name + '+') != std::string::npos;
           });
  };
  return !cell.is_program && has(block.workloads, cell.workload) &&
         has(block.strategies, cell.strategy);
}

MatrixPlan parse_matrix(const std::string& text, const std::string& source) {
  require_shallow(text, source);
  try {
    return Reader(source).read(toml::parse(text, source));
  } catch (const toml::parse_error& error) {
    throw RunError(ErrorKind::Usage, fmt::format("{}, line {}: {}", source,
                                                 error.source().begin.line, error.description()));
  }
}

}  // namespace regatta::matrix
