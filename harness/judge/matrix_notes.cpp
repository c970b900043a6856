// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/matrix_notes.h"

#include <nlohmann/json.hpp>

#include "harness/system/input_file.h"
#include "harness/system/output_file.h"
#include "kernels/base/error.h"

namespace regatta::judge {
namespace {

constexpr const char* kNotesFile = "matrix.json";
constexpr std::uintmax_t kMostNotes = 1 << 20;

}  // namespace

void write_notes(const std::filesystem::path& folder, const MatrixNotes& notes) {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [workload, each] : notes) {
    json[workload] = {{"missing", each.missing},
                      {"seconds", each.seconds},
                      {"command", each.command},
                      {"tuned", each.tuned}};
  }
  system::write_output({.path = folder / kNotesFile, .if_there = system::IfThere::Replace},
                       json.dump(2) + "\n");
}

MatrixNotes notes_in(const std::filesystem::path& folder) {
  MatrixNotes notes;
  if (!std::filesystem::exists(folder / kNotesFile)) return notes;
  try {
    const auto json = nlohmann::json::parse(system::text_of(folder / kNotesFile, kMostNotes));
    for (const auto& [workload, each] : json.items()) {
      notes[workload] = {.missing = each.at("missing"),
                         .seconds = each.at("seconds"),
                         .command = each.at("command"),
                         .tuned = each.at("tuned")};
    }
  } catch (const nlohmann::json::exception&) {
    return {};
  } catch (const RunError&) {
    return {};
  }
  return notes;
}

}  // namespace regatta::judge
