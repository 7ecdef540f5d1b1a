"""Controls, views and charts of the page *Home*."""
