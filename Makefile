# cordon: see README.md. `make help` lists the targets.
V ?= release
B := build/$(V)
GEN := build/gen
PREFIX ?= /usr/local
DESTDIR ?=
VERSION := 0.1.0

CC ?= cc
CLANG ?= clang
WARN := -Wall -Wextra -Werror -Wshadow -Wvla -Wstrict-prototypes -Wmissing-prototypes -Wformat=2 -Wconversion \
	-Wswitch-enum -Wundef -Wpointer-arith -Wwrite-strings
HARDEN := -fstack-protector-strong -fstack-clash-protection -fcf-protection -ftrivial-auto-var-init=zero
CPPFLAGS_ALL := -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -DCORDON_VERSION='"$(VERSION)"' -Iinclude -Isrc $(CPPFLAGS)
CFLAGS_release := -O2 -g -D_FORTIFY_SOURCE=3
CFLAGS_asan := -O1 -g -fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=all
CFLAGS_coverage := -O0 -g --coverage -fprofile-update=atomic
LDFLAGS_release := -Wl,-z,relro,-z,now
LDFLAGS_asan := -fsanitize=address,undefined
LDFLAGS_coverage := --coverage
# Programs are linked statically: the dynamic loader would cost a third of a run.
STATIC_release := -static-pie
STATIC_asan :=
STATIC_coverage :=
CFLAGS_ALL := -std=gnu17 $(CFLAGS_$(V)) $(HARDEN) $(WARN) -fPIC -fvisibility=hidden -MMD -MP $(CFLAGS)

# What the core is built with, and what it is linked with.
CORE_PACKAGES := gcc libc6-dev musl-dev libfyaml-dev libidn2-dev libunistring-dev libssl-dev libc-ares-dev libcurl4-openssl-dev libjansson-dev
CORE_PACKAGES += libarchive-dev zlib1g-dev libbz2-dev liblzma-dev libzstd-dev libacl1-dev nettle-dev
LIBS := -lfyaml -lidn2 -lunistring

LIB_SRC := $(sort $(wildcard src/base/*.c src/store/*.c src/net/*.c src/stream/*.c src/os/*.c src/policy/*.c src/plan/*.c src/box/*.c src/engine/*.c))
IMAGE_SRC := $(sort $(filter-out src/image/main.c,$(wildcard src/image/*.c)))
CLI_SRC := $(sort $(wildcard src/cli/*.c))
GEN_SRC := $(GEN)/presets.c $(GEN)/seccomp_filters.c
LIB_OBJ := $(LIB_SRC:%.c=$(B)/%.o) $(GEN_SRC:$(GEN)/%.c=$(B)/gen/%.o)
CLI_OBJ := $(CLI_SRC:%.c=$(B)/%.o)

.PHONY: all core-packages
all: $(B)/cordon $(B)/libcordon.a $(B)/libcordon.so $(B)/cordon.pc
ifeq ($(V),release)
all: build/cordon
build/cordon: $(B)/cordon
	@ln -sfn $(V)/cordon $@
endif

$(B)/%.o: %.c
	@mkdir -p $(@D)
	@echo "  CC $@"; $(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -c $< -o $@
$(B)/gen/%.o: $(GEN)/%.c
	@mkdir -p $(@D)
	@echo "  CC $@"; $(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -c $< -o $@

$(GEN)/presets.c: tools/presets.sh $(sort $(wildcard profiles/*.yaml))
	@mkdir -p $(@D)
	sh $^ > $@.tmp && mv $@.tmp $@
$(GEN)/seccomp-gen: tools/seccomp-gen.c src/os/syscalls.def
	@mkdir -p $(@D)
	@echo "  CC $@"; $(CC) -D_GNU_SOURCE -std=gnu17 -O1 -g $(WARN) -Iinclude -Isrc $< -o $@
$(GEN)/seccomp_filters.c: $(GEN)/seccomp-gen
	$< > $@.tmp && mv $@.tmp $@

$(B)/libcordon.a: $(LIB_OBJ)
	@rm -f $@
	ar rcs $@ $^
$(B)/libcordon.so: $(LIB_OBJ)
	@echo "  CC $@"; $(CC) -shared -Wl,-soname,libcordon.so.0 -Wl,-z,defs $(LDFLAGS_$(V)) $(LDFLAGS) $^ $(LIBS) -o $@
	@ln -sfn libcordon.so $(@D)/libcordon.so.0
# For tools that want to take the place of a library's functions: tests/fault/memory.sh.
$(B)/cordon-dynamic: $(CLI_OBJ) $(B)/gen/completions.o $(B)/libcordon.a
	@echo "  CC $@"; $(CC) -pie $(LDFLAGS_$(V)) $(LDFLAGS) $^ $(LIBS) -o $@
$(B)/cordon.pc: Makefile
	@mkdir -p $(@D)
	@printf 'prefix=%s\nlibdir=$${prefix}/lib\nincludedir=$${prefix}/include\n\nName: cordon\nDescription: run untrusted code behind real walls\nVersion: %s\nCflags: -I$${includedir}\nLibs: -L$${libdir} -lcordon\nRequires.private: libfyaml libidn2\n' '$(PREFIX)' '$(VERSION)' > $@

include mk/lite.mk $(filter-out mk/lite.mk,$(wildcard mk/*.mk))

core-packages:
	@sh tools/need.sh $(CORE_PACKAGES)

.PHONY: clean help
clean:
	rm -rf build

help:
	@echo 'make            everything; the command ends up at build/cordon (V=release, asan or coverage)'
	@echo 'make demo       build it, run Python in a box, watch ten attacks fail'
	@echo 'make test       all tests; TESTS="tests/promise/view.sh …" for some'
	@echo 'make test-vm    what another kernel and cgroup v2 alone could break, in a virtual machine'
	@echo 'make test-systemd  the part of it with systemd: a login, its scopes, what doctor advises'
	@echo 'make bench      what a box costs, against others; ROUNDS=50 is quicker, ONLY=start for one part'
	@echo 'make lint       format, layers, warnings, sizes, manual, shellcheck, cppcheck'
	@echo 'make fuzz       the fuzzers'
	@echo 'make install    PREFIX=/usr/local, DESTDIR='
	@echo 'make deb        Debian packages'
	@echo 'make clean'

-include $(LIB_OBJ:.o=.d) $(CLI_OBJ:.o=.d)
