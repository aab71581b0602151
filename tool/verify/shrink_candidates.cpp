#include "verify/shrink_candidates.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "verify/recorded_values.h"

namespace flagos::diag {
namespace {

class Candidates {
 public:
  Candidates(const CaseInput& input, const c10::FunctionSchema& schema) : input_(input), schema_(schema) {}

  void drop_variant() {
    if (input_.variant != Variant::kAsRecorded) {
      made_.push_back(input_);
      made_.back().variant = Variant::kAsRecorded;
    }
    bool tensors = false;
    each_record([&](const TensorRecord& /*record*/) { tensors = true; });
    if (tensors && input_.data != Data::kConstant) {
      made_.push_back(input_);
      made_.back().data = Data::kConstant;
    }
  }

  // The n-th list of tensors in the call: its first half, then without one of its elements.
  void shorten_lists() {
    for (size_t i = 0; i < input_.call.arguments.size(); ++i) {
      const auto* items = std::get_if<Values>(&input_.call.arguments[i].data);
      const bool of_tensors = items != nullptr && std::any_of(items->begin(), items->end(), [](const Value& item) {
                                return std::holds_alternative<TensorRecord>(item.data);
                              });
      if (!of_tensors || items->size() < 2) {
        continue;
      }
      add([&](Values& arguments) {
        auto& list = std::get<Values>(arguments[i].data);
        list.resize(list.size() / 2);
      });
      for (size_t each = 0; each < items->size(); ++each) {
        add([&](Values& arguments) {
          auto& list = std::get<Values>(arguments[i].data);
          list.erase(list.begin() + static_cast<std::ptrdiff_t>(each));
        });
      }
    }
  }

  void take_defaults() {
    const Values& recorded = input_.call.arguments;
    if (!recorded.empty() && schema_.arguments().at(recorded.size() - 1).default_value().has_value()) {
      add([](Values& arguments) { arguments.pop_back(); });
    }
    for (size_t i = 0; i < recorded.size(); ++i) {
      const auto value = default_value_of(schema_.arguments().at(i));
      if (value.has_value() && !same_value(recorded[i], *value)) {
        add([&](Values& arguments) { arguments[i] = *value; });
      }
    }
  }

  // Dimensions of one size belong together, often with numbers of that value: sizes, lengths, indices.
  void shrink_sizes() {
    std::set<int64_t, std::greater<>> sizes;
    each_record([&](const TensorRecord& record) { sizes.insert(record.sizes.begin(), record.sizes.end()); });
    for (const int64_t size : sizes) {
      for (const int64_t smaller : smaller_than(size)) {
        add([&](Values& arguments) { replace_size(arguments, size, smaller, /*numbers=*/false); });
        add([&](Values& arguments) { replace_size(arguments, size, smaller, /*numbers=*/true); });
      }
    }
    each_record([&](const TensorRecord& record) {
      for (size_t dimension = 0; dimension < record.sizes.size(); ++dimension) {
        for (const int64_t smaller : smaller_than(record.sizes[dimension])) {
          change_record(record, [&](TensorRecord& changed) {
            std::vector<int64_t> fewer = changed.sizes;
            fewer[dimension] = smaller;
            resize_record(changed, fewer);
          });
        }
      }
    });
  }

  void drop_dimensions() {
    std::set<size_t, std::greater<>> ranks;
    each_record([&](const TensorRecord& record) { ranks.insert(record.sizes.size()); });
    for (const size_t rank : ranks) {
      if (rank > 0) {
        add([&](Values& arguments) {
          visit_records(arguments, [&](TensorRecord& record) {
            if (record.sizes.size() == rank) {
              drop_dimension(record, 0);
            }
          });
        });
      }
    }
    each_record([&](const TensorRecord& record) {
      for (size_t dimension = 0; dimension < record.sizes.size(); ++dimension) {
        if (record.sizes[dimension] == 1) {
          change_record(record, [&](TensorRecord& changed) { drop_dimension(changed, dimension); });
        }
      }
    });
  }

  void make_plain() {
    const auto plain = [](const TensorRecord& record) { return is_contiguous(record) && record.offset == 0; };
    const auto flatten = [](TensorRecord& record) {
      record.strides = contiguous_strides(record.sizes);
      record.offset = 0;
    };
    size_t strided = 0;
    each_record([&](const TensorRecord& record) { strided += plain(record) ? 0 : 1; });
    if (strided > 1) {
      add([&](Values& arguments) { visit_records(arguments, flatten); });
    }
    std::map<int64_t, int> uses;
    each_record([&](const TensorRecord& record) { ++uses[record.storage_id]; });
    each_record([&](const TensorRecord& record) {
      if (!plain(record)) {
        change_record(record, flatten);
      }
      if (uses[record.storage_id] > 1) {
        change_record(record, [&](TensorRecord& changed) { separate(changed, uses); });
      }
    });
  }

  std::vector<CaseInput> take() && { return std::move(made_); }

 private:
  static std::vector<int64_t> smaller_than(int64_t size) {
    const std::set<int64_t> smaller = size > 1 ? std::set<int64_t>{1, size / 2, size - 1} : std::set<int64_t>{};
    return {smaller.begin(), smaller.end()};
  }

  static void separate(TensorRecord& record, const std::map<int64_t, int>& storages) {
    record.storage_id = storages.rbegin()->first + 1;
    record.tensor_id = record.storage_id;
  }

  static void replace_size(Values& arguments, int64_t size, int64_t smaller, bool numbers) {
    visit_values(arguments, [&](Value& value) {
      if (auto* record = std::get_if<TensorRecord>(&value.data)) {
        std::vector<int64_t> sizes = record->sizes;
        std::replace(sizes.begin(), sizes.end(), size, smaller);
        resize_record(*record, std::move(sizes));
        if (record->range.has_value() && record->range->second < size) {  // may be indices of it
          record->range->second = std::min(record->range->second, smaller - 1);
          record->range->first = std::min(record->range->first, record->range->second);
        }
      } else if (auto* number = std::get_if<int64_t>(&value.data); numbers && number != nullptr && *number == size) {
        *number = smaller;
      }
    });
  }

  void add(const std::function<void(Values&)>& change) {
    made_.push_back(input_);
    change(made_.back().call.arguments);
  }

  void each_record(const std::function<void(const TensorRecord&)>& look) const {
    Values values = input_.call.arguments;
    visit_records(values, [&](TensorRecord& record) { look(record); });
  }

  // A candidate in which this tensor, wherever it is an argument, is changed.
  void change_record(const TensorRecord& record, const std::function<void(TensorRecord&)>& change) {
    add([&](Values& arguments) {
      visit_records(arguments, [&](TensorRecord& each) {
        if (each.tensor_id == record.tensor_id && each.sizes == record.sizes && each.strides == record.strides) {
          change(each);
        }
      });
    });
  }

  const CaseInput& input_;
  const c10::FunctionSchema& schema_;
  std::vector<CaseInput> made_;
};

}  // namespace

std::vector<CaseInput> shrink_candidates(const CaseInput& input, const c10::FunctionSchema& schema, bool fixed_layout) {
  Candidates candidates(input, schema);
  candidates.drop_variant();
  if (!fixed_layout) {
    candidates.shorten_lists();
    candidates.take_defaults();
    candidates.shrink_sizes();
    candidates.drop_dimensions();
    candidates.make_plain();
  }
  return std::move(candidates).take();
}

}  // namespace flagos::diag
