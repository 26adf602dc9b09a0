#include "os/scope.h"
#include <errno.h>
bool scope_has_bus(void){ return false; }
int scope_request(const char *name, pid_t pid, int timeout_ms){ (void)name;(void)pid;(void)timeout_ms; return -ENOSYS; }
