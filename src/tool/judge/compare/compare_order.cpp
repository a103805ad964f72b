#include "src/tool/judge/compare/compare_order.hpp"

#include <algorithm>
#include <iterator>

#include "opdump/parts/format_restorer.hpp"
#include "opdump/types/format.hpp"
#include "src/config/text/human_text.hpp"

namespace opdump::tool {
namespace {

std::vector<Dim> without_ones(const std::vector<Dim>& shape) {
  std::vector<Dim> dims;
  std::copy_if(shape.begin(), shape.end(), std::back_inserter(dims), [](Dim dim) { return dim != 1; });
  return dims;
}

bool alike(const std::vector<Dim>& a, const std::vector<Dim>& b) {
  return without_ones(a) == without_ones(b);
}

bool in_device_format(const DumpTensor& tensor) {
  return !is_plain(axes_of(tensor.layout.format));
}

/// What a tensor in a device format is without it.
Format plain_format(const DumpTensor& tensor) {
  if (!in_device_format(tensor)) return tensor.layout.format;
  return framework_format(tensor.layout.format, tensor.layout.original_shape.size());
}

ElementOrder as_it_lies(const DumpTensor& tensor) {
  return {std::nullopt, tensor.shape};
}

std::optional<ElementOrder> brought_into(const DumpTensor& tensor, Format to) {
  const std::uint32_t bits = info(tensor.dtype).bits;
  Relayout relayout;
  if (bits % 8 != 0 || relayout.plan(restoration(tensor.layout, tensor.shape, to, bits / 8)) != Status::ok ||
      relayout.source_elements() != tensor.elements)
    return std::nullopt;
  return ElementOrder{relayout, {relayout.dims().begin(), relayout.dims().end()}};
}

/// `tensor` in an order that has the dims of `shape`: that of `format` if it can be had.
std::optional<ElementOrder> fitted(const DumpTensor& tensor, const std::vector<Dim>& shape, Format format) {
  const bool may_stay = !in_device_format(tensor) && alike(tensor.shape, shape);
  const bool known = !axes_of(tensor.layout.format).empty();
  if (may_stay && (!known || axes_of(format).empty() || format == tensor.layout.format))
    return as_it_lies(tensor);
  const auto attempt = [&](Format to) {
    std::optional<ElementOrder> order = brought_into(tensor, to);
    return order && alike(order->shape, shape) ? order : std::nullopt;
  };
  if (known) {
    for (const Format to : {format, plain_format(tensor)}) {
      if (std::optional<ElementOrder> order = attempt(to)) return order;
    }
    for (const FormatAxes& to : kFormatAxes) {
      if (!is_plain(to.axes)) continue;
      if (std::optional<ElementOrder> order = attempt(to.format)) return order;
    }
  }
  return may_stay ? std::optional(as_it_lies(tensor)) : std::nullopt;
}

std::string shape_and_format(const DumpTensor& tensor) {
  const std::string_view format = to_string(tensor.layout.format);
  return in_device_format(tensor) && !format.empty() ? std::string(format) + ' ' + shape_text(tensor.shape) +
                                                           " of " + shape_text(tensor.layout.original_shape)
                                                     : shape_text(tensor.shape);
}

PairOrder unlike(std::string problem) {
  PairOrder pair;
  pair.problem = std::move(problem);
  return pair;
}

PairOrder counted(ElementOrder mine, ElementOrder golden) {
  PairOrder pair;
  pair.elements = element_count(mine.shape).value();
  pair.mine = std::move(mine);
  pair.golden = std::move(golden);
  return pair;
}

/// The order of two tensors that are taken as of `formats`.
std::optional<PairOrder> ordered_as(const AssumedFormats& formats, DumpTensor mine,
                                    const DumpTensor& golden) {
  mine.layout.format = formats.mine;
  std::optional<ElementOrder> order = brought_into(mine, formats.golden);
  if (!order || !alike(order->shape, golden.shape)) return std::nullopt;
  PairOrder pair = counted(*std::move(order), as_it_lies(golden));
  pair.remark = "taken as " + std::string(to_string(formats.mine)) + " against " +
                std::string(to_string(formats.golden));
  return pair;
}

bool tell_no_format(const DumpTensor& mine, const DumpTensor& golden) {
  return axes_of(mine.layout.format).empty() && axes_of(golden.layout.format).empty() &&
         mine.shape.size() == 4 && golden.shape.size() == 4;
}

/// The dims of a tensor of the format `from` in the format `to`.
std::vector<Dim> permuted(const std::vector<Dim>& shape, Format from, Format to) {
  std::vector<Dim> dims;
  for (const char axis : axes_of(to)) dims.push_back(shape[axes_of(from).find(axis)]);
  return dims;
}

bool may_be(const AssumedFormats& formats, const DumpTensor& mine, const DumpTensor& golden) {
  return tell_no_format(mine, golden) && permuted(mine.shape, formats.mine, formats.golden) == golden.shape;
}

}  // namespace

std::optional<AssumedFormats> assumed_formats(const DumpTensor& mine, const DumpTensor& golden) {
  constexpr AssumedFormats kFormats[] = {{Format::nchw, Format::nhwc}, {Format::nhwc, Format::nchw},
                                         {Format::nchw, Format::hwcn}, {Format::hwcn, Format::nchw},
                                         {Format::nhwc, Format::hwcn}, {Format::hwcn, Format::nhwc}};
  if (!tell_no_format(mine, golden) || alike(mine.shape, golden.shape)) return std::nullopt;
  for (const AssumedFormats& formats : kFormats) {
    if (permuted(mine.shape, formats.mine, formats.golden) == golden.shape) return formats;
  }
  return std::nullopt;
}

bool keeps_order(const DumpTensor& mine, const DumpTensor& golden) {
  return tell_no_format(mine, golden) && mine.shape == golden.shape &&
         !may_be({Format::nchw, Format::nhwc}, mine, golden);
}

PairOrder order_pair(const DumpTensor& mine, const DumpTensor& golden,
                     const std::optional<AssumedFormats>& usual) {
  if (!mine.problem.empty()) return unlike("mine: " + mine.problem);
  if (!golden.problem.empty()) return unlike("golden: " + golden.problem);
  std::optional<AssumedFormats> assumed = assumed_formats(mine, golden);
  if (!assumed && usual && may_be(*usual, mine, golden)) assumed = usual;
  if (assumed) {
    if (std::optional<PairOrder> order = ordered_as(*assumed, mine, golden)) return *std::move(order);
  }
  const bool both_empty = mine.elements == 0 && golden.elements == 0;
  if (in_device_format(golden) && !in_device_format(mine)) {
    if (std::optional<ElementOrder> order = fitted(golden, mine.shape, mine.layout.format))
      return counted(as_it_lies(mine), *std::move(order));
  }
  if (!both_empty) {
    const std::optional<ElementOrder> fixed =
        in_device_format(golden) ? brought_into(golden, plain_format(golden)) : as_it_lies(golden);
    if (fixed) {
      if (std::optional<ElementOrder> order = fitted(mine, fixed->shape, plain_format(golden)))
        return counted(*std::move(order), *fixed);
    }
  }
  if (mine.layout.format != golden.layout.format || !alike(mine.shape, golden.shape)) {
    return unlike("the shapes differ: mine " + shape_and_format(mine) + ", golden " +
                  shape_and_format(golden));
  }
  PairOrder pair = counted(as_it_lies(mine), as_it_lies(golden));
  if (!both_empty)
    pair.remark = "compared with its padding: " + shape_and_format(mine) + " cannot be restored";
  return pair;
}

std::optional<ElementOrder> plain_order(const DumpTensor& tensor) {
  const Format plain = plain_format(tensor);
  const Format to = axes_of(plain).size() == 4 && is_plain(axes_of(plain)) ? Format::nchw : plain;
  return to == tensor.layout.format || tensor.elements == 0 ? as_it_lies(tensor) : brought_into(tensor, to);
}

}  // namespace opdump::tool
