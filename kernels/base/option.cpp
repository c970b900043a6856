// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/option.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <system_error>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/base/names.h"

namespace regatta {
namespace {

constexpr std::int64_t kNoMost = std::numeric_limits<std::int64_t>::max();

void check_count(const Option& option, const Count& range, std::int64_t value) {
  if (value >= range.least && value <= range.most) return;
  const std::string possible =
      range.most == kNoMost
          ? std::to_string(range.least) + " or more is possible"
          : std::to_string(range.least) + " to " + std::to_string(range.most) + " are possible";
  throw RunError(ErrorKind::Usage,
                 option.flag() + " is " + std::to_string(value) + "; " + possible);
}

/// The shortest text that reads back as the same value.
std::string text_of(double value) {
  char digits[32];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), value).ptr;
  return {digits, end};
}

void check_real(const Option& option, const Real& range, double value) {
  if (value >= range.least && value <= range.most) return;  // false for NaN
  throw RunError(ErrorKind::Usage, option.flag() + " is " + text_of(value) + "; " +
                                       text_of(range.least) + " to " + text_of(range.most) +
                                       " are possible");
}

void check_choice(const Option& option, const Choice& choice, const std::string& word) {
  if (std::find(choice.words.begin(), choice.words.end(), word) != choice.words.end()) return;
  const std::vector<std::string> words(choice.words.begin(), choice.words.end());
  throw unknown_name(std::string(option.name), word, words);
}

/// Parses sides such as `4x2`. Empty if the text is not in canonical form: `04x2` is not.
std::optional<std::pair<std::int64_t, std::int64_t>> sides_of(const std::string& text) {
  std::int64_t columns = 1, rows = 1;
  const char* const end = text.data() + text.size();
  const char* const between = std::from_chars(text.data(), end, columns).ptr;
  if (between != end) std::from_chars(between + 1, end, rows);
  const bool is_it = text == std::to_string(columns) + 'x' + std::to_string(rows);
  return is_it && columns > 0 && rows > 0 ? std::optional(std::pair(columns, rows)) : std::nullopt;
}

void check_sides(const Option& option, const std::string& text) {
  if (sides_of(text)) return;
  throw RunError(ErrorKind::Usage,
                 option.flag() + " is '" + text + "'; columns by rows are possible, such as 4x2");
}

/// Empty if the text is no list of counts.
std::vector<std::int64_t> counts_in(std::string_view text) {
  std::vector<std::int64_t> counts;
  for (const char *at = text.data(), *end = at + text.size();; ++at) {
    const auto [next, error] = std::from_chars(at, end, counts.emplace_back());
    if (error != std::errc() || counts.back() < 1) return {};
    if (next == end) return counts;
    if (*next != ',') return {};
    at = next;
  }
}

void check_counts(const Option& option, const std::string& text) {
  if (!counts_in(text).empty()) return;
  throw RunError(ErrorKind::Usage, option.flag() + " is '" + text +
                                       "'; whole numbers of at least 1 are possible, with commas "
                                       "between them, such as 8,5");
}

}  // namespace

std::string Option::flag() const {
  std::string text = "--" + std::string(name);
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

std::optional<OptionValue> Option::default_value() const {
  if (const auto* choice = std::get_if<Choice>(&type)) return std::string(choice->default_value);
  if (const auto* real = std::get_if<Real>(&type)) return real->default_value;
  if (std::holds_alternative<Counts>(type) || std::holds_alternative<Sides>(type)) {
    return std::nullopt;
  }
  const std::optional<std::int64_t>& default_value = std::get<Count>(type).default_value;
  return default_value ? std::optional<OptionValue>(*default_value) : std::nullopt;
}

void Option::check(const OptionValue& value) const {
  // The types stand in the order of their values, and those after Real have a text.
  if (value.index() != std::min<std::size_t>(type.index(), 2)) {
    throw RunError(ErrorKind::Usage,
                   flag() + " is " + to_text(value) + ", which is of another type");
  }
  if (const auto* choice = std::get_if<Choice>(&type)) {
    check_choice(*this, *choice, std::get<std::string>(value));
  } else if (const auto* real = std::get_if<Real>(&type)) {
    check_real(*this, *real, std::get<double>(value));
  } else if (std::holds_alternative<Counts>(type)) {
    check_counts(*this, std::get<std::string>(value));
  } else if (std::holds_alternative<Sides>(type)) {
    check_sides(*this, std::get<std::string>(value));
  } else {
    check_count(*this, std::get<Count>(type), std::get<std::int64_t>(value));
  }
}

std::string to_text(const OptionValue& value) {
  if (const auto* word = std::get_if<std::string>(&value)) return *word;
  if (const auto* real = std::get_if<double>(&value)) return text_of(*real);
  return std::to_string(std::get<std::int64_t>(value));
}

std::optional<OptionValue> ChosenOptions::find(const Option& option) const {
  const auto found = given.find(option.name);
  return found == given.end() ? option.default_value() : found->second;
}

std::int64_t ChosenOptions::count(const Option& option) const {
  return std::get<std::int64_t>(find(option).value());
}

std::optional<std::int64_t> ChosenOptions::count_if_any(const Option& option) const {
  const std::optional<OptionValue> value = find(option);
  return value ? std::optional(std::get<std::int64_t>(*value)) : std::nullopt;
}

std::vector<std::int64_t> ChosenOptions::counts(const Option& option) const {
  const std::optional<OptionValue> value = find(option);
  return value ? counts_in(std::get<std::string>(*value)) : std::vector<std::int64_t>();
}

double ChosenOptions::real(const Option& option) const {
  return std::get<double>(find(option).value());
}

std::string ChosenOptions::choice(const Option& option) const {
  return std::get<std::string>(find(option).value());
}

std::optional<std::pair<std::int64_t, std::int64_t>> ChosenOptions::sides_if_any(
    const Option& option) const {
  const std::optional<OptionValue> value = find(option);
  return value ? sides_of(std::get<std::string>(*value)) : std::nullopt;
}

std::string enumerated(std::span<const std::string_view> names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " and " : ", ";
    text += names[i];
  }
  return text;
}

void check_options(const OptionValues& given, const OptionOwner& owner,
                   std::span<const Option* const> all, std::string (*declarers)(const Option&)) {
  const std::vector<const Option*>& own = owner.options;
  for (const Option* option : all) {
    const auto value = given.find(option->name);
    if (value == given.end()) continue;
    if (std::find(own.begin(), own.end(), option) == own.end()) {
      std::string others;
      for (const Option* each : own) others += (others.empty() ? " (it has " : ", ") + each->flag();
      throw RunError(ErrorKind::Usage, option->flag() + " is an option of " + declarers(*option) +
                                           "; " + owner.title + " has no such option" + others +
                                           (others.empty() ? "" : ")") + ", leave it out");
    }
    option->check(value->second);
  }
}

}  // namespace regatta
