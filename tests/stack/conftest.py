"""The real servers, for the checks that they are what the rest of the tests take them for."""
