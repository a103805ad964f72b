#include "opdump/format/relayout.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <random>
#include <vector>

#include "opdump/types/format.hpp"

using namespace opdump;

namespace {

/// Extents of one tensor, by name.
struct Sizes {
  Dim n = 1;
  Dim c = 1;
  Dim h = 1;
  Dim w = 1;
  Dim d = 1;
};

Dim up(Dim value, Dim block) {
  return (value + block - 1) / block;
}

/// One format as its documents have it: dims in memory, and the place of an element.
struct Known {
  Format format;
  bool deep;  ///< has a D
  std::vector<Dim> (*dims)(const Sizes& s, Dim c0);
  Dim (*place)(const Sizes& s, Dim c0, const Sizes& at);
};

using V = std::vector<Dim>;

const Known kKnown[] = {
    {Format::nchw, false,
     [](const Sizes& s, Dim) {
       return V{s.n, s.c, s.h, s.w};
     },
     [](const Sizes& s, Dim, const Sizes& i) { return ((i.n * s.c + i.c) * s.h + i.h) * s.w + i.w; }},
    {Format::nhwc, false,
     [](const Sizes& s, Dim) {
       return V{s.n, s.h, s.w, s.c};
     },
     [](const Sizes& s, Dim, const Sizes& i) { return ((i.n * s.h + i.h) * s.w + i.w) * s.c + i.c; }},
    {Format::hwcn, false,
     [](const Sizes& s, Dim) {
       return V{s.h, s.w, s.c, s.n};
     },
     [](const Sizes& s, Dim, const Sizes& i) { return ((i.h * s.w + i.w) * s.c + i.c) * s.n + i.n; }},
    {Format::chwn, false,
     [](const Sizes& s, Dim) {
       return V{s.c, s.h, s.w, s.n};
     },
     [](const Sizes& s, Dim, const Sizes& i) { return ((i.c * s.h + i.h) * s.w + i.w) * s.n + i.n; }},
    {Format::nc1hwc0, false,
     [](const Sizes& s, Dim c0) {
       return V{s.n, up(s.c, c0), s.h, s.w, c0};
     },
     [](const Sizes& s, Dim c0, const Sizes& i) {
       return (((i.n * up(s.c, c0) + i.c / c0) * s.h + i.h) * s.w + i.w) * c0 + i.c % c0;
     }},
    {Format::c1hwnc0, false,
     [](const Sizes& s, Dim c0) {
       return V{up(s.c, c0), s.h, s.w, s.n, c0};
     },
     [](const Sizes& s, Dim c0, const Sizes& i) {
       return (((i.c / c0 * s.h + i.h) * s.w + i.w) * s.n + i.n) * c0 + i.c % c0;
     }},
    {Format::fractal_z, false,
     [](const Sizes& s, Dim) {
       return V{up(s.c, 16) * s.h * s.w, up(s.n, 16), 16, 16};
     },
     [](const Sizes& s, Dim, const Sizes& i) {
       return ((((i.c / 16 * s.h + i.h) * s.w + i.w) * up(s.n, 16) + i.n / 16) * 16 + i.n % 16) * 16 +
              i.c % 16;
     }},
    {Format::ncdhw, true,
     [](const Sizes& s, Dim) {
       return V{s.n, s.c, s.d, s.h, s.w};
     },
     [](const Sizes& s, Dim, const Sizes& i) {
       return (((i.n * s.c + i.c) * s.d + i.d) * s.h + i.h) * s.w + i.w;
     }},
    {Format::ndhwc, true,
     [](const Sizes& s, Dim) {
       return V{s.n, s.d, s.h, s.w, s.c};
     },
     [](const Sizes& s, Dim, const Sizes& i) {
       return (((i.n * s.d + i.d) * s.h + i.h) * s.w + i.w) * s.c + i.c;
     }},
    {Format::dhwcn, true,
     [](const Sizes& s, Dim) {
       return V{s.d, s.h, s.w, s.c, s.n};
     },
     [](const Sizes& s, Dim, const Sizes& i) {
       return (((i.d * s.h + i.h) * s.w + i.w) * s.c + i.c) * s.n + i.n;
     }},
    {Format::ndc1hwc0, true, [](const Sizes& s, Dim c0) { return V{s.n, s.d, up(s.c, c0), s.h, s.w, c0}; },
     [](const Sizes& s, Dim c0, const Sizes& i) {
       return ((((i.n * s.d + i.d) * up(s.c, c0) + i.c / c0) * s.h + i.h) * s.w + i.w) * c0 + i.c % c0;
     }},
    {Format::fractal_z_3d, true,
     [](const Sizes& s, Dim) {
       return V{s.d * up(s.c, 16) * s.h * s.w, up(s.n, 16), 16, 16};
     },
     [](const Sizes& s, Dim, const Sizes& i) {
       const Dim row = ((i.d * up(s.c, 16) + i.c / 16) * s.h + i.h) * s.w + i.w;
       return ((row * up(s.n, 16) + i.n / 16) * 16 + i.n % 16) * 16 + i.c % 16;
     }}};

Dim product(const V& dims) {
  Dim count = 1;
  for (const Dim dim : dims) count *= dim;
  return count;
}

template <class Use>
void for_each(const Sizes& s, Use use) {
  for (Dim n = 0; n < s.n; ++n)
    for (Dim c = 0; c < s.c; ++c)
      for (Dim d = 0; d < s.d; ++d)
        for (Dim h = 0; h < s.h; ++h)
          for (Dim w = 0; w < s.w; ++w) use(Sizes{n, c, h, w, d});
}

/// Every logical element with its own number, from 1 on.
std::vector<std::uint32_t> filled(const Known& known, const Sizes& s, Dim c0, std::uint32_t padding) {
  std::vector<std::uint32_t> memory(product(known.dims(s, c0)), padding);
  std::uint32_t next = 0;
  for_each(s, [&](const Sizes& at) { memory[known.place(s, c0, at)] = ++next; });
  return memory;
}

template <class Item>
std::vector<Item> converted(const Relayout& relayout, const std::vector<Item>& source, std::uint64_t most,
                            std::uint64_t most_box) {
  std::vector<Item> result(relayout.elements(), Item{77});
  std::vector<Item> box;
  for (std::uint64_t done = 0; done < result.size();) {
    const Relayout::Piece piece = relayout.piece(done, most, most_box);
    REQUIRE(piece.elements > 0);
    REQUIRE(piece.elements <= std::max<std::uint64_t>(most, 1));
    box.clear();
    relayout.for_each_run(piece, [&](std::uint64_t first, std::uint64_t count) {
      REQUIRE(first + count <= source.size());
      box.insert(box.end(), source.begin() + static_cast<std::ptrdiff_t>(first),
                 source.begin() + static_cast<std::ptrdiff_t>(first + count));
    });
    REQUIRE(box.size() == piece.box_elements);
    REQUIRE(piece.elements <= result.size() - done);
    relayout.convert(piece, reinterpret_cast<const std::byte*>(box.data()),
                     reinterpret_cast<std::byte*>(result.data() + done));
    done += piece.elements;
  }
  return result;
}

Sizes random_sizes(std::mt19937& random, bool deep) {
  const auto pick = [&](Dim most) { return 1 + random() % most; };
  return {pick(20), pick(40), pick(4), pick(5), deep ? pick(3) : 1};
}

}  // namespace

