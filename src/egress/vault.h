/*
 * Memory for what must not be found anywhere else: locked where the limit allows it, left out of core files, gone in children, wiped when
 * it is given back. Whole pages: for few and small things. Runs in the egress process.
 */
#ifndef EGRESS_VAULT_H
#define EGRESS_VAULT_H

#include <stddef.h>

void *vault_alloc(size_t size); /* zeroed; NULL where memory ran out */
void vault_free(void *p, size_t size);

#endif
