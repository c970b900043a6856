// SPDX-License-Identifier: Apache-2.0
#include "harness/contender/events.h"

#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "harness/system/terminal.h"
#include "kernels/base/error.h"

namespace regatta::contender {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kMllog = ":::MLLOG ";
constexpr double kMostExamples = 1e15;

[[noreturn]] void refuse_line(const std::string& line, const std::string& why) {
  throw RunError(ErrorKind::Program, why + ": " + system::one_line(line.substr(0, 200)));
}

/// True if a value is not finite, in the spelling of Python or of C.
bool has_nan(std::string text) {
  for (char& letter : text) letter = static_cast<char>(std::tolower(letter));
  for (const char* value :
       {":nan", ": nan", ":-nan", ": -nan", ":inf", ": inf", ":-inf", ": -inf"}) {
    if (text.find(value) != text.npos) return true;
  }
  return false;
}

Json parsed_line(const std::string& text, const std::string& line) {
  Json json = Json::parse(text, nullptr, false);
  if (json.is_object()) return json;
  if (has_nan(text)) {
    throw RunError(ErrorKind::Diverged,
                   "a number is not finite: " + system::one_line(line.substr(0, 200)));
  }
  refuse_line(line, "a line is no JSON object");
}

std::optional<double> number(const Json& json, const char* name, const std::string& line) {
  const auto found = json.find(name);
  if (found == json.end() || found->is_null()) return std::nullopt;
  if (!found->is_number()) refuse_line(line, std::string("`") + name + "` is no number");
  return found->get<double>();
}

std::optional<std::int64_t> whole(const std::optional<double>& value, const char* name,
                                  const std::string& line) {
  if (!value) return std::nullopt;
  if (*value < 0 || *value > kMostExamples || std::floor(*value) != *value)
    refuse_line(line, std::string("`") + name + "` is no whole number from 0 to 1e15");
  return static_cast<std::int64_t>(*value);
}

/// Reads an object of texts; other values as JSON.
std::map<std::string, std::string> texts(const Json& json, const char* name,
                                         const std::string& line) {
  std::map<std::string, std::string> result;
  const auto found = json.find(name);
  if (found == json.end() || found->is_null()) return result;
  if (!found->is_object()) refuse_line(line, std::string("`") + name + "` is no object");
  for (const auto& [key, value] : found->items())
    result[key] = value.is_string() ? value.get<std::string>() : value.dump();
  return result;
}

}  // namespace

const char* to_string(EventKind kind) {
  switch (kind) {
    case EventKind::Proof: return "proof";
    case EventKind::Ready: return "ready";
    case EventKind::Step: return "step";
    case EventKind::EvaluateBegin: return "evaluate_begin";
    case EventKind::Evaluate: return "evaluate";
    case EventKind::Done: return "done";
  }
  return "";
}

Event parse_event(const std::string& line, std::int64_t at_ns) {
  const Json json = parsed_line(line, line);
  const auto name = json.find("event");
  Event event{.at_ns = at_ns};
  for (const EventKind kind : {EventKind::Proof, EventKind::Ready, EventKind::Step,
                               EventKind::EvaluateBegin, EventKind::Evaluate, EventKind::Done}) {
    if (name == json.end() || *name != to_string(kind)) continue;
    event.kind = kind;
    event.examples = whole(number(json, "examples", line), "examples", line);
    event.loss = number(json, "loss", line);
    event.metric = number(json, "metric", line);
    if (kind == EventKind::Proof) event.json = line;
    if (kind != EventKind::Ready) return event;
    if (json.contains("framework") && json["framework"].is_string())
      json["framework"].get_to(event.program.framework);
    event.program.versions = texts(json, "versions", line);
    event.program.notes = texts(json, "notes", line);
    return event;
  }
  refuse_line(line, "`event` is not proof, ready, step, evaluate_begin, evaluate or done");
}

/// A line of the log.
struct MllogReader::Entry {
  const std::string& line;
  std::optional<double> value, samples, epoch;
};

std::optional<std::int64_t> MllogReader::examples_of(const Entry& entry) const {
  if (entry.samples) return whole(entry.samples, "samples_count", entry.line);
  if (!entry.epoch || !train_samples_) return std::nullopt;
  return whole(std::round(*entry.epoch * *train_samples_), "epoch_num", entry.line);
}

/// Returns the evaluation of an accuracy, unless its end is still to come.
std::optional<Event> MllogReader::evaluation(const Entry& entry, std::int64_t at_ns) {
  if (!entry.value) refuse_line(entry.line, "eval_accuracy has no value");
  Event event{.kind = EventKind::Evaluate,
              .at_ns = std::exchange(ended_ns_, {}).value_or(at_ns),
              .examples = examples_of(entry),
              .metric = *entry.value * (metric_ == "accuracy" ? 100 : 1),
              .epoch = entry.epoch};
  if (!event.examples)
    refuse_line(entry.line,
                "eval_accuracy has no samples_count, and no epoch_num with train_samples");
  if (!evaluates_) return event;
  evaluation_ = event;
  return std::nullopt;
}

std::optional<Event> MllogReader::take(const std::string& line, std::int64_t at_ns) {
  if (!line.starts_with(kMllog)) return std::nullopt;
  const Json json = parsed_line(line.substr(kMllog.size()), line);
  const std::string key = json.contains("key") && json["key"].is_string() ? json["key"] : "";
  const Json metadata = json.value("metadata", Json());
  Entry entry{.line = line, .value = {}, .samples = {}, .epoch = {}};
  if (metadata.is_object()) {
    entry.samples = number(metadata, "samples_count", line);
    entry.epoch = number(metadata, "epoch_num", line);
  }
  if (json.contains("value") && json["value"].is_number())
    entry.value = json["value"].get<double>();
  if (key == "train_samples") train_samples_ = entry.value;
  if (key == "run_start") return Event{.kind = EventKind::Ready, .at_ns = at_ns};
  if (key == "run_stop") return Event{.kind = EventKind::Done, .at_ns = at_ns};
  if (key == "eval_accuracy") return evaluation(entry, at_ns);
  if (key == "eval_start") {
    evaluates_ = true;
    return Event{.kind = EventKind::EvaluateBegin, .at_ns = at_ns};
  }
  if (key == "eval_stop" && std::exchange(evaluates_, false)) {
    if (!evaluation_) ended_ns_ = at_ns;
    if (evaluation_) evaluation_->at_ns = at_ns;
    return std::exchange(evaluation_, {});
  }
  if (key == "epoch_stop" || key == "block_stop") {
    if (const auto examples = examples_of(entry))
      return Event{.kind = EventKind::Step, .at_ns = at_ns, .examples = examples};
  }
  return std::nullopt;
}

}  // namespace regatta::contender
