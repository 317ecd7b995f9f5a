/* A fatbin and its wrapper in a Windows module. Images (DLL, EXE) have 8 bytes for a section name,
   objects keep the whole name in their string table; the command line chooses. */
__attribute__((section(FATBIN), aligned(8), used)) static const unsigned char fatbin[] = {
#embed "saxpy.fatbin"
};

__attribute__((section(SEGMENT), aligned(8))) const struct {
    int magic, version;
    const void *data, *unused;
} wrapper = {0x466243b1, 1, fatbin, 0};

__declspec(dllexport) const void *find_wrapper(void) { return &wrapper; }

int entry(void) { return 1; }
