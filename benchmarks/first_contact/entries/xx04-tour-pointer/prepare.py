"""Nothing to make: the script draws its points and solves the tours itself."""
