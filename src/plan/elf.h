/* What a program needs besides itself to start. */
#ifndef PLAN_ELF_H
#define PLAN_ELF_H

#include <stddef.h>

enum program_kind { PROGRAM_OTHER, PROGRAM_STATIC, PROGRAM_DYNAMIC, PROGRAM_SCRIPT };
/* The kind of the file behind fd (readable), and into buf the loader's path or the script's interpreter. */
enum program_kind program_needs(int fd, char *buf, size_t size);

#endif
