"""What a disguise remembers, as pure values. Import the modules: `values`, `locator`, `diff`, `speaksfor`, `bag`."""
