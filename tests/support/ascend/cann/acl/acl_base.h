// As acl_base_rt.h.
#ifndef INC_EXTERNAL_ACL_ACL_BASE_H_
#define INC_EXTERNAL_ACL_ACL_BASE_H_
#include "acl/acl_base_rt.h"
#endif
