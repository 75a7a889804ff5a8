"""Tests of the library and of the repository; those of a sample application live beside it."""
