# make install, uninstall (PREFIX, DESTDIR) and deb.
INSTALL ?= install
LIBDIR ?= $(PREFIX)/lib
LIBEXECDIR ?= $(PREFIX)/libexec/cordon
DATADIR ?= $(PREFIX)/share
ZSHDIR ?= $(DATADIR)/zsh/site-functions
DOCDIR ?= $(DATADIR)/doc/cordon
PROFILES := $(sort $(wildcard profiles/*.yaml))
DOCS := $(sort $(wildcard README.md LICENSE SECURITY.md CHANGELOG.md docs/*.md docs/*.svg docs/*.png))
EXAMPLES := $(sort $(wildcard examples/*.c))

.PHONY: install uninstall deb
install: all
	$(INSTALL) -d $(addprefix $(DESTDIR),$(PREFIX)/bin $(LIBEXECDIR) $(PREFIX)/include $(LIBDIR)/pkgconfig $(DATADIR)/man/man1 \
		$(DATADIR)/man/man5 $(DATADIR)/bash-completion/completions $(ZSHDIR) $(DATADIR)/fish/vendor_completions.d \
		$(DATADIR)/cordon/profiles $(DATADIR)/cordon/images $(DOCDIR)/examples)
	$(INSTALL) -m 755 $(B)/cordon $(DESTDIR)$(PREFIX)/bin/cordon
	$(INSTALL) -m 755 $(B)/cordon-egress $(B)/cordon-egress-tls $(DESTDIR)$(LIBEXECDIR)/
	$(INSTALL) -m 755 $(B)/cordon-engine $(B)/cordon-engine-docker $(B)/cordon-build $(DESTDIR)$(LIBEXECDIR)/
	$(INSTALL) -m 755 $(B)/cordon-init $(DESTDIR)$(LIBEXECDIR)/cordon-init
	$(INSTALL) -m 755 $(B)/cordon-image $(DESTDIR)$(LIBEXECDIR)/cordon-image
	$(INSTALL) -m 644 $(B)/libcordon.so $(DESTDIR)$(LIBDIR)/libcordon.so.0
	ln -sfn libcordon.so.0 $(DESTDIR)$(LIBDIR)/libcordon.so
	$(INSTALL) -m 644 $(B)/libcordon.a $(DESTDIR)$(LIBDIR)/libcordon.a
	$(INSTALL) -m 644 include/cordon.h $(DESTDIR)$(PREFIX)/include/cordon.h
	sed 's|^prefix=.*|prefix=$(PREFIX)|; s|^libdir=.*|libdir=$(LIBDIR)|' $(B)/cordon.pc \
		> $(DESTDIR)$(LIBDIR)/pkgconfig/cordon.pc
	chmod 644 $(DESTDIR)$(LIBDIR)/pkgconfig/cordon.pc
	$(INSTALL) -m 644 man/cordon.1 $(DESTDIR)$(DATADIR)/man/man1/cordon.1
	$(INSTALL) -m 644 man/cordon-policy.5 $(DESTDIR)$(DATADIR)/man/man5/cordon-policy.5
	$(INSTALL) -m 644 completions/cordon.bash $(DESTDIR)$(DATADIR)/bash-completion/completions/cordon
	$(INSTALL) -m 644 completions/cordon.zsh $(DESTDIR)$(ZSHDIR)/_cordon
	$(INSTALL) -m 644 completions/cordon.fish $(DESTDIR)$(DATADIR)/fish/vendor_completions.d/cordon.fish
	$(if $(PROFILES),$(INSTALL) -m 644 $(PROFILES) $(DESTDIR)$(DATADIR)/cordon/profiles/)
	$(INSTALL) -m 644 images/Dockerfile.agent $(DESTDIR)$(DATADIR)/cordon/images/
	$(if $(DOCS),$(INSTALL) -m 644 $(DOCS) $(DESTDIR)$(DOCDIR)/)
	$(if $(EXAMPLES),$(INSTALL) -m 644 $(EXAMPLES) $(DESTDIR)$(DOCDIR)/examples/)
	@$(if $(DESTDIR),,ldconfig 2>/dev/null || true)

# Only what install put there; directories shared with others stay.
uninstall:
	rm -f $(addprefix $(DESTDIR),$(PREFIX)/bin/cordon $(LIBDIR)/libcordon.so.0 $(LIBDIR)/libcordon.so \
		$(LIBDIR)/libcordon.a $(PREFIX)/include/cordon.h $(LIBDIR)/pkgconfig/cordon.pc $(DATADIR)/man/man1/cordon.1 \
		$(DATADIR)/man/man5/cordon-policy.5 $(DATADIR)/bash-completion/completions/cordon $(ZSHDIR)/_cordon \
		$(DATADIR)/fish/vendor_completions.d/cordon.fish)
	rm -rf $(DESTDIR)$(DATADIR)/cordon $(DESTDIR)$(DOCDIR) $(DESTDIR)$(LIBEXECDIR)

# build/cordon_VERSION_ARCH.deb: the command; build/libcordon-dev_VERSION_ARCH.deb: the library.
deb:
	@sh tools/need.sh dpkg-dev gzip $(CORE_PACKAGES)
	@rm -rf build/deb
	$(MAKE) install V=release PREFIX=/usr DESTDIR=$(CURDIR)/build/deb/root LIBDIR=/usr/lib/$$(dpkg-architecture -qDEB_HOST_MULTIARCH) \
		ZSHDIR=/usr/share/zsh/vendor-completions
	sh tools/deb.sh $(VERSION) build/deb/root build
