# make test: unit tests, then every tests/DIR/*.sh as root, as an ordinary user, at process level and without user namespaces, the
# fuzzers' corpus, and docs/PROMISES.md. See tests/all.sh. TESTS="tests/promise/view.sh …" runs only these, as whoever calls.
TEST_PACKAGES := $(CORE_PACKAGES) g++ libseccomp-dev keyutils attr python3 git procps util-linux bsdutils pkg-config strace valgrind uidmap
# What tests/engine drives, and a root for it.
TEST_PACKAGES += crun runc busybox-static
# What tests/image/debian.sh makes a Debian with.
TEST_PACKAGES += mmdebstrap
# What tests/cli holds the schema against.
TEST_PACKAGES += python3-jsonschema python3-yaml
# What tests/programs runs in a box.
TEST_PACKAGES += nodejs make tar gzip bzip2 xz-utils zstd busybox-static file sqlite3 curl perl ruby
# Clients of tests/egress/clients.sh. npm, Java and Go are large or come with other packages: .ci/run has them, and where there is none the test says so.
TEST_PACKAGES += wget python3-pip
UNIT := $(patsubst tests/unit/%.c,$(B)/unit/%,$(sort $(wildcard tests/unit/*.c)))
# What is made to fail in the middle of something.
UNIT_LIBS_box_living := -Wl,--wrap=traffic_renew
UNIT_LIBS_probe_group := -Wl,--wrap=cgroup_kill
TESTS ?=

.PHONY: test test-packages unit check-promises
test: test-packages
	@$(MAKE) --no-print-directory -j$(shell nproc) all probe unit $(if $(shell command -v go),build/get-go)
	@V=$(V) CORDON=$(CURDIR)/$(B)/cordon tests/all.sh $(TESTS)
test-packages:
	@sh tools/need.sh $(TEST_PACKAGES)

unit: $(UNIT)
$(B)/unit/%: tests/unit/%.c $(B)/libegress.a $(B)/libimage.a $(B)/libengine.a $(B)/libcordon.a $(wildcard tests/unit/*.h)
	@mkdir -p $(@D)
	@echo "  CC $@"; $(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) $< $(if $(filter egress_%,$*),$(B)/libegress.a) $(if $(filter image_%,$*),$(B)/libimage.a) $(if $(filter engine_%,$*),$(B)/libengine.a $(ENGINE_LIBS)) $(B)/libcordon.a $(LDFLAGS_$(V)) $(LIBS) $(if $(filter egress_%,$*),$(EGRESS_LIBS)) $(if $(filter image_%,$*),$(IMAGE_LIBS)) $(UNIT_LIBS_$*) -pthread -o $@

# Of Go's own: where there is no go, tests/egress/clients.sh says what it misses.
build/get-go: tests/egress/get.go
	@mkdir -p $(@D)
	@echo "  GO $@"; CGO_ENABLED=0 GO111MODULE=off go build -o $@ $<

check-promises:
	@sh tools/check-promises.sh
-include $(UNIT:%=%.d)
