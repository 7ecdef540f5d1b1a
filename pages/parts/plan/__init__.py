"""Controls, sections and charts of the page *Plan*."""
