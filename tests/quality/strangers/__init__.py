"""Questions by people who knew neither the program nor its tests, and what a bookseller would make of them."""
