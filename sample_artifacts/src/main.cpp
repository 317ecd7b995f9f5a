// The host half of the executables: device code is carried, never run.
int main()
{
    return 0;
}
