#include "train/data/jpeg.h"

#include <algorithm>
#include <csetjmp>
#include <cstdio>

#include <fmt/format.h>
#include <jpeglib.h>
// Must follow jpeglib.h.
#include <jerror.h>

namespace assay::train::data {

namespace {

constexpr std::int64_t most_pixels = 178'956'970;

// Small files can keep a decoder busy for hours with a huge number of scans.
constexpr int most_scans = 500;

struct ErrorManager {
  jpeg_error_mgr base;
  std::jmp_buf escape;
  char message[JMSG_LENGTH_MAX];
};

ErrorManager& manager_of(j_common_ptr info) {
  return *reinterpret_cast<ErrorManager*>(info->err);
}

[[noreturn]] void leave(j_common_ptr info) {
  ErrorManager& manager = manager_of(info);
  manager.base.format_message(info, manager.message);
  std::longjmp(manager.escape, 1);
}

void on_message(j_common_ptr info, int level) {
  if (level >= 0) return;  // a trace
  switch (info->err->msg_code) {
    case JWRN_ARITH_BAD_CODE:
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_JPEG_EOF:
    case JWRN_MUST_RESYNC:
    case JWRN_NOT_SEQUENTIAL:
      leave(info);  // pixels would be guesses
    default:
      break;  // odd but harmless, such as bytes between segments
  }
}

void on_progress(j_common_ptr info) {
  auto* const decompress = reinterpret_cast<j_decompress_ptr>(info);
  if (decompress->input_scan_number > most_scans) {
    std::snprintf(manager_of(info).message, JMSG_LENGTH_MAX, "more than %d scans", most_scans);
    std::longjmp(manager_of(info).escape, 1);
  }
}

// As in Pillow: stored inverted, like Adobe's programs do.
void cmyk_to_rgb(const std::uint8_t* from, std::uint8_t* to, std::int64_t pixels) {
  for (std::int64_t i = 0; i < pixels; ++i, from += 4, to += 3)
    for (int c = 0; c < 3; ++c) {
      const int product = (255 - from[c]) * from[3] + 128;
      const int ink = ((product >> 8) + product) >> 8;
      to[c] = static_cast<std::uint8_t>(std::max(from[3] - ink, 0));
    }
}

}  // namespace

struct JpegDecoder::State {
  jpeg_decompress_struct info{};
  ErrorManager errors{};
  jpeg_progress_mgr progress{};
  bool made = false;
  std::vector<std::uint8_t> pixels;
  std::vector<std::uint8_t> line;  // of CMYK
  std::vector<JSAMPROW> rows;
  RgbView view;
  double scale = 1;       // relative to the original
  std::int64_t left = 0;  // of its first column and row in the scaled image
  std::int64_t top = 0;
  std::string error;

