// As acl_base_rt.h, for examples/ascend.
#ifndef INC_EXTERNAL_ACL_ACL_MODEL_H_
#define INC_EXTERNAL_ACL_ACL_MODEL_H_
#include "acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct aclDataBuffer aclDataBuffer;
typedef struct aclmdlDataset aclmdlDataset;
typedef struct aclmdlDesc aclmdlDesc;

aclDataBuffer* aclCreateDataBuffer(void* data, size_t size);
aclError aclDestroyDataBuffer(const aclDataBuffer* dataBuffer);
aclmdlDataset* aclmdlCreateDataset();
aclError aclmdlDestroyDataset(const aclmdlDataset* dataset);
aclError aclmdlAddDatasetBuffer(aclmdlDataset* dataset, aclDataBuffer* dataBuffer);

aclError aclmdlLoadFromFile(const char* modelPath, uint32_t* modelId);
aclError aclmdlUnload(uint32_t modelId);
aclError aclmdlExecute(uint32_t modelId, const aclmdlDataset* input, aclmdlDataset* output);
aclmdlDesc* aclmdlCreateDesc();
aclError aclmdlDestroyDesc(aclmdlDesc* modelDesc);
aclError aclmdlGetDesc(aclmdlDesc* modelDesc, uint32_t modelId);
size_t aclmdlGetNumInputs(aclmdlDesc* modelDesc);
size_t aclmdlGetNumOutputs(aclmdlDesc* modelDesc);
size_t aclmdlGetInputSizeByIndex(aclmdlDesc* modelDesc, size_t index);
size_t aclmdlGetOutputSizeByIndex(aclmdlDesc* modelDesc, size_t index);

#ifdef __cplusplus
}
#endif
#endif
