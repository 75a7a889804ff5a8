"""Policy seals: who besides the principal is needed to open a bag. Import the modules; nobody imports them who has no policies."""
