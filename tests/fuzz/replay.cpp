// A fuzz target without libFuzzer: every seed as it is, cut at many places, and with bytes changed.
// The same inputs every time. usage: fuzz_X [FILE|FOLDER]...

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

constexpr std::size_t kCuts = 64;
constexpr int kChanges = 256;
constexpr std::uintmax_t kLargest = 1 << 16;

std::size_t inputs = 0;

void try_one(const std::string& bytes) {
  // A copy of its own, so that a sanitizer sees a read beyond its end.
  const std::vector<std::uint8_t> input(bytes.begin(), bytes.end());
  LLVMFuzzerTestOneInput(input.data(), input.size());
  ++inputs;
}

void try_seed(const std::string& seed) {
  try_one(seed);
  for (std::size_t i = 0; i < kCuts; ++i) try_one(seed.substr(0, seed.size() * i / kCuts));
  try_one(seed + seed);
  if (seed.empty()) return;
  std::mt19937 random(1);
  for (int i = 0; i < kChanges; ++i) {
    std::string changed = seed;
    for (int bytes = 0; bytes <= i % 4; ++bytes)
      changed[random() % changed.size()] = static_cast<char>(random() % 256);
    try_one(changed);
  }
}

void try_file(const std::filesystem::path& path) {
  if (std::filesystem::file_size(path) > kLargest) return;
  std::ifstream in(path, std::ios::binary);
  try_seed({std::istreambuf_iterator<char>(in), {}});
}

}  // namespace

int main(int count, char** arguments) {
  try_seed("");
  for (int i = 1; i < count; ++i) {
    const std::filesystem::path path = arguments[i];
    if (!std::filesystem::is_directory(path)) {
      try_file(path);
      continue;
    }
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path))
      if (entry.is_regular_file()) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    for (const std::filesystem::path& file : files) try_file(file);
  }
  std::printf("%zu inputs\n", inputs);
  return 0;
}
