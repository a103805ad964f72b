// As acl_base_rt.h.
#ifndef INC_EXTERNAL_ACL_ACL_H_
#define INC_EXTERNAL_ACL_ACL_H_
#include "acl_mdl.h"
#include "acl_rt.h"
#endif