  // Functions that libjpeg may leave by longjmp have only trivial local variables.
  bool create() noexcept;
  bool read_header(const std::uint8_t* data, std::size_t size) noexcept;
  bool start(unsigned eighths) noexcept;
  bool crop(JDIMENSION* first, JDIMENSION* columns) noexcept;
  bool read_rows(JDIMENSION skip, JDIMENSION count) noexcept;
  void abort() noexcept;
};

bool JpegDecoder::State::create() noexcept {
  info.err = jpeg_std_error(&errors.base);
  errors.base.error_exit = leave;
  errors.base.emit_message = on_message;
  if (setjmp(errors.escape) != 0) return false;
  jpeg_create_decompress(&info);
  progress.progress_monitor = on_progress;
  info.progress = &progress;
  made = true;
  return true;
}

bool JpegDecoder::State::read_header(const std::uint8_t* data, std::size_t size) noexcept {
  if (setjmp(errors.escape) != 0) return false;
  jpeg_abort_decompress(&info);
  jpeg_mem_src(&info, data, static_cast<unsigned long>(size));
  jpeg_read_header(&info, TRUE);
  return true;
}

bool JpegDecoder::State::start(unsigned eighths) noexcept {
  if (setjmp(errors.escape) != 0) return false;
  info.scale_num = eighths;
  info.scale_denom = 8;
  const bool inks = info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK;
  info.out_color_space = inks ? JCS_CMYK : JCS_RGB;
  info.dct_method = JDCT_ISLOW;
  jpeg_start_decompress(&info);
  return true;
}

bool JpegDecoder::State::crop(JDIMENSION* first, JDIMENSION* columns) noexcept {
  if (setjmp(errors.escape) != 0) return false;
  jpeg_crop_scanline(&info, first, columns);
  return true;
}

bool JpegDecoder::State::read_rows(JDIMENSION skip, JDIMENSION count) noexcept {
  if (setjmp(errors.escape) != 0) return false;
  if (skip > 0) jpeg_skip_scanlines(&info, skip);
  if (info.out_color_space == JCS_CMYK) {
    for (JDIMENSION y = 0; y < count; ++y) {
      JSAMPROW row = line.data();
      jpeg_read_scanlines(&info, &row, 1);
      cmyk_to_rgb(row, rows[y], info.output_width);
    }
  } else {
    for (JDIMENSION y = 0; y < count;) y += jpeg_read_scanlines(&info, rows.data() + y, count - y);
  }
  return true;
}

void JpegDecoder::State::abort() noexcept {
  if (made && setjmp(errors.escape) == 0) jpeg_abort_decompress(&info);
}

JpegDecoder::JpegDecoder() : state_(std::make_unique<State>()) {
  if (!state_->create()) state_->error = state_->errors.message;
}

JpegDecoder::~JpegDecoder() {
  if (state_->made) jpeg_destroy_decompress(&state_->info);
}

bool JpegDecoder::open(std::span<const std::uint8_t> file) {
  State& s = *state_;
  if (!s.made) return false;
  if (file.empty()) {
    s.error = "the file is empty";
    return false;
  }
  if (!s.read_header(file.data(), file.size())) {
    s.error = s.errors.message;
    return false;
  }
  if (width() < 1 || height() < 1 || width() > most_pixels / height()) {
    s.error = fmt::format("{}×{} pixels", width(), height());
    return false;
  }
  return true;
}

std::int64_t JpegDecoder::width() const noexcept {
  return state_->info.image_width;
}
std::int64_t JpegDecoder::height() const noexcept {
  return state_->info.image_height;
}
RgbView JpegDecoder::image() const noexcept {
  return state_->view;
}
const std::string& JpegDecoder::error() const noexcept {
  return state_->error;
}

Box JpegDecoder::map(const Box& full) const noexcept {
  const State& s = *state_;
  const auto left = static_cast<double>(s.left);
  const auto top = static_cast<double>(s.top);
  const auto width = static_cast<double>(s.view.width);
  const auto height = static_cast<double>(s.view.height);
  return {std::clamp(full.left * s.scale - left, 0.0, width),
          std::clamp(full.top * s.scale - top, 0.0, height),
          std::clamp(full.right * s.scale - left, 0.0, width),
          std::clamp(full.bottom * s.scale - top, 0.0, height)};
}

bool JpegDecoder::decode(const PixelRect& part, double least_scale) {
  State& s = *state_;
  const auto failed = [&] {
    s.error = s.errors.message;
    s.abort();
    return false;
  };
  unsigned eighths = 1;
  while (eighths < 8 && eighths < 8 * least_scale) eighths *= 2;
  if (!s.start(eighths)) return failed();

  // The part in the scaled image, whose last pixels may represent less than a whole one.
  const std::int64_t full_width = s.info.output_width;
  const std::int64_t full_height = s.info.output_height;
  s.scale = eighths / 8.0;
  const std::int64_t bottom = std::min(((part.top + part.height) * eighths + 7) / 8, full_height);
  const std::int64_t right = std::min(((part.left + part.width) * eighths + 7) / 8, full_width);
  s.top = std::min(part.top * eighths / 8, bottom - 1);
  auto left = static_cast<JDIMENSION>(std::min(part.left * eighths / 8, right - 1));
  auto width = static_cast<JDIMENSION>(right - left);
  if (width < full_width && !s.crop(&left, &width)) return failed();
  s.left = left;

  const std::int64_t height = bottom - s.top;
  const std::int64_t stride = std::int64_t{3} * width;
  const std::size_t bytes = static_cast<std::size_t>(stride * height) + rgb_padding;
  if (s.pixels.size() < bytes) s.pixels.resize(bytes);
  if (s.info.out_color_space == JCS_CMYK) s.line.resize(std::size_t{4} * width);
  s.rows.resize(static_cast<std::size_t>(height));
  for (std::int64_t y = 0; y < height; ++y) s.rows[y] = s.pixels.data() + y * stride;
  if (!s.read_rows(static_cast<JDIMENSION>(s.top), static_cast<JDIMENSION>(height)))
    return failed();
  s.abort();  // the rest of the file is not needed
  s.view = {s.pixels.data(), width, height, stride};
  return true;
}

}  // namespace assay::train::data