TEST_CASE("relayout: every pair of formats with the same axes, in pieces of every size") {
  std::mt19937 random(1);
  for (const Known& from : kKnown) {
    for (const Known& to : kKnown) {
      if (from.deep != to.deep) continue;
      for (int round = 0; round < 12; ++round) {
        const Sizes s = random_sizes(random, from.deep);
        CAPTURE(to_string(from.format));
        CAPTURE(to_string(to.format));
        const V shape = from.dims(s, 16);
        const V logical = from.deep ? V{s.n, s.c, s.d, s.h, s.w} : V{s.n, s.c, s.h, s.w};
        Relayout relayout;
        RelayoutRequest request = {.from = from.format, .to = to.format, .shape = shape, .logical = logical};
        request.logical_format = from.deep ? Format::ncdhw : Format::nchw;
        request.item_bytes = 4;
        REQUIRE(relayout.plan(request) == Status::ok);
        CHECK(V(relayout.dims().begin(), relayout.dims().end()) == to.dims(s, 16));
        CHECK(relayout.source_elements() == product(shape));
        const std::vector<std::uint32_t> source = filled(from, s, 16, 0xdead);
        const std::vector<std::uint32_t> wanted = filled(to, s, 16, 0);
        CHECK(converted(relayout, source, wanted.size(), source.size()) == wanted);
        CHECK(converted(relayout, source, 1 + random() % 300, 1 + random() % 2000) == wanted);
      }
    }
  }
}

