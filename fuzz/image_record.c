/* Any text as the record of an image: what is taken for one is written and read back as the same. */
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_image struct store_image image = { 0 }, back = { 0 };
	auto_free char *text = NULL, *again = NULL;

	if (store_record_parse((const char *)data, size, &image, NULL) < 0)
		return 0;
	text = store_record_text(&image);
	if (!text || store_record_parse(text, strlen(text), &back, NULL) < 0 || !(again = store_record_text(&back)) ||
	    strcmp(text, again) != 0)
		abort();
	return 0;
}
