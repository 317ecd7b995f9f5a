/* The magic numbers as a program's own constants: nothing here is a device image. */
const unsigned fatbin_magic[] = {0xba55ed50, 0xba55ed50};
const unsigned ltoir_magic = 0x7f4e43ed;
const unsigned wrapper_magic = 0x466243b1;
const char tile_magic[8] = "\177TileIR";

int is_fatbin(const unsigned *word) { return *word == 0xba55ed50; }
