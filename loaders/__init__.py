"""Sources of events other than HTTP: one module each, a generator of events with their place of origin."""
