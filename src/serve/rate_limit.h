#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>

namespace assay::serve {

/// Token buckets, one per key: `rate` requests a second in the long run, `burst` at once. Keeps at
/// most `max_keys`: beyond that, those that are full again are forgotten, and when all are in
/// use, new keys share one bucket. Thread-safe.
class RateLimiter {
 public:
  RateLimiter(double rate, double burst, std::size_t max_keys = 10'000);

  /// Takes `cost` out of the key's bucket at `mono_ns`. 0: granted; else the seconds, rounded up,
  /// after which it would be.
  [[nodiscard]] int take(const std::string& key, std::int64_t mono_ns, double cost = 1);
  /// Puts back what take() granted, for what does not count after all.
  void give_back(const std::string& key, std::int64_t mono_ns, double cost = 1);

 private:
  struct Bucket {
    double level = 0;
    std::int64_t at_ns = 0;
  };
  [[nodiscard]] double level_at(const Bucket& bucket, std::int64_t mono_ns) const;
  void forget_full(std::int64_t mono_ns);

  double rate_;
  double burst_;
  std::size_t max_keys_;
  std::mutex lock_;
  std::unordered_map<std::string, Bucket> buckets_;
};

/// By what a peer is limited: its address, or its network of 64 bits, of which an IPv6 peer has as
/// many addresses as it likes.
[[nodiscard]] std::string rate_key(const std::string& address);

}  // namespace assay::serve
