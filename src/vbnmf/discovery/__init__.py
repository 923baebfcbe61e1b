"""How components and their scopes are found."""
