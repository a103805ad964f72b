// usage: opencv_layers MODEL INPUT FOLDER fused|unfused [LAYER...]
// What OpenCV itself returns for layers by their names, or for all, without opdump. INPUT has the floats of
// 1x3x48xW; FOLDER gets a file for each output, as 0.0 for the first one of the first layer. Prints their
// names.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <opencv2/dnn.hpp>
#include <string>
#include <vector>

int main(int count, char** arguments) {
  if (count < 5) return 2;
  cv::setNumThreads(1);
  std::ifstream file(arguments[2], std::ios::binary);
  std::vector<char> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const int dims[] = {1, 3, 48, static_cast<int>(bytes.size() / (sizeof(float) * 3 * 48))};
  cv::dnn::Net net = cv::dnn::readNet(arguments[1]);
  net.enableFusion(arguments[4] == std::string("fused"));
  net.setInput(cv::Mat(4, dims, CV_32F, bytes.data()));
  std::vector<cv::String> names(arguments + 5, arguments + count);
  if (names.empty()) names = net.getLayerNames();
  std::vector<std::vector<cv::Mat>> outputs;
  net.forward(outputs, names);
  for (std::size_t layer = 0; layer < outputs.size(); ++layer) {
    std::puts(names[layer].c_str());
    for (std::size_t i = 0; i < outputs[layer].size(); ++i) {
      const cv::Mat whole = outputs[layer][i].clone();
      std::ofstream(arguments[3] + ("/" + std::to_string(layer)) + "." + std::to_string(i), std::ios::binary)
          .write(whole.ptr<char>(), static_cast<std::streamsize>(whole.total() * whole.elemSize()));
    }
  }
}
