"""Nothing to make: the copy task draws its sequences itself."""
