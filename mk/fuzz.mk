# Fuzzing. A fuzzer is fuzz/NAME.c with LLVMFuzzerTestOneInput(); its seeds are fuzz/corpus/NAME/. `make fuzz` runs each for
# FUZZ_SECONDS with clang's libFuzzer and keeps what it finds in build/fuzz/found/NAME; a crash is left in build/fuzz/. `make
# fuzz-replay` runs every corpus through the gcc build with sanitizers: part of every test run.
FUZZ_SECONDS ?= 30
FUZZ_NAMES := $(sort $(filter-out replay,$(patsubst fuzz/%.c,%,$(wildcard fuzz/*.c))))
FUZZ_B := build/fuzz
FUZZ_FLAGS := -std=gnu17 -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
FUZZ_OBJ := $(LIB_SRC:%.c=$(FUZZ_B)/%.o) $(GEN_SRC:$(GEN)/%.c=$(FUZZ_B)/gen/%.o)

$(FUZZ_B)/%.o: %.c
	@mkdir -p $(@D)
	$(CLANG) $(CPPFLAGS_ALL) $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link -MMD -MP -c $< -o $@
$(FUZZ_B)/gen/%.o: $(GEN)/%.c
	@mkdir -p $(@D)
	$(CLANG) $(CPPFLAGS_ALL) $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link -MMD -MP -c $< -o $@
$(FUZZ_B)/libcordon.a: $(FUZZ_OBJ)
	@rm -f $@
	ar rcs $@ $^
# Fuzzers of src/egress are called egress_NAME.
$(FUZZ_B)/libegress.a: $(EGRESS_SRC:%.c=$(FUZZ_B)/%.o)
	@rm -f $@
	ar rcs $@ $^
# And those of src/image image_NAME.
$(FUZZ_B)/libimage.a: $(IMAGE_SRC:%.c=$(FUZZ_B)/%.o)
	@rm -f $@
	ar rcs $@ $^
# Those of src/driver engine_NAME; jansson comes before libcordon.a: see mk/engine.mk.
$(FUZZ_B)/libengine.a: $(ENGINE_SRC:%.c=$(FUZZ_B)/%.o)
	@rm -f $@
	ar rcs $@ $^
$(FUZZ_NAMES:%=$(FUZZ_B)/%): $(FUZZ_B)/%: fuzz/%.c $(FUZZ_B)/libengine.a $(FUZZ_B)/libegress.a $(FUZZ_B)/libimage.a $(FUZZ_B)/libcordon.a
	$(CLANG) $(CPPFLAGS_ALL) $(FUZZ_FLAGS) -fsanitize=fuzzer $< $(if $(filter engine_%,$*),$(FUZZ_B)/libengine.a $(ENGINE_LIBS)) \
		$(filter-out %/libengine.a,$(filter %.a,$^)) $(LIBS) $(if $(filter egress_%,$*),$(EGRESS_LIBS)) $(if $(filter image_%,$*),$(IMAGE_LIBS)) -o $@

.PHONY: fuzz fuzz-replay fuzz-replay-asan $(FUZZ_NAMES:%=fuzz-%)
fuzz: $(FUZZ_NAMES:%=fuzz-%)
$(FUZZ_NAMES:%=fuzz-%): fuzz-%: $(FUZZ_B)/%
	@mkdir -p $(FUZZ_B)/found/$* fuzz/corpus/$*
	cd $(FUZZ_B) && CORDON_CONFIG= HOME=/nonexistent ./$* -max_total_time=$(FUZZ_SECONDS) -timeout=10 -max_len=4096 -rss_limit_mb=2048 \
		-print_final_stats=1 found/$* $(CURDIR)/fuzz/corpus/$*

fuzz-replay:
	@$(MAKE) --no-print-directory V=asan fuzz-replay-asan
ifeq ($(V),asan)
fuzz-replay-asan: $(FUZZ_NAMES:%=$(B)/fuzz/%)
	@for name in $(FUZZ_NAMES); do CORDON_CONFIG= HOME=/nonexistent $(B)/fuzz/$$name fuzz/corpus/$$name || exit 1; done
$(FUZZ_NAMES:%=$(B)/fuzz/%): $(B)/fuzz/%: fuzz/%.c fuzz/replay.c $(B)/libengine.a $(B)/libegress.a $(B)/libimage.a $(B)/libcordon.a
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -Wno-missing-prototypes $(filter %.c,$^) $(if $(filter engine_%,$*),$(B)/libengine.a $(ENGINE_LIBS)) \
		$(filter-out %/libengine.a,$(filter %.a,$^)) $(LDFLAGS_$(V)) $(LIBS) $(if $(filter egress_%,$*),$(EGRESS_LIBS)) $(if $(filter image_%,$*),$(IMAGE_LIBS)) -o $@
endif

-include $(FUZZ_OBJ:.o=.d)
