# The programs that tests run inside a box (probe) and around cordon (without): static, so that they run in any root.
PROBE_SRC := tests/probe/main.c tests/probe/calls.c tests/probe/files.c tests/probe/net.c tests/probe/process.c

.PHONY: probe
probe: build/test/probe build/test/without build/test/inner
build/test/probe: $(PROBE_SRC) tests/probe/probe.h
	@mkdir -p $(@D)
	@echo "  CC $@"; $(CC) -D_GNU_SOURCE -std=gnu17 -O1 -g $(WARN) -static $(PROBE_SRC) -o $@
build/test/without: tests/probe/without.c
	@mkdir -p $(@D)
	@echo "  CC $@"; $(CC) -D_GNU_SOURCE -std=gnu17 -O1 -g $(WARN) -static $< -o $@
# In the place of cordon-init, for tests/engine.
build/test/inner: tests/engine/inner.c
	@mkdir -p $(@D)
	@echo "  CC $@"; $(CC) -D_GNU_SOURCE -std=gnu17 -O1 -g $(WARN) -static $< -o $@

# Of the library of this variant, so that it is linked each time: programs that use it, for tests/life/living.sh and tests/limits/quota.sh.
LIVING := build/test/living build/test/living_disk
.PHONY: $(LIVING)
probe: $(LIVING)
$(LIVING): build/test/%: tests/life/%.c $(B)/libcordon.a
	@mkdir -p $(@D)
	@echo "  CC $@"; $(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -MF $@.d $< $(B)/libcordon.a $(LDFLAGS_$(V)) $(LIBS) -pthread -o $@