TEST_CASE("relayout: matrices of any rank, and item sizes") {
  std::mt19937 random(2);
  for (int round = 0; round < 200; ++round) {
    const Dim c0 = round % 3 == 0 ? 32 : 16;
    V leading;
    for (int i = round % 4; i > 0; --i) leading.push_back(1 + random() % 3);
    const Dim batch = product(leading);
    const Dim rows = 1 + random() % 50;
    const Dim columns = 1 + random() % 70;
    V blocked = leading;
    for (const Dim dim : {up(columns, c0), up(rows, 16), Dim{16}, c0}) blocked.push_back(dim);
    V plain = leading;
    plain.push_back(rows);
    plain.push_back(columns);
    std::vector<std::uint8_t> in_blocks(product(blocked), 0);
    std::vector<std::uint8_t> in_rows(product(plain));
    for (Dim l = 0; l < batch; ++l) {
      for (Dim r = 0; r < rows; ++r) {
        for (Dim c = 0; c < columns; ++c) {
          const Dim place =
              (((l * up(columns, c0) + c / c0) * up(rows, 16) + r / 16) * 16 + r % 16) * c0 + c % c0;
          const std::uint8_t value = static_cast<std::uint8_t>(random());
          in_blocks[place] = value;
          in_rows[(l * rows + r) * columns + c] = value;
        }
      }
    }
    Relayout relayout;
    REQUIRE(relayout.plan({.from = Format::fractal_nz,
                           .to = Format::nd,
                           .shape = blocked,
                           .logical = plain,
                           .item_bytes = 1}) == Status::ok);
    CHECK(V(relayout.dims().begin(), relayout.dims().end()) == plain);
    CHECK(converted(relayout, in_blocks, 1 + random() % 500, 1 + random() % 5000) == in_rows);
    if (c0 != 32) continue;  // blocks of single bytes have 32
    REQUIRE(relayout.plan({.from = Format::nd, .to = Format::fractal_nz, .shape = plain, .item_bytes = 1}) ==
            Status::ok);
    CHECK(V(relayout.dims().begin(), relayout.dims().end()) == blocked);
    CHECK(converted(relayout, in_rows, 1 + random() % 500, 1 + random() % 5000) == in_blocks);
  }
}

TEST_CASE("relayout: groups of a convolution's weights, there and back") {
  std::mt19937 random(3);
  for (int round = 0; round < 100; ++round) {
    const Dim groups = 2 + random() % 20;
    const Dim n = 1 + random() % 20;
    const Dim c = 1 + random() % 20;
    const Dim h = 1 + random() % 3;
    const Dim w = 1 + random() % 3;
    const Dim cycle = std::lcm(std::lcm(c, Dim{16}) / c, std::lcm(n, Dim{16}) / n);
    const Dim joined = std::min(cycle, groups);
    const Dim c1 = up(joined * c, 16);
    const Dim n1 = up(joined * n, 16);
    const V blocked = {up(groups, joined) * c1 * h * w, n1, 16, 16};
    const V plain = {groups * n, c, h, w};
    std::vector<std::uint16_t> in_blocks(product(blocked), 0);
    std::vector<std::uint16_t> in_rows(product(plain));
    for (std::size_t i = 0; i < in_rows.size(); ++i) in_rows[i] = static_cast<std::uint16_t>(random() | 1);
    for (Dim q = 0; q < groups; ++q) {
      for_each({n, c, h, w, 1}, [&](const Sizes& at) {
        const Dim dc = q % joined * c + at.c;
        const Dim dn = q % joined * n + at.n;
        const Dim row = ((q / joined * c1 + dc / 16) * h + at.h) * w + at.w;
        in_blocks[((row * n1 + dn / 16) * 16 + dn % 16) * 16 + dc % 16] =
            in_rows[(((q * n + at.n) * c + at.c) * h + at.h) * w + at.w];
      });
    }
    RelayoutRequest request = {.from = Format::nchw, .to = Format::fractal_z, .shape = plain};
    request.groups = static_cast<std::uint32_t>(groups);
    Relayout relayout;
    REQUIRE(relayout.plan(request) == Status::ok);
    CHECK(V(relayout.dims().begin(), relayout.dims().end()) == blocked);
    CHECK(converted(relayout, in_rows, 1 + random() % 5000, 1) == in_blocks);
    request.from = Format::fractal_z;
    request.to = Format::nchw;
    request.shape = blocked;
    request.logical = plain;
    REQUIRE(relayout.plan(request) == Status::ok);
    CHECK(converted(relayout, in_blocks, 1 + random() % 5000, 1) == in_rows);
  }
}

