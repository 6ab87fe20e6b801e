#pragma once

#include <deque>
#include <map>
#include <string>
#include <utility>

namespace assay::serve {

/// Items wait in a line for each key, and the lines take turns: who brings a thousand delays others
/// by one. Not thread-safe.
template <class Item>
class FairQueue {
 public:
  FairQueue(std::size_t max_items, std::size_t max_of_key)
      : max_items_(max_items), max_of_key_(max_of_key) {}

  /// False when too many wait, in all or of that key.
  [[nodiscard]] bool push(const std::string& key, Item item) {
    if (size_ >= max_items_) return false;
    std::deque<Item>& line = lines_[key];
    if (line.size() >= max_of_key_) return false;
    if (line.empty()) turns_.push_back(key);
    line.push_back(std::move(item));
    ++size_;
    return true;
  }
  /// Must not be empty.
  [[nodiscard]] Item pop() {
    const std::string key = std::move(turns_.front());
    turns_.pop_front();
    const auto line = lines_.find(key);
    Item item = std::move(line->second.front());
    line->second.pop_front();
    if (line->second.empty())
      lines_.erase(line);
    else
      turns_.push_back(key);
    --size_;
    return item;
  }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  void clear() {
    lines_.clear();
    turns_.clear();
    size_ = 0;
  }

 private:
  std::size_t max_items_;
  std::size_t max_of_key_;
  std::size_t size_ = 0;
  std::map<std::string, std::deque<Item>> lines_;
  std::deque<std::string> turns_;
};

}  // namespace assay::serve
