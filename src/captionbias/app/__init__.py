"""What the app does with what people give it, as plain functions that know nothing of the page."""
