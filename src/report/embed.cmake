# Writes OUTPUT, a source file that holds the text files STYLE, EXPERIMENT and SCRIPT as raw string literals.
file(READ ${STYLE} style)
file(READ ${EXPERIMENT} experiment)
file(READ ${SCRIPT} script)
string(SHA256 script_sha256 "${script}")
file(WRITE ${OUTPUT} "#include \"report/assets.h\"

namespace assay::report::assets {

std::string_view style() noexcept {
  return R\"__asset__(${style})__asset__\";
}

std::string_view experiment_style() noexcept {
  return R\"__asset__(${experiment})__asset__\";
}

std::string_view script() noexcept {
  return R\"__asset__(${script})__asset__\";
}

std::string_view script_sha256() noexcept {
  return \"${script_sha256}\";
}

}  // namespace assay::report::assets
")
