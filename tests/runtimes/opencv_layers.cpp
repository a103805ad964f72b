// usage: opencv_layers MODEL INPUT DIMS FOLDER fused|unfused [LAYER...]
//        opencv_layers MODEL INPUT DIMS tapped
// What OpenCV itself returns for layers by their names, or for all, without opdump. INPUT has floats of the shape DIMS,
// as 1,3,48,192. FOLDER gets a file for each output, as 0.0 for the first one of the first layer. Prints their names,
// each with those of the layers that it reads. "tapped": runs the network once, as a config asks.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <opencv2/dnn.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "platform/runtimes/opencv_dnn/opencv_tap.hpp"

int main(int count, char** arguments) {
  if (count < 5) return 2;
  cv::setNumThreads(1);
  const std::string model = arguments[1];
  std::ifstream file(arguments[2], std::ios::binary);
  std::vector<char> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::vector<int> dims;
  std::istringstream list(arguments[3]);
  for (std::string dim; std::getline(list, dim, ',');) dims.push_back(std::stoi(dim));
  const cv::Mat input(dims, CV_32F, bytes.data());
  if (count == 5) {
    opdump::attach::Dump dump;
    opdump::opencv::Tap tap(dump, "net");
    cv::dnn::Net net = tap.read([&] { return cv::dnn::readNet(model); });
    net.setInput(input);
    const auto step = tap.step();
    net.forward();
    return 0;
  }

  cv::dnn::Net net = cv::dnn::readNet(model);
  net.enableFusion(arguments[5] == std::string("fused"));
  net.setInput(input);
  std::vector<cv::String> names(arguments + 6, arguments + count);
  if (names.empty()) names = net.getLayerNames();
  std::vector<std::vector<cv::Mat>> outputs;
  net.forward(outputs, names);
  for (std::size_t layer = 0; layer < outputs.size(); ++layer) {
    std::printf("%s", names[layer].c_str());
    for (const auto& read : net.getLayerInputs(net.getLayerId(names[layer])))
      std::printf("\t%s", read->name.c_str());
    std::printf("\n");
    for (std::size_t i = 0; i < outputs[layer].size(); ++i) {
      const cv::Mat whole = outputs[layer][i].clone();
      std::ofstream(arguments[4] + ("/" + std::to_string(layer)) + "." + std::to_string(i), std::ios::binary)
          .write(whole.ptr<char>(), static_cast<std::streamsize>(whole.total() * whole.elemSize()));
    }
  }
}
