"""The nouns of Synergy: frozen values and enums, with methods that only answer questions."""
