#pragma once
#include <string_view>

#include "opdump/format.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// How a format lays a tensor out: a letter for each dim of memory, outermost first. Of an axis that is split
/// into blocks, the capital is the number of the block and the small letter the place within it. A and B are
/// rows and columns of a matrix, L is everything before them. FRACTAL_Z formats have one dim for everything
/// before the N.
struct FormatAxes {
  Format format;
  std::string_view axes;
};

inline constexpr FormatAxes kFormatAxes[] = {
    {Format::nchw, "NCHW"},         {Format::nhwc, "NHWC"},        {Format::hwcn, "HWCN"},
    {Format::chwn, "CHWN"},         {Format::ncdhw, "NCDHW"},      {Format::ndhwc, "NDHWC"},
    {Format::dhwcn, "DHWCN"},       {Format::dhwnc, "DHWNC"},      {Format::nc1hwc0, "NCHWc"},
    {Format::nc1hwc0_c04, "NCHWc"}, {Format::nhwc1c0, "NHWCc"},    {Format::c1hwnc0, "CHWNc"},
    {Format::ndc1hwc0, "NDCHWc"},   {Format::fractal_z, "CHWNnc"}, {Format::fractal_z_3d, "DCHWNnc"},
    {Format::fractal_nz, "LBAab"},
};

inline constexpr std::string_view kMatrixAxes = "LAB";

/// The axes of `format`, empty where it has none of its own.
constexpr std::string_view axes_of(Format format) {
  for (const FormatAxes& known : kFormatAxes) {
    if (known.format == format) return known.axes;
  }
  return {};
}

/// Whether no axis is split.
constexpr bool is_plain(std::string_view axes) {
  for (const char letter : axes) {
    if (letter >= 'a') return false;
  }
  return true;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
