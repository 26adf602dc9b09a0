# make bench: what a box costs, against a bare process, bubblewrap and OCI runtimes; tables, build/bench/*.svg, results.json and .md.
# ROUNDS=50 is quicker. BEFORE=PATH measures another build of cordon beside this one's start than that of the commit before there was a network.
BENCH_PACKAGES := $(CORE_PACKAGES) python3 bubblewrap crun runc tar util-linux busybox-static iproute2 openssl curl
BENCH := build/bench
BENCH_CC = $(CC) $(CPPFLAGS_ALL) -std=gnu17 -O2 -g $(WARN) -static
STEPS_WRAP = $(shell grep -o 'X([a-z_0-9]*)' bench/steps.h | sed 's/X(\(.*\))/-Wl,--wrap=\1/' | sort -u)

.PHONY: bench bench-build
bench:
	@sh tools/need.sh $(BENCH_PACKAGES)
	@$(MAKE) --no-print-directory V=release bench-build
	@bash bench/bench.sh $(BENCH)

bench-build: $(B)/cordon $(B)/cordon-egress $(B)/cordon-egress-tls $(B)/cordon-image $(B)/cordon-engine $(B)/cordon-engine-docker $(B)/cordon-init $(BENCH)/serve $(BENCH)/wire $(BENCH)/spawn $(BENCH)/work $(BENCH)/true $(BENCH)/exec $(BENCH)/cordon-steps $(BENCH)/floor
	@cp $(filter $(B)/%,$^) $(BENCH)

$(BENCH)/spawn $(BENCH)/work $(BENCH)/true: $(BENCH)/%: bench/%.c
	@mkdir -p $(@D)
	@echo "  CC $@"; $(BENCH_CC) $< -o $@

# A user of the library.
$(BENCH)/exec: bench/exec.c $(B)/libcordon.a
	@mkdir -p $(@D)
	@echo "  CC $@"; $(CC) $(CPPFLAGS_ALL) -std=gnu17 -O2 -g $(WARN) $(STATIC_$(V)) -fPIC $^ $(LIBS) -pthread -o $@

# The client's names are resolved by glibc, which wants its own shared parts for that: the box has them, too.
$(BENCH)/serve $(BENCH)/wire: $(BENCH)/%: bench/%.c
	@mkdir -p $(@D)
	@echo "  CC $@"; $(BENCH_CC) $< -lssl -lcrypto -o $@ 2>$@.said || { cat $@.said; exit 1; }

# The layers and nothing else: bench/floor.c. And the command with a clock around its steps: bench/steps.c.
ifeq ($(LITE),yes)
$(BENCH)/floor: bench/floor.c $(LITE_OWN) $(L)/libcordon.a
	@mkdir -p $(@D)
	@echo "  CC $@"; $(CC) $(CPPFLAGS_ALL) $(LITE_CFLAGS) -c $< -o $@.o && $(LITE_LINK) $@.o $(LITE_OWN) $(L)/libcordon.a $(LITE_LIBS) $(LITE_LIBC) -o $@
$(BENCH)/cordon-steps: bench/steps.c bench/steps.h $(LITE_CLI_OBJ) $(L)/libcordon.a
	@mkdir -p $(@D)
	@echo "  CC $@"; $(CC) $(CPPFLAGS_ALL) $(LITE_CFLAGS) -c bench/steps.c -o $(BENCH)/steps.o
	@$(LITE_LINK) $(STEPS_WRAP) $(BENCH)/steps.o $(LITE_CLI_OBJ) -Wl,--whole-archive $(L)/libcordon.a -Wl,--no-whole-archive \
		$(LITE_LIBS) $(LITE_LIBC) -o $@
else
$(BENCH)/floor: bench/floor.c $(B)/libcordon.a
	@mkdir -p $(@D)
	@echo "  CC $@"; $(CC) $(CPPFLAGS_ALL) -std=gnu17 -O2 -g $(WARN) $(STATIC_$(V)) -fPIC $^ $(LIBS) -o $@
$(BENCH)/cordon-steps: bench/steps.c bench/steps.h $(CLI_OBJ) $(B)/gen/completions.o $(B)/libcordon.a
	@mkdir -p $(@D)
	@echo "  CC $@"; $(CC) $(CPPFLAGS_ALL) -std=gnu17 -O2 -g $(WARN) -fPIC -c bench/steps.c -o $(BENCH)/steps.o
	@$(CC) $(STATIC_$(V)) $(STEPS_WRAP) $(BENCH)/steps.o $(CLI_OBJ) $(B)/gen/completions.o \
		-Wl,--whole-archive $(B)/libcordon.a -Wl,--no-whole-archive $(LIBS) -o $@
endif
