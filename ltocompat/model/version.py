"""The version of this program; its one place, read by the build too."""

VERSION = "0.1.0"
