"""Nothing to make: the script draws its points itself."""
