"""What can be said of an installed flagos without importing torch: importing the package flagos imports it."""
