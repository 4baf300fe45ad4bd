"""Takes the data of Synergy 1 and 2 over: `records` reads documents, `takeover` stores them."""
