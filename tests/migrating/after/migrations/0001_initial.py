from importlib import import_module

Migration = import_module("tests.migrating.before.migrations.0001_initial").Migration
