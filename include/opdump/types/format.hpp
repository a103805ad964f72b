#pragma once
#include <cstdint>
#include <string_view>

#include "opdump/base/packed_names.hpp"
#include "opdump/base/status.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Memory layout of a tensor. The values are CANN's, in every file format; a value that is not listed passes
/// through unchanged.
enum class Format : std::int32_t {
  nchw = 0,
  nhwc = 1,
  nd = 2,
  nc1hwc0 = 3,
  fractal_z = 4,
  nc1c0hwpad = 5,
  nhwc1c0 = 6,
  fsr_nchw = 7,
  fractal_deconv = 8,
  c1hwnc0 = 9,
  nc1hwc0_c04 = 12,
  fractal_z_c04 = 13,
  chwn = 14,
  hwcn = 16,
  nc1khkwhwc0 = 17,
  c1hwncoc0 = 25,
  md = 26,
  ndhwc = 27,
  fractal_zz = 28,
  fractal_nz = 29,
  ncdhw = 30,
  dhwcn = 31,
  ndc1hwc0 = 32,
  fractal_z_3d = 33,
  cn = 34,
  nc = 35,
  dhwnc = 36,
  fractal_z_3d_transpose = 37,
  fractal_zn_lstm = 38,
  fractal_z_g = 39,
  reserved = 40,
  all = 41,
  null = 42,
  nd_rnn_bias = 43,
  fractal_zn_rnn = 44,
  nyuv = 45,
  nyuv_a = 46,
  ncl = 47,
  fractal_z_wino = 48,
  c1hwc0 = 49,
};

struct FormatName {
  Format format;
  std::string_view name;
};

/// CANN's names. Source: the format list of its dump protocol.
inline constexpr FormatName kFormats[] = {
    {Format::nchw, "NCHW"},
    {Format::nhwc, "NHWC"},
    {Format::nd, "ND"},
    {Format::nc1hwc0, "NC1HWC0"},
    {Format::fractal_z, "FRACTAL_Z"},
    {Format::nc1c0hwpad, "NC1C0HWPAD"},
    {Format::nhwc1c0, "NHWC1C0"},
    {Format::fsr_nchw, "FSR_NCHW"},
    {Format::fractal_deconv, "FRACTAL_DECONV"},
    {Format::c1hwnc0, "C1HWNC0"},
    {Format::nc1hwc0_c04, "NC1HWC0_C04"},
    {Format::fractal_z_c04, "FRACTAL_Z_C04"},
    {Format::chwn, "CHWN"},
    {Format::hwcn, "HWCN"},
    {Format::nc1khkwhwc0, "NC1KHKWHWC0"},
    {Format::c1hwncoc0, "C1HWNCoC0"},
    {Format::md, "MD"},
    {Format::ndhwc, "NDHWC"},
    {Format::fractal_zz, "FRACTAL_ZZ"},
    {Format::fractal_nz, "FRACTAL_NZ"},
    {Format::ncdhw, "NCDHW"},
    {Format::dhwcn, "DHWCN"},
    {Format::ndc1hwc0, "NDC1HWC0"},
    {Format::fractal_z_3d, "FRACTAL_Z_3D"},
    {Format::cn, "CN"},
    {Format::nc, "NC"},
    {Format::dhwnc, "DHWNC"},
    {Format::fractal_z_3d_transpose, "FRACTAL_Z_3D_TRANSPOSE"},
    {Format::fractal_zn_lstm, "FRACTAL_ZN_LSTM"},
    {Format::fractal_z_g, "FRACTAL_Z_G"},
    {Format::reserved, "RESERVED"},
    {Format::all, "ALL"},
    {Format::null, "NULL"},
    {Format::nd_rnn_bias, "ND_RNN_BIAS"},
    {Format::fractal_zn_rnn, "FRACTAL_ZN_RNN"},
    {Format::nyuv, "NYUV"},
    {Format::nyuv_a, "NYUV_A"},
    {Format::ncl, "NCL"},
    {Format::fractal_z_wino, "FRACTAL_Z_WINO"},
    {Format::c1hwc0, "C1HWC0"},
};

/// CANN's name of `format`, empty where the code is not listed.
constexpr std::string_view to_string(Format format) {
  constexpr auto& kNames =
      kPackedNames<kFormats, [](const FormatName& known) { return static_cast<std::uint32_t>(known.format); },
                   [](const FormatName& known) { return known.name; }>;
  return kNames.find(static_cast<std::uint32_t>(format));
}

/// Whether the elements lie as a framework has them: no axis is split or padded for the device.
constexpr bool is_framework_format(Format format) {
  switch (format) {
    case Format::nchw:
    case Format::nhwc:
    case Format::nd:
    case Format::md:
    case Format::chwn:
    case Format::hwcn:
    case Format::ndhwc:
    case Format::ncdhw:
    case Format::dhwcn:
    case Format::dhwnc:
    case Format::cn:
    case Format::nc:
    case Format::ncl:
      return true;
    default:
      return false;
  }
}

/// The format CANN calls `name`; `malformed` for another text.
constexpr Result<Format> format_from_name(std::string_view name) {
  for (const FormatName& known : kFormats) {
    if (known.name == name) return known.format;
  }
  return Status::malformed;
}

/// How a format lays a tensor out: a letter for each dim of memory, outermost first. Where an axis is split
/// into blocks, the capital letter is the number of the block and the small letter the place within the
/// block. A and B are rows and columns of a matrix, L is everything before them. FRACTAL_Z formats have one
/// dim for everything before the N.
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

/// The axes of `format`; empty where a format has no axes of its own.
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
