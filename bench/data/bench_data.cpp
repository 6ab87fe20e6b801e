// Costs of the input pipeline: JPEG decode + augmentation, the loader, the generated sets.
//   bench_data [Google Benchmark's options]
//   bench_data --generate FOLDER COUNT    JPEGs as ImageNet has them (about 500×375, quality 90),
//                                         in FOLDER/train/c0 … and FOLDER/val/…
//   bench_data --decode FOLDER SECONDS    training samples of FOLDER/train on one thread: prints
//                                         images per CPU second
//   bench_data --pipeline FOLDER THREADS  one epoch through the loader

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <benchmark/benchmark.h>
#include <jpeglib.h>
#include <time.h>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/files.h"
#include "core/units.h"
#include "measure.h"
#include "train/data/image_set.h"
#include "train/data/jpeg_sample.h"
#include "train/data/loader.h"
#include "train/data/random.h"
#include "train/data/set_files.h"
#include "train/data/text_set.h"

namespace {

namespace data = assay::train::data;

// Smooth shapes with grain: about 90 kB per file of about 500×375, similar to ImageNet's.
std::string make_jpeg(std::uint64_t seed, std::int64_t& width, std::int64_t& height) {
  data::Random random(seed, 1);
  width = 400 + random.below(201);
  height = 300 + random.below(151);
  struct Wave {
    double x, y, phase, amplitude;
  };
  std::vector<Wave> waves(12);
  for (std::size_t i = 0; i < waves.size(); ++i) {
    const double frequency = 0.01 * std::pow(1.45, static_cast<double>(i));
    const double angle = random.uniform(0, 6.28);
    waves[i] = {frequency * std::cos(angle), frequency * std::sin(angle), random.uniform(0, 6.28),
                55 / (1 + static_cast<double>(i))};
  }
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(width * height * 3));
  for (std::int64_t y = 0; y < height; ++y)
    for (std::int64_t x = 0; x < width; ++x) {
      double value = 128 + random.uniform(-27, 27);
      for (const Wave& wave : waves)
        value += wave.amplitude * std::sin(wave.x * static_cast<double>(x) +
                                           wave.y * static_cast<double>(y) + wave.phase);
      for (int c = 0; c < 3; ++c)
        pixels[(y * width + x) * 3 + c] = static_cast<std::uint8_t>(std::clamp(
            value + 25 * std::sin(0.013 * static_cast<double>(x * (c + 1)) + c), 0.0, 255.0));
    }
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &memory, &size);
  info.image_width = static_cast<JDIMENSION>(width);
  info.image_height = static_cast<JDIMENSION>(height);
  info.input_components = 3;
  info.in_color_space = JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, 90, TRUE);
  jpeg_start_compress(&info, TRUE);
  for (std::int64_t y = 0; y < height; ++y) {
    JSAMPROW row = pixels.data() + y * width * 3;
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  std::string file(reinterpret_cast<const char*>(memory), size);
  std::free(memory);
  return file;
}

void generate(const std::filesystem::path& folder, int count) {
  for (const char* split : {"train", "val"})
    for (int i = 0; i < count; ++i) {
      std::int64_t width = 0;
      std::int64_t height = 0;
      const std::filesystem::path path =
          folder / split / ("c" + std::to_string(i % 2)) / (std::to_string(i) + ".jpg");
      assay::make_directories(path.parent_path());
      assay::write_file_atomic(path, make_jpeg(static_cast<std::uint64_t>(i), width, height),
                               false);
    }
}

data::ImageSet open_folder(const std::filesystem::path& folder) {
  data::ImageSetOptions options;
  options.set = "folder";
  options.path = folder;
  return data::open_image_set(options);
}

// User and system time of this process, unaffected by other load.
double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void decode(const std::filesystem::path& folder, double seconds) {
  const data::ImageSet set = open_folder(folder);
  const auto reader = set.train->make_reader();
  data::ImageBatch batch(set.train->shape(), 1, data::heap_allocator());
  std::int64_t images = 0;
  const double start = cpu_seconds();
  double elapsed = 0;
  do {
    reader->read({images % set.info.train_size, images / set.info.train_size, 1}, batch, 0);
    ++images;
    elapsed = cpu_seconds() - start;
  } while (elapsed < seconds);
  std::printf("%.2f\n", static_cast<double>(images) / elapsed);
}