TEST_CASE("relayout: the order of the logical dims is found") {
  const auto result = [](const RelayoutRequest& request) {
    Relayout relayout;
    const Status status = relayout.plan(request);
    return status == Status::ok ? V(relayout.dims().begin(), relayout.dims().end()) : V{};
  };
  const V blocked = {2, 2, 3, 5, 16};
  const V nchw = {2, 29, 3, 5};
  const V nhwc = {2, 3, 5, 29};
  for (const V& logical : {nchw, nhwc}) {
    CHECK(result({.from = Format::nc1hwc0, .to = Format::nhwc, .shape = blocked, .logical = logical}) ==
          nhwc);
    CHECK(result({.from = Format::nc1hwc0, .to = Format::nchw, .shape = blocked, .logical = logical}) ==
          nchw);
    CHECK(result({.from = Format::nc1hwc0, .to = Format::nd, .shape = blocked, .logical = logical}) ==
          logical);
  }
  // Both orders fit; the one that is told counts, else that of the result.
  const V cube = {1, 1, 4, 4, 16};
  const V same = {1, 4, 4, 4};
  RelayoutRequest request = {.from = Format::nc1hwc0, .to = Format::nhwc, .shape = cube, .logical = same};
  CHECK(result(request) == V{1, 4, 4, 4});
  const V weights = {9, 1, 16, 16};
  const V hwcn = {3, 3, 16, 16};
  CHECK(result({.from = Format::fractal_z, .to = Format::nchw, .shape = weights, .logical = hwcn}) ==
        V{16, 16, 3, 3});
  CHECK(result({.from = Format::nchw, .to = Format::nhwc, .shape = same, .logical = same}) == V{1, 4, 4, 4});
  CHECK(result({.from = Format::nchw, .to = Format::nhwc, .shape = nchw, .logical = nchw}) == nhwc);
  // Fits no order: cut to what is asked for, in the order of the result.
  const V less = {1, 2, 3, 17};
  CHECK(result({.from = Format::nc1hwc0, .to = Format::nhwc, .shape = blocked, .logical = less}) == less);
  CHECK(result({.from = Format::nc1hwc0, .to = Format::nchw, .shape = blocked}) == V{2, 32, 3, 5});
}

TEST_CASE("relayout: what contradicts itself is refused") {
  const auto status = [](const RelayoutRequest& request) { return Relayout().plan(request); };
  const V four = {2, 3, 4, 5};
  const V five = {2, 1, 4, 5, 16};
  const V nothing = {2, 0, 4, 5};
  const V huge = {Dim{1} << 32, Dim{1} << 32, 1, 1};
  const V large = {2, 40, 4, 5};
  const V weights = {7, 1, 16, 16};
  CHECK(status({.from = Format::nchw, .to = Format::ncdhw, .shape = four}) == Status::not_supported);
  CHECK(status({.from = Format::nchw, .to = Format::fractal_zz, .shape = four}) == Status::not_supported);
  CHECK(status({.from = Format::nd, .to = Format::nchw, .shape = four}) == Status::not_supported);
  CHECK(status({.from = Format::nc1hwc0, .to = Format::fractal_nz, .shape = five}) == Status::not_supported);
  CHECK(status({.from = Format::nc1hwc0, .to = Format::nchw, .shape = four}) == Status::malformed);
  CHECK(status({.from = Format::nchw, .to = Format::nhwc, .shape = nothing}) == Status::malformed);
  CHECK(status({.from = Format::nchw, .to = Format::nhwc, .shape = huge}) == Status::too_large);
  CHECK(status({.from = Format::nc1hwc0, .to = Format::nchw, .shape = five, .logical = large}) ==
        Status::malformed);
  CHECK(status({.from = Format::fractal_z, .to = Format::nchw, .shape = weights}) == Status::malformed);
  CHECK(status({.from = Format::fractal_z, .to = Format::nchw, .shape = weights, .logical = four}) ==
        Status::malformed);
  CHECK(status({.from = Format::nchw, .to = Format::nhwc, .shape = four, .item_bytes = 3}) ==
        Status::invalid_argument);
}