void pipeline(const std::filesystem::path& folder, std::int64_t threads) {
  const data::ImageSet set = open_folder(folder);
  data::LoaderOptions options;
  options.batch_size = std::min<std::int64_t>(64, set.info.train_size);
  options.threads = threads;
  data::ImageLoader loader(set.train, options);
  const data::PipelineRate rate = data::measure_pipeline(loader);
  std::printf("%lld samples, %s images/s, %s/s, %.1f %% waiting, %lld damaged\n",
              static_cast<long long>(rate.samples),
              assay::format_number(rate.samples_per_second()).c_str(),
              assay::format_bytes(rate.bytes_per_second()).c_str(), 100 * rate.wait_share(),
              static_cast<long long>(rate.damaged));
}

class Nothing final : public data::ImageSource {
 public:
  class NoReader final : public data::Reader<data::ImageBatch> {
   public:
    void read(const data::SampleKey& key, data::ImageBatch& batch, std::int64_t row) override {
      batch.labels[row] = key.index;
    }
  };
  [[nodiscard]] std::int64_t size() const noexcept override { return 1 << 20; }
  [[nodiscard]] data::ImageBatch::Shape shape() const noexcept override { return {1, 1, 3}; }
  [[nodiscard]] std::unique_ptr<data::Reader<data::ImageBatch>> make_reader() const override {
    return std::make_unique<NoReader>();
  }
};

template <class Batch>
void through_loader(benchmark::State& state,
                    const std::shared_ptr<const data::Source<Batch>>& source) {
  data::LoaderOptions options;
  options.batch_size = 256;
  options.threads = state.range(0);
  data::Loader<Batch> loader(source, options);
  for (auto _ : state) {
    std::int64_t size = loader.next()->size;
    benchmark::DoNotOptimize(size);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * 256);
}

void loader_overhead(benchmark::State& state) {
  through_loader<data::ImageBatch>(state, std::make_shared<const Nothing>());
}
void glyphs(benchmark::State& state) {
  through_loader<data::ImageBatch>(state, data::open_image_set({}).train);
}
void grammar(benchmark::State& state) {
  through_loader<data::TextBatch>(state, data::open_text_set({}).train);
}

void jpeg_sample(benchmark::State& state) {
  std::int64_t width = 0;
  std::int64_t height = 0;
  const std::string file = make_jpeg(1, width, height);
  data::JpegSampler sampler;
  std::vector<std::uint8_t> out(224 * 224 * 3);
  data::Random random(1);
  for (auto _ : state)
    if (!sampler.make(data::as_bytes_view(file), 224, state.range(0) != 0 ? &random : nullptr,
                      out.data()))
      state.SkipWithError(sampler.error().c_str());
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()));
}

void resample(benchmark::State& state) {
  std::vector<std::uint8_t> pixels(500 * 375 * 3 + data::rgb_padding, 100);
  std::vector<std::uint8_t> out(224 * 224 * 3);
  data::Resampler resampler;
  for (auto _ : state)
    resampler.run({pixels.data(), 500, 375, 1500}, {0, 0, 500, 375}, 224, 224, false, out.data());
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()));
}

void crc(benchmark::State& state) {
  const std::vector<std::uint8_t> bytes(100'000, 7);
  for (auto _ : state)
    benchmark::DoNotOptimize(state.range(0) != 0 ? assay::crc32c(bytes)
                                                 : assay::crc32c_portable(bytes));
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * 100'000);
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string_view mode = argc == 4 ? argv[1] : "";
  if (mode == "--generate") {
    generate(argv[2], std::atoi(argv[3]));
    return 0;
  }
  if (mode == "--decode") {
    decode(argv[2], std::atof(argv[3]));
    return 0;
  }
  if (mode == "--pipeline") {
    pipeline(argv[2], std::atoi(argv[3]));
    return 0;
  }
  benchmark::RegisterBenchmark("loader", loader_overhead)->Arg(1)->Arg(2)->UseRealTime();
  benchmark::RegisterBenchmark("glyphs", glyphs)->Arg(1)->Arg(2)->UseRealTime();
  benchmark::RegisterBenchmark("grammar", grammar)->Arg(1)->Arg(2)->UseRealTime();
  benchmark::RegisterBenchmark("jpeg_sample/train", jpeg_sample)->Arg(1);
  benchmark::RegisterBenchmark("jpeg_sample/eval", jpeg_sample)->Arg(0);
  benchmark::RegisterBenchmark("resample/500x375_to_224", resample);
  benchmark::RegisterBenchmark("crc32c/instructions", crc)->Arg(1);
  benchmark::RegisterBenchmark("crc32c/tables", crc)->Arg(0);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
} catch (const assay::Error& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return assay::exit_code(error.kind());
}
